"""One release in several privacy measures: information, error floors, differential privacy, and what each assumes."""

from collections.abc import Mapping

import numpy as np

from seepage.errors import UnansweredError
from seepage.leakage._information import Information
from seepage.leakage._prior import before
from seepage.meaning import reconstruction_floor, says_nothing

_UNBIASED = "Unbiased guesses by an attacker who knows all else."
_PRIOR = (
    "Any guess, in the mean over all people's values, by an attacker who knows all else and how these values are "
    "spread; the information at the person's own value stands for that at the others."
)
_JUMPS = "The release moves with it by jumps, not smoothly, and nothing is known of it without refits."
_EVERYONE = "Holds for everybody, whatever the data: the worst case."


def translate(
    information: Information, delta: float, input_norm: float | None, interval: Mapping[str, tuple[float, float]]
) -> dict[str, list[str | float]]:
    """Return the columns of the translation table."""
    rows: list[tuple[str, str, float, str, str]] = []
    examples = information.examples()
    people = (("median person", np.nanmedian), ("most exposed person", np.nanmax))
    for name, meaning in (
        ("eta", "1/eta bounds the standard error of a guess in any direction"),
        ("dfil", "1/dfil^2 bounds the mean squared error per value"),
    ):
        rows += [(name, who, float(of(examples[name])), meaning, _UNBIASED) for who, of in people]
    unit = "in mixed units of all values"
    rows += [("RMSE floor", who, float(1 / of(examples["dfil"])), unit, _UNBIASED) for who, of in people]
    attributes = information.attributes()
    for name in information.variances():
        if name in information.without_slope:
            rows.append((f"error of {name}", "most exposed person", np.nan, "unanswered", _JUMPS))
            continue
        known, worst = before(information, "data", name), np.nanmax(attributes[name])
        assert known is not None
        left = float(known.left(worst))
        vacuous = (
            "a baseline guess does as well" if says_nothing(left) else f"{100 * left:.2g}% of the variance is left"
        )
        rows.append((f"error of {name}", "most exposed person", float(known.floor(worst)), vacuous, _PRIOR))
    rows += _differential(information, delta, input_norm, interval)
    names = ("quantity", "of", "value", "meaning", "assumes")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _differential(
    information: Information, delta: float, input_norm: float | None, interval: Mapping[str, tuple[float, float]]
) -> list[tuple[str, str, float, str, str]]:
    try:
        found = information.guarantee(delta, input_norm)
    except UnansweredError as reason:
        return [("differential privacy", "everybody", np.inf, "no guarantee", str(reason))]
    assumes = " ".join((_EVERYONE, *(assumption.sentence() for assumption in found.assumptions)))
    rows = [
        ("Renyi epsilon, order 2", "everybody", found.renyi, "ratio of likelihoods, in mean square", assumes),
        (f"epsilon at delta = {delta:g}", "everybody", found.epsilon, "log ratio of likelihoods", assumes),
    ]
    numbers = [name for name in information.attribute_names if name not in information.categorical]
    if numbers and all(name in interval for name in numbers):
        floor = reconstruction_floor(found.renyi, [interval[name][1] - interval[name][0] for name in numbers])
        rows.append(
            (
                "reconstruction MSE floor",
                "everybody",
                floor,
                "mean squared error per value of any unbiased reconstruction",
                assumes,
            )
        )
    return rows
