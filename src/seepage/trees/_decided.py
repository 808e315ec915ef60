"""Verdict of an output checker on a model of trees, with its reasons."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import numpy as np

from seepage._tables import Table
from seepage.errors import SeepageError
from seepage.trees._leakage import TreeLeakage

Word = Literal["pass", "review", "fail"]
_WORST: Final[tuple[Word, ...]] = ("pass", "review", "fail")
# Unless stated: the smallest number of different people in a leaf, and the largest number of equations for each person.
_THRESHOLD, _EQUATIONS = 10, 0.05
# Smaller models are tried up to this number of people.
_TRIED: Final = 5_000
# An attack whose error is above this share of an outside model's gives away little more than that model.
_LITTLE: Final = 0.9


def decided(leak: TreeLeakage, says: Mapping[str, Any]) -> tuple[Word, tuple[str, ...]]:
    """Return the verdict on publishing a model, and the reasons.

    Parameters
    ----------
    leak : TreeLeakage
    says : mapping
        order: "not known" if attackers do not know the order of the training table; threshold: the smallest number of
        people in a leaf; equations: the largest number of independent equations for each person.
    """
    findings = list(_findings(leak, says))
    word: Word = max((word for word, _ in findings), key=_WORST.index, default=_WORST[0])
    reasons = [sentence for _, sentence in findings] or ["These attacks found nothing. That is not a guarantee."]
    if word == "fail":
        reasons.append(_remedy(leak))
    return word, tuple(reasons)


def _findings(leak: TreeLeakage, says: Mapping[str, Any]) -> Iterator[tuple[Word, str]]:
    threshold, limit = says.get("threshold", _THRESHOLD), says.get("equations", _EQUATIONS)
    yield from _of_outcomes(leak, "review" if leak.draws and says.get("order") == "not known" else "fail")
    leaves, equations = Table.of(leak.leaves()), leak.equations_per_person
    smallest, pure = leaves.column("people").min(), leaves.column("pure").sum()
    if smallest < threshold:
        some = "1 person" if smallest == 1 else f"{smallest:,} different people"
        yield "fail", f"The smallest leaf has {some}, fewer than {threshold}."
    if pure:
        yield "fail", f"In {pure:,} leaves all people have the same outcome."
    if np.isnan(equations):
        yield "review", "The number of independent equations is not checked: there are too many people and leaves."
    elif equations > limit:
        yield "review", f"The leaves are {equations:.2f} independent equations per person, more than {limit:g}."
    try:
        count = len(leak.thresholds())
    except SeepageError as reason:
        yield "review", f"Thresholds: {str(reason).splitlines()[-1]}"
    else:
        if count:
            yield "review", f"{count:,} values follow from a threshold and the value of one other person."
    if leak.draws:
        yield "review", "The file holds the seed by which each tree drew its rows."


def _of_outcomes(leak: TreeLeakage, severity: Word) -> Iterator[tuple[Word, str]]:
    """Yield findings about outcomes, to an attacker who knows the covariates."""
    order = " and the order of the training table" if leak.draws else ""
    table = Table.of(leak.determined())
    exact, within = table.column("determined").astype(bool), table.column("within")
    close = leak.returned & ~exact
    for people, closeness in (
        (exact, "exactly"),
        (close, f"to within ±{np.max(within, where=close, initial=0):.2g}"),
    ):
        if people.any():
            yield (
                severity,
                f"An attacker who knows the covariates of all people{order} computes the outcome of "
                f"{people.sum():,} of {len(people):,} people {closeness}.",
            )
    unsettled = np.isnan(table.column("projection")).sum()
    if unsettled:
        yield "review", f"{unsettled:,} of {len(table):,} people are not checked: the iteration did not converge."
    recovered = leak.recovered()
    errors = np.array([recovered.attack, recovered.outside])
    error, outside = 1.0 - errors if recovered.measure == "share right" else errors
    if error < _LITTLE * outside:
        yield (severity if recovered.exact == 1.0 else "review"), str(recovered)


def _remedy(leak: TreeLeakage) -> str:
    nothing = "Ask for fewer trees and larger leaves, and check the new file."
    if len(leak.fitted.y) > _TRIED:
        return nothing
    try:
        tried = Table.of(leak.remedies())
    except (SeepageError, ValueError):
        # It cannot be fitted again as it is.
        return nothing
    columns = map(tried.column, ("change", "determined", "equations", "accuracy"))
    for change, share, equations, score in zip(*columns, strict=True):
        if share == 0 and change != "as it is":
            return (
                f"Tried: with {change} no outcome comes back ({equations:.2f} equations per person, accuracy "
                f"{score:.2f} in five folds). Fit it so, and check the new file."
            )
    return nothing
