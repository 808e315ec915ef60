import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# Tests import their shared helpers by name.
sys.path.insert(0, str(Path(__file__).parent))

_LEFT_OUT = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session", autouse=True)
def _warm_workers() -> None:
    """Let the first server that workers are forked from load what most of them need, whichever test comes first."""
    # Here, and not above: whoever only collects tests waits for none of it.
    from seepage.execution._local import start_server
    from seepage.linear.information import WARM

    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.get_context("forkserver").set_forkserver_preload([WARM])
        start_server()


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of public data sets; a missing one fails, so that CI cannot skip silently."""
    from experiments.datasets import folder

    if not folder().is_dir():
        pytest.fail("Set SEEPAGE_DATA to the folder that holds mnist/, adult.data.gz, ... (see CONTRIBUTING.md).")
    return folder()


def _lacking() -> Iterator[tuple[Callable[[pytest.Item], bool], str]]:
    """Yield tests that cannot run on this machine, and the reason; in CI only those of data, if it has none."""
    from experiments.datasets import missing

    data, in_ci = os.environ.get("SEEPAGE_DATA"), os.environ.get("CI")
    if data == "none" or (not data and not in_ci and missing()):
        yield (
            lambda item: "data_home" in getattr(item, "fixturenames", ()),
            "they read public data sets. `python -m experiments.datasets` fetches those with a public address.",
        )
    if in_ci:
        return
    if not shutil.which("java"):
        yield (
            lambda item: bool(item.get_closest_marker("java")),
            "they start Spark, which needs Java 17, and there is no `java`.",
        )
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        yield lambda item: bool(item.get_closest_marker("browser")), "they render pages, and there is no `chromium`."
    if not shutil.which("ssh-keygen"):
        yield lambda item: bool(item.get_closest_marker("ssh")), "they sign files, and there is no `ssh-keygen`."
    if not (shutil.which("initdb") or next(Path("/usr/lib/postgresql").glob("*/bin/initdb"), None)):
        yield (
            lambda item: bool(item.get_closest_marker("postgresql")),
            "they start a PostgreSQL server, and there is no `initdb`.",
        )
    if find_spec("acro") is None:
        yield (
            lambda item: "acro" in getattr(item, "fixturenames", ()),
            "they need ACRO, which holds pandas below 3: run tests/sacro in an environment of its own "
            '(pip install ".[cli,publish,report]" acro pytest).',
        )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of what a contributor does not have, and note how many."""
    told = config.stash.setdefault(_LEFT_OUT, [])
    for needs_it, why in _lacking():
        left_out = [item for item in items if needs_it(item)]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not needs_it(item)]
            told.append(f"{len(left_out)} tests are left out: {why}")


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what was left out, a line for each reason."""
    return config.stash.get(_LEFT_OUT, [])
