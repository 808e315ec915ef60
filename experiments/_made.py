"""What made a file of results: the script, its version and settings, and the commit it was run at."""

import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments._work import Work

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
        "settings": {
            name.strip("_").lower(): value for name, value in vars(script).items() if _is_setting(name, value)
        },
        "pieces": dict(work.stamps),
    }


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
