"""What a layer of an update may give away."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from seepage.errors import InputError

QUANTITIES = ("dfil", "susceptibility", "sensitivity")
WHOLE = ("update_dfil", "total_dfil")
Limit = float | Mapping[str, float] | None


@dataclass(frozen=True)
class Breach:
    """A limit that a layer is above."""

    layer: str
    quantity: str
    limit: float

    def __str__(self) -> str:
        # The limit only: how far above it the worst person is would be a value of that person.
        return f"{self.quantity} of {self.layer} is above {self.limit:g}"


@dataclass(frozen=True, kw_only=True)
class LayerPolicy:
    """Limits on what each layer of an update may give away in a round.

    A number is the limit of every layer; a mapping from layer names to numbers limits those layers alone.

    Parameters
    ----------
    dfil : float or mapping, optional
        The largest dFIL of anyone: no unbiased guess of a person's values from this layer of the update has a mean
        squared error per value below ``1 / dfil**2``. An update without noise is above any limit.
    susceptibility : float or mapping, optional
        The largest privacy loss-input susceptibility of anyone, in units of the noise (without noise, of the gradient).
    sensitivity : float or mapping, optional
        The largest mean sensitivity of the layer's gradient (Mo et al. 2021). No noise changes it.
    update_dfil : float, optional
        The largest dFIL of anyone from all layers of a round together.
    total_dfil : float, optional
        The same from all rounds so far together, counted in the client's state: the root of the sum, over rounds, of
        the largest square. An update that would exceed it is refused, whatever else is done on a breach.

    Examples
    --------
    >>> import seepage
    >>> policy = seepage.federated.LayerPolicy(dfil=0.5, sensitivity={"fc1": 2.0})
    >>> [str(breach) for breach in policy.breaches({"fc1": {"dfil": 0.4, "sensitivity": 3.0}})]
    ['sensitivity of fc1 is above 2']
    """

    dfil: Limit = None
    susceptibility: Limit = None
    sensitivity: Limit = None
    update_dfil: float | None = None
    total_dfil: float | None = None

    def __post_init__(self) -> None:
        if all(getattr(self, name) is None for name in (*QUANTITIES, *WHOLE)):
            raise InputError("A LayerPolicy without a limit guards nothing: set dfil, susceptibility or sensitivity.")
        for name in WHOLE:
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"The limit {name} must be a positive number, not {value!r}.")
        for quantity in QUANTITIES:
            limit = getattr(self, quantity)
            if isinstance(limit, Mapping):
                object.__setattr__(self, quantity, MappingProxyType(dict(limit)))
            for name, value in limit.items() if isinstance(limit, Mapping) else [("every layer", limit)]:
                if value is not None and not 0 < value < math.inf:
                    raise InputError(f"The limit on {quantity} of {name} must be a positive number, not {value!r}.")

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views cannot be pickled; what they show can.
        limits = {name: getattr(self, name) for name in (*QUANTITIES, *WHOLE)}
        return _policy, ({k: dict(v) if isinstance(v, Mapping) else v for k, v in limits.items()},)

    def limit(self, quantity: str, layer: str) -> float:
        """Return the limit on a quantity of a layer; infinite where there is none."""
        limit = getattr(self, quantity)
        found = limit.get(layer) if isinstance(limit, Mapping) else limit
        return math.inf if found is None else float(found)

    def check(self, layers: Iterable[str]) -> None:
        """Refuse limits on layers that the model does not have."""
        known = list(layers)
        for quantity in QUANTITIES:
            limit = getattr(self, quantity)
            for name in limit if isinstance(limit, Mapping) else ():
                if name not in known:
                    raise InputError(f"The policy limits {quantity} of {name!r}, but the model's layers are {known}.")

    def breaches(self, worst: Mapping[str, Mapping[str, float]]) -> list[Breach]:
        """Return the limits that are breached, given for each layer the worst value of each quantity."""
        found = []
        for layer, values in worst.items():
            for quantity, value in values.items():
                limit = self.limit(quantity, layer)
                # Written so that a value that is no number breaches every limit. Noise that was scaled to a limit meets
                # it to rounding.
                if limit < math.inf and not value <= limit * (1 + 1e-9):
                    found.append(Breach(layer, quantity, limit))
        return found


def _policy(limits: dict[str, Any]) -> LayerPolicy:
    return LayerPolicy(**limits)
