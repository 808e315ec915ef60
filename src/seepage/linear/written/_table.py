"""A model as tables of R, Stata and others have it: a formula, a family, and printed numbers."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from seepage._near import did_you_mean
from seepage._python import tomllib
from seepage._tables import Data
from seepage._toml import from_toml
from seepage.errors import InputError, SeepageError
from seepage.linear.written._assembled import AssembledTable, assembled
from seepage.linear.written._families import COX, family_of, link_of
from seepage.linear.written._formula import TableFormula
from seepage.linear.written._penalties import Glmnet
from seepage.linear.written._printed import PrintedTable, read_text

EXAMPLE = """\
formula = "ill ~ age + log(dose) + ward"
family = "binomial"
numbers = "june.csv"
"""
_TEXTS = ("formula", "family", "link", "ties", "weights", "numbers")
_NUMBERS = ("parameter", "link_parameter", "penalty")


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelTable:
    """A regression of R, Stata or another program: a formula, a family, and the numbers that were printed.

    The model is fitted again to the people: ``seepage.measure(table, people, noise_scale=...)``. Printed numbers are
    compared with that fit. Rows with a missing value in one of its columns are left out, as R and Stata leave them out.

    Parameters
    ----------
    formula : str
        "ill ~ age + log(dose) + ward", as R writes it. The outcome may be cbind(successes, failures) or Surv(time,
        status), and terms strata(site) or offset(exposed). A category has a coefficient for each of its values but the
        first: C(ward, Treatment("north")) or relevel(ward, "north") compares with another one, and C(ward, Sum) with
        the mean of all, as effect coding of SAS.
    family : str
        "gaussian", "binomial", "poisson", "gamma", "inverse gaussian", "negative binomial", "tweedie", or "cox"; names
        of R and Stata are known too.
    numbers : path, optional
        The table as it was printed, as CSV. Its numbers may be rounded; columns may be in any order.
    link : str, optional
        As `seepage.models.GLM` or R calls it; the family's own by default.
    parameter, link_parameter : float, optional
        As of `seepage.models.GLM`.
    success : optional
        Which of two outcomes counts as one; the last in order by default.
    ties : {"efron", "breslow"}, optional
        How events of a Cox model at the same time are counted: "efron" by default, and "breslow" for glmnet.
    weights : str, optional
        The column of weights that each row's log likelihood was multiplied by.
    penalty : float, default=0.0
        The factor on half of each squared coefficient, beside the sum of losses.
    glmnet : mapping, optional
        Instead of a penalty: "lambda", "alpha" (0) and "standardize" (True by default), as glmnet was given them.

    Examples
    --------
    >>> import pandas as pd, seepage
    >>> people = pd.DataFrame({"dose": [1.0, 2.0, 3.0, 4.0], "ward": [*"abab"], "pain": [2.0, 5.0, 7.0, 7.0]})
    >>> table = seepage.models.ModelTable(formula="pain ~ dose + ward", family="gaussian")
    >>> seepage.measure(table, people, noise_scale=0.5)
    Leakage(4 people, 3 private attributes, exact)
    """

    formula: str
    family: str
    numbers: str | os.PathLike[str] | None = None
    link: str | None = None
    parameter: float = 1.0
    link_parameter: float | None = None
    success: object = None
    ties: str | None = None
    weights: str | None = None
    penalty: float = 0.0
    glmnet: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str | os.PathLike):
                raise InputError(f"{name} must be text, not {value!r}.")
        for name in _NUMBERS:
            value = getattr(self, name)
            is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if value is not None and not is_number:
                raise InputError(f"{name} must be a number, not {value!r}.")
        object.__setattr__(self, "family", family_of(self.family))
        is_cox = self.family == COX
        if is_cox != (self.parsed.time is not None):
            raise InputError('A Cox model has a time: formula="Surv(time, status) ~ age" and family="cox".')
        if self.penalty < 0:
            raise InputError(f"penalty must be at least 0, not {self.penalty!r}.")
        if self.penalty and self.glmnet is not None:
            raise InputError("penalty and glmnet are two ways to say one thing: leave one out.")
        if self.parameter != 1.0 and self.family not in ("negative binomial", "tweedie"):
            raise InputError(f"parameter is {self.parameter!r}, and family {self.family!r} has none: leave it out.")
        strange = ("link", "link_parameter", "success") if is_cox else ("ties",)
        for name in strange:
            if getattr(self, name) is not None:
                raise InputError(f"The family {self.family!r} has no {name}: leave it out.")
        if not is_cox and self.parsed.strata:
            raise InputError(f"The family {self.family!r} has no strata: take the column as a category.")
        if self.link is None and self.link_parameter is not None:
            raise InputError("link_parameter belongs to a link; which one is missing.")
        if self.ties not in (None, "efron", "breslow"):
            raise InputError(
                f'ties is {self.ties!r}. Those that are measured: "efron" (R\'s default) and "breslow" (Stata\'s).'
            )
        self.named_link, self.shrinkage, self.printed  # noqa: B018

    @classmethod
    def read(cls, path: str | os.PathLike[str], **settings: Any) -> "ModelTable":
        """Read a table as it was printed (CSV), or a TOML file whose keys are the parameters of this class.

        Parameters
        ----------
        path : path
            "june.csv", which needs a formula and a family besides; or "june.toml", which names its numbers itself.
        **settings
            Parameters of this class: ``ModelTable.read("june.csv", formula="ill ~ age", family="binomial")``.
        """
        path, known = Path(path), [field.name for field in fields(cls)]
        if path.suffix.lower() == ".toml":
            text = read_text(path)
            try:
                keys = from_toml(text)
            except tomllib.TOMLDecodeError as reason:
                raise InputError(f"{path} is not TOML: {reason}. A model looks like this:\n\n{EXAMPLE}") from None
            if both := [name for name in settings if name in keys]:
                raise InputError(f"{path} says {both[0]} itself: leave it out.")
            if isinstance(keys.get("numbers"), str):
                keys["numbers"] = path.parent / keys["numbers"]
        else:
            keys = {"numbers": path}
        keys |= settings
        for name in keys:
            if name not in known:
                raise InputError(
                    f"{path} sets {name!r}, which no model has. {did_you_mean(name, known)}A model has "
                    f"{', '.join(known)}."
                )
        for name in ("formula", "family"):
            if name not in keys:
                raise InputError(f"{path} has no {name}. A model looks like this:\n\n{EXAMPLE}")
        try:
            return cls(**keys)
        except SeepageError as reason:
            text = str(reason)
            raise type(reason)(text if text.startswith(str(path)) else f"{path}: {text}") from None

    @cached_property
    def parsed(self) -> TableFormula:
        """The formula, taken apart."""
        return TableFormula.of(self.formula)

    @cached_property
    def printed(self) -> PrintedTable | None:
        """The numbers that were printed."""
        return None if self.numbers is None else PrintedTable.read(Path(self.numbers))

    @cached_property
    def named_link(self) -> tuple[str | None, float]:
        """The link with its parameter; None for the family's own."""
        return (None, 1.0) if self.link is None else link_of(self.link, self.link_parameter)

    @cached_property
    def shrinkage(self) -> Glmnet | None:
        """The penalty of glmnet."""
        return None if self.glmnet is None else Glmnet.of(self.glmnet)

    @property
    def outcome(self) -> tuple[str, ...]:
        """The columns of the outcome; of a Cox model the status, if there is one, and the time."""
        return self.parsed.outcome

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the columns that the model takes, outcome and weights included; refuse others than these."""
        if self.weights is not None and self.weights not in names:
            raise InputError(
                f"weights is {self.weights!r}, which is no column of the rows. {did_you_mean(self.weights, names)}"
            )
        return list(dict.fromkeys([*self.parsed.used(names), *([] if self.weights is None else [self.weights])]))

    def on(self, people: Data) -> AssembledTable:
        """Return the model fitted to people, with their rows, as other functions of this library take them.

        Parameters
        ----------
        people : data frame
            All columns that the model names.

        Returns
        -------
        AssembledTable
            `model`, `X`, `y`, `sample_weight` and `offset`: an estimator behind its formula, and the rows without
            missing values; `kept` says which these are, and `comparison` how the printed numbers match.
        """
        return assembled(self, people)
