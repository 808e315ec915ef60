import sys
import warnings
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="session")
def _warm():
    """PyTorch warns of its own code at the first use of torch.func: here, where nobody waits for warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads would wait for each other on problems this small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)
