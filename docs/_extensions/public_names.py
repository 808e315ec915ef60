"""One reference page for each public module, made from what the module shows; the first page lists all names."""

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import seepage
from seepage.display import Display

_NOTE = ".. Made from the public names of this library when the documentation is built.\n\n"


def modules() -> list[ModuleType]:
    """Return the public modules: the package, the doors, which are files, and the rooms, which are folders."""
    inner = [module for name in dir(seepage) if inspect.ismodule(module := getattr(seepage, name))]
    return [seepage, *sorted(inner, key=lambda module: hasattr(module, "__path__"))]


def public_names(module: ModuleType) -> list[str]:
    """Return what a module shows: every name without an underscore that is defined within this library."""
    names = [name for name in seepage.__all__ if name != "__version__"] if module is seepage else sorted(vars(module))
    return [name for name in names if not name.startswith("_") and _is_ours(getattr(module, name))]


def addresses() -> dict[str, str]:
    """Return the address of each name of a module, which is in the first module that shows what it stands for."""
    found: dict[int, str] = {}
    shown = [
        (f"{module.__name__}.{name}", getattr(module, name)) for module in modules() for name in public_names(module)
    ]
    return {path: found.setdefault(id(value), path) for path, value in shown}


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    found = addresses()
    made = {f"{module.__name__}.rst": "".join(_page(module, found)) for module in modules()}
    made["seepage.rst"] += "".join(_others(found))
    return made


def _page(module: ModuleType, found: dict[str, str]) -> Iterator[str]:
    yield _NOTE + _heading(module.__name__, "=") + f"{_first_line(module)}.\n\n"
    # What is described on another page is listed with a link to it.
    yield _listed(found[f"{module.__name__}.{name}"] for name in public_names(module))
    for name in public_names(module):
        path = f"{module.__name__}.{name}"
        if found[path] == path:
            yield _entry(path, getattr(module, name))


def _others(found: dict[str, str]) -> Iterator[str]:
    """Yield the end of the first page: the names of all other modules."""
    for module in modules()[1:]:
        paths = [f"{module.__name__}.{name}" for name in public_names(module)]
        yield _heading(module.__name__, "-") + f"{_first_line(module)}.\n\n"
        yield _listed(path for path in paths if found[path] == path)


def _listed(paths: Iterable[str]) -> str:
    return ".. autosummary::\n\n" + "".join(f"   ~{path}\n" for path in paths) + "\n"


def _is_ours(value: object) -> bool:
    return not inspect.ismodule(value) and getattr(value, "__module__", "").split(".")[0] == "seepage"


def _entry(path: str, value: Any) -> str:
    if inspect.isclass(value):
        # What a picture can do is written once, for all pictures.
        inherited = "   :inherited-members:\n" if issubclass(value, Display) else ""
        return f".. autoclass:: {path}\n   :members:\n{inherited}\n"
    if callable(value):
        return f".. autofunction:: {path}\n\n"
    return f".. autodata:: {path}\n\n"


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
