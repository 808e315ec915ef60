"""What accounting costs training: time and memory (`python -m benchmarks network`), and not a bit of its weights."""

import pytest

from benchmarks.network import NETWORKS, compare

# Smaller batches than the benchmark's, of the same networks; ResNet-18 trains at night.
BATCH = {"MNIST network": 8, "transformer, 2 layers": 4, "LSTM": 4}


@pytest.mark.filterwarnings("ignore:The model looks up tokens")
@pytest.mark.parametrize(("name", "mode"), [(name, mode) for name in BATCH for mode in NETWORKS[name][3]])
def test_the_weights_are_the_same_to_the_last_bit(name, mode):
    _, same = compare(name, mode, 1, 2, BATCH[name])
    assert same
