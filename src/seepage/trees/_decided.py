"""What an output checker is told of a model of trees: one word, and why."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from seepage._tables import Table
from seepage.errors import SeepageError
from seepage.trees._leakage import TreeLeakage

Word = Literal["pass", "review", "fail"]
_WORST: Final[tuple[Word, ...]] = ("pass", "review", "fail")
# The fewest different people in a leaf, and the most independent equations for each person, unless others are stated.
_THRESHOLD, _EQUATIONS = 10, 0.05
# People up to whom smaller models are tried.
_TRIED: Final = 5_000


def decided(leak: TreeLeakage, says: Mapping[str, Any]) -> tuple[Word, tuple[str, ...]]:
    """Return whether a model may be published, and the reasons.

    Parameters
    ----------
    leak : TreeLeakage
    says : mapping
        order: "not known" if nobody outside knows the order of the training table; threshold: the fewest people in a
        leaf; equations: the most independent equations for each person.
    """
    found = list(_findings(leak, says))
    word: Word = max((each for each, _ in found), key=_WORST.index, default=_WORST[0])
    reasons = [sentence for _, sentence in found] or ["Nothing was found by these attacks. That is not a promise."]
    if word == "fail":
        reasons.append(_remedy(leak, len(leak.fitted.y)))
    return word, tuple(reasons)


def _findings(leak: TreeLeakage, says: Mapping[str, Any]) -> Iterator[tuple[Word, str]]:
    threshold, most = says.get("threshold", _THRESHOLD), says.get("equations", _EQUATIONS)
    leaves, found = leak.leaves(), leak.determined()
    determined, looked_at = int(np.sum(found["determined"])), len(found)
    unsettled = int(np.isnan(np.asarray(found["projection"])).sum())
    if unsettled:
        yield "review", f"{unsettled:,} of {looked_at:,} people are not checked: the iteration did not converge."
    known = leak.draws and says.get("order") == "not known"
    if determined:
        who = "knows everybody's covariates" + (" and the order of the training table" if leak.draws else "")
        sentence = (
            f"The outcome of {determined:,} of {looked_at:,} people looked at comes back exactly to whoever {who}."
        )
        yield ("review" if known else "fail"), sentence
    fewest, pure = int(np.min(leaves["people"])), int(np.sum(leaves["pure"]))
    if fewest < threshold:
        yield "fail", f"A leaf is about {fewest:,} different people, fewer than {threshold}."
    if pure:
        yield "fail", f"In {pure:,} leaves everybody has the same outcome."
    if not leak.equations_per_person <= most:
        yield "review", _many(leak.equations_per_person, most)
    try:
        beside = len(leak.thresholds())
    except SeepageError as reason:
        yield "review", f"Thresholds: {str(reason).splitlines()[-1]}"
    else:
        if beside:
            yield (
                "review",
                f"{beside:,} values stand alone beside a threshold, which gives them away to their neighbor.",
            )
    if leak.draws:
        yield "review", "The file holds the seed by which each tree drew its rows."


def _many(equations: float, most: float) -> str:
    if np.isnan(equations):
        return "How many independent equations the leaves are is not known: there are too many people to count them."
    return f"The leaves are {equations:.2f} independent equations for each person, more than {most:g}."


def _remedy(leak: TreeLeakage, people: int) -> str:
    nothing = "Ask for fewer trees and larger leaves, and hand the new file in."
    if people > _TRIED or isinstance(leak.fitted.model, Path):
        return nothing
    tried = Table.of(leak.remedies())
    for change, left, equations, score in zip(
        *map(tried.column, ("change", "determined", "equations", "accuracy")), strict=True
    ):
        if left == 0 and change != "as it is":
            return (
                f"Tried: with {change} no outcome comes back exactly ({equations:.2f} equations for each person, "
                f"accuracy {score:.2f} in five folds). Fit it so, and hand the new file in."
            )
    return nothing
