"""One reference page for each public package, made from what the package exports."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import seepage
from seepage.display import Display

# What a newcomer needs first comes first; a package that is not listed comes after these, errors last.
_ORDER = ("linear", "leakage", "release", "report", "attacks", "_noise")
_NOTE = ".. Made from the package's public names when the documentation is built.\n\n"


def packages() -> dict[str, ModuleType]:
    """Return the public packages by name, the first one first."""
    found = {name: getattr(seepage, name) for name in dir(seepage)}
    inner = {f"seepage.{name}": value for name, value in found.items() if inspect.ismodule(value)}
    return {"seepage": seepage, **inner}


def public_names(package: ModuleType) -> list[str]:
    """Return what a package exports: every name without an underscore that is defined within this library."""
    found = []
    for name in sorted(vars(package) if package is not seepage else dir(package)):
        value = getattr(package, name)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if getattr(value, "__module__", "").split(".")[0] == "seepage":
            found.append(name)
    return found


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    return {f"{name}.rst": "".join(_page(name, package)) for name, package in packages().items()}


def _page(name: str, package: ModuleType) -> Iterator[str]:
    yield _NOTE + _heading(name, "=") + f"{_first_line(package)}.\n\n.. currentmodule:: {name}\n\n"
    for title, members in _sections(package).items():
        if title:
            yield _heading(title, "-")
        elsewhere = [member for member in members if _is_on_first_page(package, member)]
        listed = "".join(f"   {'seepage.' if member in elsewhere else ''}{member}\n" for member in members)
        yield f".. autosummary::\n\n{listed}\n"
        for member in members:
            if member not in elsewhere:
                yield _entry(name, member, getattr(package, member))


def _is_on_first_page(package: ModuleType, member: str) -> bool:
    return package is not seepage and getattr(seepage, member, None) is getattr(package, member)


def _entry(package: str, name: str, value: Any) -> str:
    if inspect.isclass(value):
        # What a picture can do is written once, for all pictures.
        inherited = "   :inherited-members:\n" if issubclass(value, Display) else ""
        return f".. autoclass:: {package}.{name}\n   :members:\n{inherited}\n"
    if callable(value):
        return f".. autofunction:: {package}.{name}\n\n"
    return f".. autodata:: {package}.{name}\n\n"


def _sections(package: ModuleType) -> dict[str, list[str]]:
    """Return the names under headings: on the first page the packages that they come from, on others none."""
    names = public_names(package)
    if package is not seepage:
        return {"": names}
    inside: dict[str, list[str]] = {}
    for name in names:
        inside.setdefault(getattr(package, name).__module__.split(".")[1], []).append(name)
    order = sorted(inside, key=lambda module: (module == "_errors", *_rank(module)))
    return {_first_line(importlib.import_module(f"seepage.{module}")).split(":")[0]: inside[module] for module in order}


def _rank(module: str) -> tuple[int, str]:
    return (_ORDER.index(module), "") if module in _ORDER else (len(_ORDER), module)


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().splitlines()[0].rstrip(".")


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / name
        # Left alone when nothing changed, so that a second build reads only what did.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _skip(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to estimators by itself; its docstrings refer to its own pages."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before any is read, and say what autodoc leaves out."""
    app.connect("builder-inited", _write)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
