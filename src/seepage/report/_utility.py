"""The cost of noise: the expected loss of the noisy model, and noise compared with standard errors."""

import numpy as np

from seepage.leakage import Leakage
from seepage.pages import Grid, Item, Section, name, number, percent
from seepage.report._rounding import near, plain

_MOST_COEFFICIENTS = 12


def utility_section(leak: Leakage) -> Section | None:
    """Return the cost of the noise; None where it is not known.

    With the Hessian H0 of the data's part, noise of covariance Sigma adds  1/2 tr(H0 Sigma)  to the sum of losses in
    the mean over its draws: exactly for squared errors, to second order for others (eq. 7.3).
    """
    cost = leak.information.cost()
    if cost is None:
        return None
    without, added = near(cost.without), near(cost.added)
    share = "" if without == 0 else f" ({_share(added / without)})"
    how = "Exactly so, in the mean over all draws." if cost.exact else "To second order, in the mean over all draws."
    said = (
        f"On its own rows the model's mean {cost.loss} is {number(without)}, and the noise adds "
        f"{number(added)}{share}. {how}"
    )
    rows = [
        (called, near(value), near(error_of), near(noise / error_of))
        for called, value, error_of, noise in zip(
            cost.names, cost.parameters, cost.standard_errors, cost.noise, strict=False
        )
        if np.isfinite(error_of) and error_of > 0
    ]
    # Of many, those with the most noise for their standard error.
    shown = rows if len(rows) <= _MOST_COEFFICIENTS else sorted(rows, key=lambda row: -row[3])[:_MOST_COEFFICIENTS]
    coefficients = Grid.of(
        "Coefficients, in the units of the model's features",
        ("coefficient", "value", "standard error", "noise, of it"),
        [
            [name(called), plain(value), plain(spread), Item(f"{number(noise)} times", noise)]
            for called, value, spread, noise in shown
        ],
    )
    return Section("What the noise costs", (said,), (coefficients,) if rows else (), is_personal=True)


def _share(share: float) -> str:
    rounded = float(f"{share:.2g}")
    return f"{percent(rounded)} of it" if rounded < 2 else f"{number(rounded)} times as much"
