from collections.abc import Iterator

import pytest
from cli.terminal import Terminal


@pytest.fixture(scope="session")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """An empty folder, and the command line in it."""
    found = Terminal(tmp_path_factory.mktemp("tables"))
    yield found
    found.close()
