"""Measuring, inside a Flower client, what its update gives away, before the update leaves."""

from seepage.errors import MissingExtraError as _MissingExtraError

try:
    import flwr as _flwr  # noqa: F401
    import opacus as _opacus  # noqa: F401
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise _MissingExtraError(
        f"seepage.federated needs Flower, PyTorch and Opacus, and {_error.name!r} is missing: "
        'pip install "seepage[flower]"'
    ) from _error

from seepage.federated._mod import leakage_mod as leakage_mod
from seepage.federated._policy import LayerPolicy as LayerPolicy
from seepage.federated._rounds import Rounds as Rounds
from seepage.federated._training import LocalTraining as LocalTraining
