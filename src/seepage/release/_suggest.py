"""What noise gives and costs, before there is a target: the table people decide from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from seepage import pages
from seepage._noise import one_standard_error
from seepage._tables import Frame, frame
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Leakage, checked_leakage, deviations
from seepage.linear.information import Noised

STEPS = (0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """What some noises give and cost.

    It tells the smallest floor and the largest rate of anybody, which are values about them: it helps to choose a
    noise, and is not for publication.

    Attributes
    ----------
    standard_errors : tuple of float
        The noises, in standard errors of each coefficient.
    wider : tuple of float
        By which share intervals grow that include each.
    floors : mapping from attribute to tuple of float
        Of each number: the smallest error of any unbiased guess about anybody, in its own unit.
    """

    standard_errors: tuple[float, ...]
    wider: tuple[float, ...]
    floors: dict[str, tuple[float, ...]]
    _baseline: dict[str, float]
    _library: str

    @cached_property
    def frame(self) -> Frame:
        """One row for each attribute and noise, with the floor of the attribute."""
        rows = [(name, i) for name in self.floors for i in range(len(self.standard_errors))]
        columns = {
            "attribute": [name for name, _ in rows],
            "standard_errors": [self.standard_errors[i] for _, i in rows],
            "wider": [self.wider[i] for _, i in rows],
            "error_floor": [self.floors[name][i] for name, i in rows],
            "baseline_guess": [self._baseline.get(name, np.nan) for name, _ in rows],
        }
        return frame(columns, self._library)

    @property
    def _rows(self) -> list[list[str]]:
        """The table as people read it."""
        rows = [
            ["noise, in standard errors", *(f"{each:g}" for each in self.standard_errors)],
            ["intervals wider by", *(f"{100 * each:.2g}%" for each in self.wider)],
        ]
        for name, found in self.floors.items():
            baseline = f" (baseline {self._baseline[name]:.3g})" if name in self._baseline else ""
            rows.append([f"{name}{baseline}", *(f"±{each:.3g}" for each in found)])
        return rows

    def _repr_html_(self) -> str:
        head, *rows = self._rows
        table = pages.Grid.of("Effect and cost of some noises; not for publication", head, rows)
        return pages.snippet(pages.Document("Suggested noise", "", (pages.Section("Noises", tables=(table,)),)))

    def __repr__(self) -> str:
        rows = self._rows
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        )
        return "\n".join(lines)


def suggest(leak: Leakage, *, standard_errors: Sequence[float] = STEPS) -> Suggestion:
    """Return what noise of so many standard errors gives about whoever is seen best, and what it costs.

    It is for whoever has no target yet, and asks how much noise is much. `seepage.calibrate` finds the least noise for
    a target.

    Parameters
    ----------
    leak : Leakage
        A measurement of a linear model at any noise.
    standard_errors : sequence of float, default=(0.1, 0.2, 0.5, 1.0)
        The noises, in standard errors of each coefficient.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> X = X[["age", "bmi", "bp"]]
    >>> leak = seepage.measure(LinearRegression().fit(X, y), X, y, noise_scale=1.0)
    >>> seepage.release.suggest(leak)
    noise, in standard errors    0.1    0.2    0.5      1
    intervals wider by          0.5%     2%    12%    41%
    age (baseline 13.1)        ±9.28  ±18.5  ±46.2  ±91.3
    bmi (baseline 4.41)        ±2.38  ±4.75  ±11.8    ±23
    bp (baseline 13.8)          ±7.6  ±15.2  ±37.4  ±71.5
    target (baseline 77)       ±29.9  ±59.8   ±149   ±284
    """
    information = checked_leakage(leak).information
    steps = tuple(float(each) for each in standard_errors)
    if not steps or not all(0 < each < inf for each in steps):
        raise InputError(f"standard_errors lists positive numbers, such as [0.1, 0.5], not {standard_errors!r}.")
    if not isinstance(information, Noised) or information.unshaped is not None:
        raise UnansweredError(
            "Noise in standard errors is counted for linear models that are published with noise. For others, try a "
            "few scales: seepage.release.frontier(model, X, y, X_test, y_test, noise_scales=[...])."
        )
    one = information.with_noise(one_standard_error(information.noise))
    names = [name for name in one.attribute_names if name not in one.without_slope]
    numbers = [name for name in names if name not in one.categorical]
    baseline = deviations(one, "data")
    return Suggestion(
        steps,
        tuple(float(np.sqrt(1.0 + each**2) - 1.0) for each in steps),
        {
            name: tuple(_floor(one.distribution_at("attributes", name, each).largest) for each in steps)
            for name in numbers
        },
        {name: float(baseline[name]) for name in numbers if name in baseline},
        leak.people.library,
    )


def _floor(eta: float) -> float:
    return 1.0 / eta if eta > 0 else inf
