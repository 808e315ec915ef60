"""Data-dependent choices before publication: each is accounted for, declared public, or refused.

A formula holds for what it takes as given. Whatever the rows decided and a formula takes for a constant is a way around
it: an attacker who knows everybody else reruns the procedure with each value that one person could have, and compares.
So there is one list of such choices, and what leaves (the model, its certificate, a page for everybody) is written from
it. What is not on the list is refused.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from seepage._facts import Assumption
from seepage.errors import UnsupportedError

Status = Literal["counted", "declared", "refused"]

KINDS = {
    "scale": "how much noise there is",
    "shape": "how the noise is spread over the parameters",
    "penalty": "how strong the penalty is",
    "weights": "what each row weighs",
    "classes": "which classes there are",
    "levels": "which levels a category has",
    "groups": "who is in the data, and in which group",
    "kept columns": "which columns the model uses",
    "missing cells": "which cells are missing",
    "filled cells": "what is filled in where a cell is missing",
    "means": "means and standard deviations of columns",
    "medians": "medians and quantiles of columns",
    "extremes": "smallest and largest values of columns",
    "constants": "what another step learned",
    "publication": "that anything was published at all",
}
"""Everything between the rows and what leaves that rows can decide, in words."""


@dataclass(frozen=True)
class Choice:
    """Something between the rows and what leaves that the rows decided, or could have decided.

    Attributes
    ----------
    kind : str
        What it is about, one of a fixed list.
    what : str
        What was chosen, in words.
    status : {"counted", "declared", "refused"}
        Counted in what is promised, declared public by whoever publishes, or refused.
    how : str
        How it is counted and what its share is, who declared it, or why it is refused, in a sentence.
    """

    kind: str
    what: str
    status: Status
    how: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS and self.status != "refused":
            raise ValueError(f"{self.kind!r} is no kind of choice that anybody classified")

    def sentence(self) -> str:
        """Return it in words."""
        return f"{self.what[:1].upper()}{self.what[1:]}: {self.status}. {self.how}"


class _Rule(NamedTuple):
    kind: str
    what: str
    status: Status
    how: str


_KNOWN = "Taken as known to the attacker."
_RULES = {
    "shape": _Rule(
        "shape",
        "how the noise is spread over the parameters",
        "counted",
        "The covariance is made from the rows, and what it tells is part of everybody's numbers; that part does not "
        "shrink with the noise.",
    ),
    "penalty": _Rule(
        "penalty",
        "how strong the penalty is",
        "refused",
        "A search chose it with these rows, and what the choice tells is not counted. If everybody may know it, say "
        "so: seepage.publish(..., public_penalty=True) (on the command line, --public-penalty). For a page, fit the "
        "model once more with that penalty given, and measure that.",
    ),
    "given penalty": _Rule(
        "penalty",
        "how strong the penalty is",
        "declared",
        "Given when the model was fitted, and taken as known. What its choice tells, if rows made it, is not counted.",
    ),
    "penalty of the outcome": _Rule(
        "penalty",
        "how strong the penalty is, in units of the outcome's standard deviation",
        "refused",
        "glmnet divides lambda by the standard deviation of these outcomes, and what that tells is not counted. If "
        "everybody may know it, say so: seepage.publish(..., public_penalty=True) (on the command line, "
        "--public-penalty).",
    ),
    "penalty units": _Rule(
        "penalty",
        "how strong the penalty is, in units of the columns' standard deviations",
        "counted",
        "That it moves with the rows is part of everybody's numbers.",
    ),
    "class weights": _Rule(
        "weights",
        "what each class weighs",
        "counted",
        "Weights that follow the labels are counted in the success rates of the label, which are of refits with the "
        "weights that go with another label. Those that were given are public.",
    ),
    "active set": _Rule(
        "kept columns",
        "which coefficients are zero",
        "refused",
        "The L1 penalty chose it by the rows, and what is known of whom tells it without noise. Fit with an L2 penalty "
        "on columns that were chosen beforehand.",
    ),
    "people": _Rule("groups", "who is in the data", "declared", "The filter was given; who passes it is known."),
    "strata": _Rule("groups", "who is in which stratum", "declared", _KNOWN),
    "left out": _Rule(
        "missing cells",
        "which rows were left out because a value is missing",
        "declared",
        _KNOWN,
    ),
    "imputation": _Rule("missing cells", "which cells are missing", "declared", _KNOWN),
    "missing": _Rule("missing cells", "which cells are missing", "declared", _KNOWN),
    "raw units": _Rule(
        "means",
        "what scalers and imputers took from these rows",
        "counted",
        "None of this is published, and how it moves with the rows is part of everybody's numbers.",
    ),
    "means": _Rule(
        "means",
        "the means that are taken away before a model without an intercept",
        "declared",
        "Taken as public: there is no intercept that would carry their noise.",
    ),
    "preprocessing": _Rule(
        "constants", "what steps before the model learned elsewhere", "declared", "Taken as public, not measured."
    ),
    "equations": _Rule(
        "constants",
        "which equations are solved, and the constants in them",
        "declared",
        "Taken as written down without these rows. Constants in them that the rows made are not counted.",
    ),
    "filled": _Rule("filled cells", "what fills in missing cells", "declared", "Given, not taken from these rows."),
}
"""For each kind of assumption that is about a choice of the rows, which one, and what becomes of it."""

ABOUT_STEPS = frozenset({"raw units", "means", "preprocessing", "filled"})
"""Assumptions about steps before a model, for whoever knows the steps one by one."""

# Assumptions about attackers, numbers and formulas: the rows chose nothing there.
_NO_CHOICE = frozenset(
    {
        "accounting",
        "attacker",
        "augmentation",
        "averages",
        "baseline",
        "bound",
        "categories",
        "choice",
        "composed bound",
        "composition",
        "counts",
        "digits",
        "drawn",
        "dropout",
        "embedding",
        "epsilon",
        "estimate",
        "eta",
        "follow-up",
        "groups",
        "input norm",
        "kinks",
        "label",
        "largest",
        "least norm",
        "minimizer",
        "neighbors",
        "not published",
        "offset",
        "overflow",
        "precision",
        "public columns",
        "records",
        "refits",
        "release",
        "rounding",
        "sampling",
        "scatter",
        "secret noise",
        "sensitivity",
        "snapshot",
        "support",
        "unanswered",
        "unfinished",
        "values",
        "without slope",
        "written",
    }
)


def is_choice(assumption: Assumption) -> bool:
    """Return whether an assumption is about a choice of the rows."""
    return assumption.kind in _RULES


def choices_in(assumptions: Iterable[Assumption]) -> Iterator[Choice]:
    """Yield the choices of the rows that a measurement takes for granted; what nobody classified is refused."""
    for kind in dict.fromkeys(one.kind for one in assumptions):
        if kind in _RULES:
            yield Choice(*_RULES[kind])
        elif kind not in _NO_CHOICE:
            yield Choice(
                kind,
                f"{kind!r}, which a measurement takes for granted",
                "refused",
                "Nobody said whether the rows decide it, so what it tells may not be counted.",
            )


def scale_choice(*, without_data: bool) -> Choice:
    """Return the choice of the scale: fixed without the data, or by them on a grid, uncounted."""
    if without_data:
        how = "Chosen without looking at the data, says whoever published this."
    else:
        how = (
            "The scale is on a grid that was fixed beforehand: 1, 2 and 5 times powers of ten. The choice of the scale "
            "is not counted: if the rows decided which step of the grid it is, or which rule spreads the noise, that "
            "tells something about whoever is most exposed."
        )
    return Choice("scale", KINDS["scale"], "declared", how)


def publication_choice(*, judged: bool) -> Choice:
    """Return that something was published at all, which a verdict about the rows decides if there are targets."""
    how = "No target was set, so no verdict about the rows decided it."
    if judged:
        how = (
            "A release that misses a target is not published, and that this one was tells that it meets them. What "
            "that tells is not counted."
        )
    return Choice("publication", KINDS["publication"], "declared", how)


def check_choices(choices: Iterable[Choice], about: str) -> None:
    """Refuse to let something leave if a choice is neither counted nor declared.

    Parameters
    ----------
    choices : iterable of Choice
    about : str
        What would leave, such as "Nothing was published".
    """
    refused = [one for one in choices if one.status == "refused"]
    if refused:
        raise UnsupportedError("\n".join([f"{about}:", *(f"- {one.sentence()}" for one in refused)]))
