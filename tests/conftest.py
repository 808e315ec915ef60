import multiprocessing
import os
import sys
from pathlib import Path

import pytest

from seepage.datasets import get_data_home
from seepage.datasets._catalog import missing
from seepage.engines._local import start_server
from seepage.linear.information import WARM

# Tests import their shared helpers by name.
sys.path.insert(0, str(Path(__file__).parent))

_LEFT_OUT = pytest.StashKey[list[str]]()


def _may_be_left_out() -> bool:
    """Whether nobody said where the data sets are, and this is no CI: there, nothing is ever left out."""
    return not os.environ.get("SEEPAGE_DATA") and not os.environ.get("CI")


@pytest.fixture(scope="session", autouse=True)
def _warm_workers() -> None:
    """Let the first server that workers are forked from load what most of them need, whichever test comes first."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.get_context("forkserver").set_forkserver_preload([WARM])
        start_server()


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of public data sets; a missing one fails, so that CI cannot skip silently."""
    folder = os.environ.get("SEEPAGE_DATA") or get_data_home()
    if not Path(folder).is_dir():
        pytest.fail("Set SEEPAGE_DATA to the folder that holds mnist/, adult.data.gz, ... (see CONTRIBUTING.md).")
    return Path(folder)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of data sets that a contributor does not have, and note how many."""
    if not _may_be_left_out() or not (lacking := missing()):
        return
    wanted = [item for item in items if "data_home" not in getattr(item, "fixturenames", ())]
    left_out = len(items) - len(wanted)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = wanted
        config.stash[_LEFT_OUT] = [
            f"{left_out} tests are left out: they read public data sets of which {len(lacking)} files are missing "
            f"({lacking[0]}, ...). `python -m seepage.datasets` fetches them."
        ]


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what was left out, in one line."""
    return config.stash.get(_LEFT_OUT, [])
