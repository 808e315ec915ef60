"""What made a file of results: the script, its version and settings, and the commit it was run at."""

import json
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments._result import rounded
from experiments._work import EARLIER, Work

_ROOT = Path(__file__).parent.parent


def commit() -> str:
    """Return the commit that is run; "+" if files of it have been changed, nothing outside of a repository."""
    head = _git("rev-parse", "HEAD")
    return head[:12] + "+" * bool(_git("status", "--porcelain", "--", "experiments", "src")) if head else ""


def made(script: ModuleType, work: Work) -> dict[str, Any]:
    """Return the stamp of a result: who reads it can tell what it is a result of."""
    return {
        "version": script.VERSION,
        "commit": work.commit,
        "settings": settings(script),
        "pieces": dict(work.stamps),
    }


def settings(script: ModuleType) -> dict[str, Any]:
    """Return the settings of a script, as a file of results holds them."""
    found = {name.strip("_").lower(): value for name, value in vars(script).items() if _is_setting(name, value)}
    kept: dict[str, Any] = rounded(found)
    return kept


def stored(path: Path, script: ModuleType, quick: bool) -> dict[str, Any]:
    """Return the results of a file, if this version of the script made them with these settings; nothing otherwise."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    made = found.get("made", {})
    same = (made.get("version"), made.get("settings"), found.get("quick")) == (script.VERSION, settings(script), quick)
    return found if same else {}


def is_full(path: Path) -> bool:
    """Return whether a file holds results of a run that was not a quick one."""
    return path.exists() and not json.loads(path.read_text()).get("quick", False)


def left_out(before: dict[str, Any], work: Work) -> list[str]:
    """Return the pieces of an earlier result, of the same version and settings, that this one does not have."""
    return sorted(set(before.get("made", {}).get("pieces", {})) - set(work.stamps) - {EARLIER})


def mixture(stamp: dict[str, Any]) -> list[str]:
    """Return the versions that a result is made of beside that of its script."""
    return sorted(
        {f"version {piece['version']}" for piece in stamp["pieces"].values()} - {f"version {stamp['version']}"}
    )


def _is_setting(name: str, value: Any) -> bool:
    """Return whether a constant of a script is one of its settings: numbers and names, and not what a paper prints."""
    bare = name.strip("_")
    return bare.isupper() and bare not in ("PAPER", "VERSION", "NAMES", "TITLE") and _is_plain(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(each) for each in (*value, *value.values()))
    if isinstance(value, tuple | list):
        return all(_is_plain(each) for each in value)
    return value is None or isinstance(value, int | float | str)


def _git(*words: str) -> str:
    try:
        return subprocess.run(["git", *words], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
