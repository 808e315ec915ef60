"""What lies in a folder that somebody asks to let out: outputs, and what is said of each beside it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seepage._python import tomllib
from seepage._toml import from_toml
from seepage.errors import InputError
from seepage.tables import FORMATS

_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".eps", ".tif", ".tiff", ".gif", ".bmp")
_PICKLES = (".pkl", ".pickle", ".joblib", ".p", ".dill", ".cloudpickle", ".rds", ".rdata")
_LOGS = (".log", ".txt", ".smcl", ".out", ".lst", ".md", ".ipynb", ".docx")
FOLDER = "folder"
# Texts of TOML, which may hold a hash, and comments.
_TEXT_OR_COMMENT = re.compile(
    r'"""(?:\\.|.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)


@dataclass(frozen=True)
class HandedIn:
    """One output, as it was handed in."""

    name: str
    path: Path
    says: Mapping[str, Any] = field(default_factory=dict)
    """What the TOML file says, or the one beside it."""
    comments: tuple[str, ...] = ()
    """The comments of this TOML file."""

    @property
    def file(self) -> str:
        """Its name in the folder."""
        return self.path.name


@dataclass(frozen=True)
class UnreadFile:
    """A file that is not looked into, and what is for it."""

    file: str
    what: str
    reason: str


def handed_in(folder: Path) -> Iterator[HandedIn | UnreadFile]:
    """Yield what lies in a folder, by name.

    Parameters
    ----------
    folder : Path
        Of one request. A CSV or skops file is described by a TOML file with the same stem.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}: a request is a folder of the outputs that are asked for.")
    files = sorted(folder.iterdir())
    if not any(each.is_file() and not each.name.startswith(".") for each in files):
        raise InputError(f"{folder} holds no file: a request is a folder of the outputs that are asked for.")
    described = {each.with_suffix(".toml") for each in files if _is_described(each)}
    for path in files:
        suffix = path.suffix.lower()
        if not path.is_file():
            yield UnreadFile(
                path.name, FOLDER, "ask for its files in the folder of the request, where they are checked"
            )
        elif suffix == ".toml":
            if path not in described:
                yield HandedIn(path.stem, path, *_said(path))
        elif suffix in (*FORMATS, ".skops") or _is_described(path):
            beside = path.with_suffix(".toml")
            if beside.exists():
                yield HandedIn(path.stem, path, *_said(beside))
            else:
                yield UnreadFile(path.name, "a file that nothing describes", _undescribed(path))
        else:
            yield UnreadFile(path.name, *_tool(suffix))


def _is_described(path: Path) -> bool:
    """Return whether a file may have a TOML file beside it that says what it is."""
    suffix = path.suffix.lower()
    return path.is_file() and (
        suffix in (*FORMATS, ".skops") or (suffix in (".json", ".ubj", ".txt") and path.with_suffix(".toml").exists())
    )


def _said(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the content of a TOML file, and its lines with a comment."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        comments = tuple(each[0] for each in _TEXT_OR_COMMENT.finditer(text) if each[0].startswith("#"))
        return from_toml(text), comments
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
        raise InputError(f"{path} is not TOML: {reason}. Write lines as: of = ['income']") from None
    except OSError as reason:
        raise InputError(f"{path} cannot be read: {reason.strerror}.") from None


def _undescribed(path: Path) -> str:
    beside = path.with_suffix(".toml").name
    if path.suffix.lower() in FORMATS:
        return (
            f"nothing says of what it is: write {beside} beside it, with of, by, statistics and where for a table, or "
            "with formula and family for a regression"
        )
    return f'nothing says what it predicts: write {beside} beside it, with outcome = "COLUMN"'


def _tool(suffix: str) -> tuple[str, str]:
    """Return what a file is that is not looked into, and what is for it."""
    if suffix in _PICTURES:
        return "picture", "ask for the numbers behind it as a table, which is checked here"
    if suffix in _PICKLES:
        return "model file", (
            "it can run code, so it is never run: people were looked for in it, and what it tells besides is not "
            "measured. A linear model can come as a table or with skops; trees with skops, or as XGBoost's or "
            "LightGBM's own file"
        )
    if suffix in _LOGS:
        return "text", "read it yourself, and ask for its numbers as tables, which are checked here"
    return "another kind of file", (
        "ask for tables of numbers, which are checked here; a boosted model (.json, .ubj) needs a TOML file of the "
        "same stem, with outcome and columns"
    )
