"""A batch is opened and packed again, and is left as it was."""

from collections import UserDict
from collections.abc import MutableMapping

import pytest
import torch

from seepage.network._records import mapped


class Wrapping(MutableMapping):
    """A mapping that a shallow copy shares its content with."""

    def __init__(self, held):
        self.held = dict(held)

    def __getitem__(self, key):
        return self.held[key]

    def __setitem__(self, key, value):
        self.held[key] = value

    def __delitem__(self, key):
        del self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


@pytest.mark.parametrize("kind", [dict, UserDict, Wrapping])
def test_a_mapping_of_any_kind_is_left_as_it_was(kind):
    batch = kind({"x": torch.ones(2), "inner": [torch.ones(1)]})
    found = mapped(lambda leaf: leaf * 5, batch)
    assert type(found) is kind
    assert (found["x"].tolist(), found["inner"][0].tolist()) == ([5.0, 5.0], [5.0])
    assert (batch["x"].tolist(), batch["inner"][0].tolist()) == ([1.0, 1.0], [1.0])
