import os
import sys
from pathlib import Path

import pytest

# Tests import their shared helpers by name.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of public data sets that SEEPAGE_DATA names; a missing one fails, so that CI cannot skip silently."""
    folder = os.environ.get("SEEPAGE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.fail("Set SEEPAGE_DATA to the folder that holds mnist/, adult.data.gz, ... (see CONTRIBUTING.md).")
    return Path(folder)
