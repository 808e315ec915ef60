"""Noise to start with: as much as the model hardly notices."""

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from seepage._amounts import down_to_grid
from seepage._tables import Frame, frame
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Cost, Leakage, checked_leakage, deviations


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """A noise scale to start with, what it costs, and what it gives.

    Attributes
    ----------
    noise_scale : float
        The scale, one of 1, 2 and 5 times a power of ten.
    loss : float
        By which share the mean loss of the model on its own rows grows with this noise, in the mean over its draws:
        exactly for squared errors, to second order for others.
    coefficients : data frame
        One row per coefficient: its value, its standard error, and the noise in multiples of that standard error. Noise
        of one standard error blurs a coefficient as much as sampling did.
    floors : data frame
        One row per attribute that is a number: the error of a blind guess, and the smallest error of any unbiased
        guess for half the people and for everyone, in the attribute's own unit.
    """

    noise_scale: float
    loss: float
    _leak: Leakage
    _cost: Cost
    _factor: float

    @cached_property
    def coefficients(self) -> Frame:
        cost = self._cost
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(cost.standard_errors > 0, self._factor * cost.noise / cost.standard_errors, np.nan)
        columns = {
            "coefficient": list(cost.names),
            "value": cost.parameters,
            "standard_error": cost.standard_errors,
            "noise_in_standard_errors": times,
        }
        return frame(columns, self._leak.people.library)

    @cached_property
    def floors(self) -> Frame:
        information = self._leak.information
        blind = deviations(information, "data")
        names = [name for name in information.attribute_names if name not in information.categorical]
        found = [information.distribution_at("attributes", name, self._factor) for name in names]
        columns = {
            "attribute": names,
            "blind_guess": np.array([blind.get(name, np.nan) for name in names]),
            "half": np.array([_floor(each.quantile(0.5)) if each.count else np.nan for each in found]),
            "everyone": np.array([_floor(each.largest) if each.count else np.nan for each in found]),
        }
        return frame(columns, self._leak.people.library)

    def __repr__(self) -> str:
        return f"Suggestion(noise_scale={self.noise_scale:g}, {100 * self.loss:.2g}% more loss than without noise)"


def suggest(leak: Leakage, *, loss: float = 0.01) -> Suggestion:
    """Return a noise scale to start with: the largest with which the model is hardly worse.

    What noise protects is for `seepage.calibrate` to say; this is for whoever has no target yet, and asks how much
    noise is much. The scale is rounded down to 1, 2 or 5 times a power of ten.

    Parameters
    ----------
    leak : Leakage
        A measurement of a linear model in memory, at any noise scale.
    loss : float, default=0.01
        By which share the mean loss of the model on its own rows may grow, in the mean over all draws of the noise.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)
    >>> start = seepage.release.suggest(leak)
    >>> start
    Suggestion(noise_scale=0.01, 0.26% more loss than without noise)
    >>> start.floors.set_index("attribute")["everyone"]["age"] < 1  # years: that is next to no protection
    np.True_
    """
    information = checked_leakage(leak).information
    if isinstance(loss, bool) or not isinstance(loss, int | float) or not 0 < loss < np.inf:
        raise InputError(f"loss is the share by which the loss may grow, such as 0.01, not {loss!r}.")
    if information.held is None or information.noise is None:
        raise UnansweredError(
            "What noise costs is known of linear models whose rows are in memory. For others, try a few scales: "
            "seepage.release.frontier(model, X, y, X_test, y_test, noise_scales=[...])."
        )
    if information.noise.scale is None:
        raise UnansweredError(
            "A scale to start with is for noise of one size: measure with noise_scale=1.0 first. Noise that is spread "
            'better is found for a target: seepage.calibrate(leak, ..., shape="best").'
        )
    cost = information.cost()
    assert cost is not None
    # What noise adds grows with its square.
    factor = (loss * cost.without / cost.added) ** 0.5 if cost.added > 0 else np.inf
    if not factor > 0 or not isfinite(factor):
        raise UnansweredError("The loss of this model is 0 on its own rows, or does not depend on its parameters.")
    scale = down_to_grid(information.noise.scale * factor)
    factor = scale / information.noise.scale
    return Suggestion(scale, cost.added * factor**2 / cost.without, leak, cost, factor)


def _floor(eta: float) -> float:
    return 1 / eta if eta > 0 else np.inf
