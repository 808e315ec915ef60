"""Importing what the first call of a process needs, which says so where it takes long."""

import sys
from importlib import import_module
from threading import Timer
from types import ModuleType

_SECONDS_BEFORE = 2.0
_SAID = "seepage: importing the libraries it stands on, once in every process"


def loaded(name: str) -> ModuleType:
    """Return a module; whoever waits for it at a terminal or in a notebook is told after two seconds."""
    if name in sys.modules or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return import_module(name)
    said = False

    def say() -> None:
        nonlocal said
        said = True
        print(f"\r{_SAID}", end="", file=sys.stderr, flush=True)

    timer = Timer(_SECONDS_BEFORE, say)
    timer.daemon = True
    timer.start()
    try:
        return import_module(name)
    finally:
        timer.cancel()
        timer.join()
        if said:
            print(f"\r{'':<{len(_SAID)}}\r", end="", file=sys.stderr, flush=True)
