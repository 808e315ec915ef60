"""Every public name with its arguments, at its one address, as text: `python tests/interface.py` writes it anew."""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType

import seepage

FILE = Path(__file__).with_suffix(".txt")
# What a name is called by when it has no repr that is the same in every run.
_ADDRESS = re.compile(r"<(?:function|class|built-in function) '?([\w.]+)'?(?: at 0x[0-9a-f]+)?>| at 0x[0-9a-f]+")


def lines() -> list[str]:
    """Return a line for each public name: where it is, what it is, what it takes."""
    return [line for path, value in addresses().items() for line in _member(path, value)]


def public() -> list[ModuleType]:
    """Return the public modules: the package, the doors, which are files, and the rooms, which are folders."""
    modules = [module for name in dir(seepage) if inspect.ismodule(module := getattr(seepage, name))]
    return [seepage, *sorted(modules, key=lambda module: hasattr(module, "__path__"))]


def names(module: ModuleType) -> dict[str, object]:
    """Return what a public module shows, by name."""
    shown = {name: getattr(module, name) for name in sorted(dir(module)) if not name.startswith("_")}
    return {name: value for name, value in shown.items() if not inspect.ismodule(value)}


def addresses() -> dict[str, object]:
    """Return what is public by its one address: the first module that shows it.

    A room may show it too, to the rooms above it: to users that is no address.
    """
    found: dict[str, object] = {}
    for module in public():
        shown = {f"{module.__name__}.{name}": value for name, value in names(module).items()}
        found |= {path: value for path, value in shown.items() if not any(value is each for each in found.values())}
    return found


def _member(path: str, value: object) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"{path}{_signature(value)}" if callable(value) else path
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {path}{_signature(value)}" + (f" of {bases}" if bases else "")
    fields = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    for name in sorted(fields | {name for base in _ours(value) for name in vars(base)}):
        if name.startswith("_"):
            continue
        found = inspect.getattr_static(value, name, None)
        if isinstance(found, property | cached_property) or name in fields:
            yield f"{path}.{name}"
        elif isinstance(found, staticmethod | classmethod) or callable(found):
            yield f"{path}.{name}{_signature(getattr(value, name))}"
        else:
            yield f"{path}.{name}"


def _ours(value: type) -> list[type]:
    return [base for base in value.__mro__ if base.__module__.split(".")[0] == "seepage"]


def _signature(value: object) -> str:
    try:
        found = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return _ADDRESS.sub(lambda match: match[1] or "", text)


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(lines())} names")
