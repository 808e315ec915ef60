"""A frozen network before a linear model: its features are a smooth function of each row, its slopes are PyTorch's."""

import copy
import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from seepage._facts import Assumption
from seepage.errors import InputError, MissingExtraError, UnsupportedError
from seepage.linear.columns._curve import Curve, Trouble

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
# Derivatives of so many numbers exist at once, and so many inputs go through the network together.
_SCRATCH, _TOGETHER = 2**22, 2**20
# Rows that are given to the network one by one, to see whether it takes them so, and how far rounding moves a feature.
_ALONE, _ROUNDED = 8, 1e-9

_AS_IT_IS = Assumption(
    "kinks",
    "The network before the model moves as its derivative at each row says. Where it has kinks (ReLU, maxima), what a "
    "value gives away by crossing one is not in the numbers: a unit that is off says nothing here, and may elsewhere.",
)


class FrozenEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A network that was trained on other rows, as a step before a linear model: `seepage.measure` looks through it.

    What is measured is then about the values that enter the network, such as pixels. It is exact where the network has
    a derivative: at a kink (of a ReLU, of a maximum) it is that of one side.

    Parameters
    ----------
    module : torch.nn.Module
        From a batch of inputs to a batch of features. It is used as in evaluation, in double precision, and each row by
        itself; a copy is, so that the network stays as it is.
    shape : sequence of int
        Of one input, such as ``(1, 28, 28)``. The columns of X are its values in order.

    Examples
    --------
    >>> import numpy as np, seepage, torch
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from seepage.models import FrozenEncoder
    >>> _ = torch.manual_seed(0)
    >>> network = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Tanh(), torch.nn.Flatten())
    >>> X, y = np.random.default_rng(0).random((40, 16)), np.arange(40) % 2
    >>> model = make_pipeline(FrozenEncoder(network, (1, 4, 4)), LogisticRegression()).fit(X, y)
    >>> leak = seepage.measure(model, X, y, noise_scale=0.1, public_preprocessing=["frozenencoder"])
    >>> leak.attributes.shape
    (40, 17)
    """

    def __init__(self, module: "torch.nn.Module", shape: Sequence[int]) -> None:
        self.module, self.shape = module, shape

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Look at which columns there are, and learn nothing.

        Parameters
        ----------
        X : array-like of shape (n, values)
            The inputs, flattened.
        y : ignored
            Not used.
        """
        self._read(X, reset=True)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the features of some rows.

        Parameters
        ----------
        X : array-like of shape (n, values)
            The inputs, flattened.
        """
        encoded, inputs = self._read(X)
        return encoded.values(inputs)

    def slopes(self, X: ArrayLike) -> Array:
        """Return how the features of some rows move with their values, shape (n, features, values).

        Parameters
        ----------
        X : array-like of shape (n, values)
            The inputs, flattened.
        """
        encoded, inputs = self._read(X)
        encoded.trouble(inputs)
        return encoded.slopes(inputs).reshape(len(inputs), encoded.features, encoded.inputs)

    def _read(self, X: ArrayLike, *, reset: bool = False) -> "tuple[EncoderCurve, Array]":
        encoded = EncoderCurve(self.module, tuple(self.shape))
        inputs = encoded.checked(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return encoded, inputs


class EncoderCurve(Curve):
    """The features of a network and their derivatives, one pass back for each feature of a row."""

    def __init__(self, module: "torch.nn.Module", shape: tuple[int, ...]) -> None:
        try:
            import torch  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(
                'FrozenEncoder needs PyTorch, which is missing: pip install "seepage[torch]"'
            ) from error
        self.shape = shape
        # Moved first: not every device has double precision.
        self.module = copy.deepcopy(module).cpu().double().eval().requires_grad_(False)

    def __repr__(self) -> str:
        # Jobs over files know by this whether they go on with the same network.
        held = hashlib.sha256()
        for name, values in (*self.module.named_parameters(), *self.module.named_buffers()):
            held.update(name.encode() + values.detach().numpy().tobytes())
        return f"EncoderCurve({self.module!r}, {self.shape}, {held.hexdigest()})"

    @property
    def inputs(self) -> int:
        """How many values an input has."""
        return int(np.prod(self.shape))

    @cached_property
    def features(self) -> int:
        """How many features the network makes of an input."""
        # Two rows: networks that take no single one are told so when their rows are compared.
        return int(self.values(np.zeros((2, self.inputs))).shape[1])

    @property
    def reach(self) -> sparse.csr_array:
        return sparse.csr_array(np.ones((self.features, self.inputs)))

    def checked(self, X: ArrayLike) -> Array:
        """Return the numbers of a table that has as many columns as an input has values."""
        inputs = np.asarray(X, dtype=np.float64)
        if inputs.ndim != 2 or inputs.shape[1] != self.inputs:
            found = f"{inputs.shape[1]} columns" if inputs.ndim == 2 else f"shape {inputs.shape}"
            raise InputError(f"X has {found}, and an input of shape {self.shape} {self.inputs} values, one a column.")
        return inputs

    def values(self, inputs: Array) -> Array:
        at_once = max(2, _TOGETHER // self.inputs)
        # No rows make no features, of which there are as many as ever.
        starts = range(0, max(len(inputs), 1), at_once)
        return np.concatenate([self._values(inputs[at : at + at_once]) for at in starts])

    def _values(self, inputs: Array) -> Array:
        found = self.module(self._tensor(inputs).reshape(-1, *self.shape))
        if found.ndim != 2 or len(found) != len(inputs):
            raise InputError(
                f"The network makes features of shape {tuple(found.shape)} of {len(inputs)} inputs: one row of numbers "
                "for each is needed. Let it end in a torch.nn.Flatten()."
            )
        return np.asarray(found.numpy())

    def slopes(self, inputs: Array) -> Array:
        import torch

        def one(row: "torch.Tensor") -> Any:
            # Copied: a first layer may work in place.
            return self.module(row.reshape(1, *self.shape).clone())[0]

        at_once = max(1, _SCRATCH // (self.features * self.inputs))
        found = torch.func.vmap(torch.func.jacrev(one), chunk_size=at_once)(self._tensor(inputs))
        return np.asarray(found.reshape(len(inputs), -1).numpy())

    def trouble(self, inputs: Array) -> Trouble | None:
        whole = self.values(inputs)
        rounding = _ROUNDED * np.abs(whole).max(axis=0, initial=0.0)
        for row in np.unique(np.linspace(0, len(inputs) - 1, _ALONE).astype(int)):
            try:
                alone = self._values(inputs[[row]])[0]
            except ValueError as reason:
                # As batch normalization without running statistics does.
                raise self._mixed() from reason
            if (np.abs(alone - whole[row]) > rounding).any():
                raise self._mixed()
        return None

    @staticmethod
    def _mixed() -> UnsupportedError:
        return UnsupportedError(
            "The network of a FrozenEncoder makes other features of a row by itself than of the same row among others: "
            "it mixes rows (batch normalization with track_running_stats=False) or draws random numbers, and is not a "
            "function of each row. Way out: a network whose layers keep what they learned, and are still in evaluation."
        )

    def assumptions(self) -> tuple[Assumption, ...]:
        return (_AS_IT_IS,)

    def copy(self) -> TransformerMixin:
        raise UnsupportedError(
            "A model behind a FrozenEncoder is measured, and not published as one file: publish the head by itself, "
            "fitted on encoder.transform(X), with a noise scale that meets the policy here."
        )

    def words(self, names: Sequence[str]) -> list[str]:
        return [f"feature {i + 1} of the encoder" for i in range(self.features)]

    @staticmethod
    def _tensor(inputs: Array) -> Any:
        import torch

        return torch.from_numpy(np.array(inputs, dtype=np.float64))
