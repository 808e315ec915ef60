"""Files that a command writes."""

from pathlib import Path

from seepage._errors import InputError


def check_new(*paths: Path | None, force: bool) -> None:
    """Refuse to write where nothing can be written, before any work is done."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file in it.")
        if not path.parent.is_dir():
            raise InputError(f"There is no folder {path.parent} to write {path.name} to. Make it first.")
        if path.exists() and not force:
            raise InputError(f"{path} exists. Choose another name, or replace it with --force.")
