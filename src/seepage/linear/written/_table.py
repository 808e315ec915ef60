"""A fitted model written down: what it is, and its coefficients by name."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from seepage._near import did_you_mean
from seepage._python import tomllib
from seepage._tables import Column, Data
from seepage._toml import from_toml
from seepage._writing import write_file
from seepage.errors import InputError, UnsupportedError
from seepage.execution.storage import Files
from seepage.linear.written._assembled import Assembled, AssembledInFiles, assembled, assembled_in_files
from seepage.linear.written._compared import settled
from seepage.linear.written._families import COX, family_of, link_of
from seepage.linear.written._formula import ParsedFormula
from seepage.linear.written._of import keys_of
from seepage.linear.written._penalties import Glmnet
from seepage.linear.written._printed import read_printed
from seepage.linear.written._roles import WrittenRoles
from seepage.linear.written._terms import Known
from seepage.linear.written._toml import text_of

EXAMPLE = """\
family = "binomial"
link = "logit"
outcome = "ill"

[coefficients]
"(Intercept)" = -2.3051714286309471
age = 0.041239087512357194
wardnorth = 0.33471208345716923
"log(dose)" = 0.91203475923847562
"""
# What each key holds.
_TEXTS = ("family", "link", "time", "status", "ties", "weights", "offset", "exposure")
_NUMBERS = ("parameter", "link_parameter", "penalty")
_OF_COX = ("time", "status", "ties", "strata")
_NOT_OF_COX = ("link", "parameter", "link_parameter", "outcome", "success", "offset", "exposure")


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelTable:
    """A fitted model as a table: from R or Stata, or by hand.

    It names its columns, outcome and weights, and finds them in a data frame: ``seepage.measure(table, people,
    noise_scale=...)``. Whether the coefficients are those of the frame is checked by fitting again. Rows with a missing
    value in one of its columns are left out, as R and Stata leave them out when they fit.

    Parameters
    ----------
    family : str
        "gaussian", "binomial", "poisson", "gamma", "inverse gaussian", "negative binomial", "tweedie", or "cox"; names
        of R and Stata are known too.
    coefficients : mapping from str to float, or to a mapping from level to float
        By the names that R gives them ("(Intercept)", "age", "wardnorth", "log(dose)", "I(age^2)", "age:sexmale"), or
        Stata or patsy. A category may also be a mapping: ``{"ward": {"north": 0.3, "south": -0.1}}``; the level that
        has none is the base. Without an intercept there is none. Rounded ones are a checksum: measured is the fit to
        the rows that rounds to them.
    formula : str
        Instead of coefficients: "ill ~ age + log(dose) + ward", as R writes it; the model is fitted to the rows. The
        outcome may be cbind(successes, failures) or Surv(time, status), and terms strata(site) or offset(exposed).
    link : str, optional
        As `seepage.models.GLM` or R calls it; the family's own by default.
    parameter, link_parameter : float, optional
        As of `seepage.models.GLM`.
    outcome : str or pair of str
        The column of the outcome; for counts of a binomial model, those of successes and of failures.
    success : optional
        Which of two outcomes counts as one; the last in order by default.
    time, status : str
        The columns of a Cox model's times, and of whether there was an event (true or false, 1 or 0, or R's 2 or 1).
        Without a status everybody has one.
    ties : {"efron", "breslow"}, optional
        How events of a Cox model at the same time are counted: "efron" by default, and "breslow" for glmnet.
    strata : str or sequence of str, optional
        Columns of a Cox model's strata.
    weights : str, optional
        The column of weights that each row's log likelihood was multiplied by.
    offset, exposure : str, optional
        A column that is added to the margin, or whose logarithm is.
    penalty : float, default=0.0
        The factor on half of each squared coefficient, beside the sum of losses.
    glmnet : mapping, optional
        Instead of a penalty: "lambda", "alpha" (0) and "standardize" (True by default), as glmnet was given them.

    Examples
    --------
    >>> import pandas as pd, seepage
    >>> people = pd.DataFrame({"dose": [1.0, 2.0, 3.0, 4.0], "ward": [*"abab"], "pain": [2.0, 5.0, 7.0, 7.0]})
    >>> table = seepage.models.ModelTable(
    ...     family="gaussian", outcome="pain", coefficients={"(Intercept)": 1.0, "dose": 1.75, "wardb": -0.25}
    ... )
    >>> seepage.measure(table, people, noise_scale=0.5)
    Leakage(4 people, 3 private attributes, exact)
    """

    family: str
    coefficients: Mapping[str, float | Mapping[str, float]] = field(default_factory=dict)
    formula: str | None = None
    link: str | None = None
    parameter: float = 1.0
    link_parameter: float | None = None
    outcome: str | Sequence[str] | None = None
    success: object = None
    time: str | None = None
    status: str | None = None
    ties: str | None = None
    strata: str | Sequence[str] = ()
    weights: str | None = None
    offset: str | None = None
    exposure: str | None = None
    penalty: float = 0.0
    glmnet: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        self._read_formula()
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name} must be text, not {value!r}.")
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and not _is_number(value):
                raise InputError(f"{name} must be a number, not {value!r}.")
        for name in ("outcome", "strata"):
            value = getattr(self, name)
            listed = [value] if isinstance(value, str) else [] if value is None else value
            if not isinstance(listed, list | tuple) or not all(isinstance(each, str) for each in listed):
                raise InputError(f"{name} must be the name of a column, or a list of names, not {value!r}.")
        if self.penalty < 0:
            raise InputError(f"penalty must be at least 0, not {self.penalty!r}.")
        is_cox = family_of(self.family) == COX
        if self.parameter != 1.0 and family_of(self.family) not in ("negative binomial", "tweedie"):
            raise InputError(f"parameter is {self.parameter!r}, and family {self.family!r} has none: leave it out.")
        kind, others = ("cox", _NOT_OF_COX) if is_cox else ("a family of generalized linear models", _OF_COX)
        defaults = {field.name: field.default for field in fields(self)}
        for name in others:
            if getattr(self, name) != defaults[name]:
                wanted = "time and status" if is_cox else "outcome"
                raise InputError(f"family is {kind}, which has no {name}: it has {wanted}.")
        missing = "time" if is_cox and self.time is None else "outcome" if not is_cox and self.outcome is None else None
        if missing is not None:
            raise InputError(f"{missing} is missing: which column holds it?")
        if self.link is not None:
            link_of(self.link, self.link_parameter)
        elif self.link_parameter is not None:
            raise InputError("link_parameter belongs to a link; which one is missing.")
        if self.ties not in (None, "efron", "breslow"):
            raise InputError(
                f'ties is {self.ties!r}. Those that are measured: "efron" (R\'s default) and "breslow" (Stata\'s).'
            )
        if self.penalty and self.glmnet is not None:
            raise InputError("penalty and glmnet are two ways to say one thing: leave one out.")
        if self.glmnet is not None:
            Glmnet.of(self.glmnet)
        if not list(self.named()) and self.formula is None:
            raise InputError("There is no coefficient: write each below [coefficients], by its name, or a formula.")

    def _read_formula(self) -> None:
        """Take from a formula what stands in it."""
        if self.formula is None:
            return
        if not isinstance(self.formula, str):
            raise InputError(f"formula must be text, not {self.formula!r}.")
        if self.coefficients:
            raise InputError("coefficients and formula are two ways to say one thing: leave one out.")
        parsed, defaults = ParsedFormula.of(self.formula), {each.name: each.default for each in fields(self)}
        outcome = parsed.outcome[0] if len(parsed.outcome) == 1 else parsed.outcome
        found: dict[str, object] = {
            "outcome": outcome if parsed.time is None else None,
            **{name: getattr(parsed, name) for name in ("time", "status", "strata", "offset")},
        }
        for name, value in found.items():
            given = getattr(self, name)
            if given not in (defaults[name], value) and tuple(given) != value:
                raise InputError(f"{name} stands in the formula {self.formula!r}: leave it out.")
            object.__setattr__(self, name, value)

    @classmethod
    def read(cls, path: str | os.PathLike[str], **beside: Any) -> "ModelTable":
        """Read a model from a TOML file, whose keys are the parameters of this class, or from a CSV of coefficients.

        Parameters
        ----------
        path : path
            Of the file. See the page "From R and Stata" for the lines of R and Stata that write one.
        **beside
            Parameters of this class that do not stand in the file. A CSV has coefficients alone:
            ``ModelTable.read("model.csv", family="binomial", outcome="ill")``.
        """
        path = Path(path)
        printed = path.suffix.lower() == ".csv"
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise InputError(f"There is no file {path}.") from None
        except (OSError, UnicodeDecodeError) as reason:
            said = reason.strerror if isinstance(reason, OSError) else "it is not UTF-8"
            raise InputError(f"{path} cannot be read: {said}.") from None
        try:
            found = {"coefficients": read_printed(path, text).coefficients} if printed else from_toml(text)
        except tomllib.TOMLDecodeError as reason:
            raise InputError(
                f"{path} is not TOML: {_why(reason, text)} A model looks like this:\n\n{EXAMPLE}"
            ) from None
        known = [field.name for field in fields(cls)]
        if both := [name for name in beside if name in found]:
            raise InputError(f"{path} says {both[0]} itself: leave it out.")
        found |= beside
        if printed and "family" not in found:
            raise InputError(
                f'{path} has coefficients alone. Say of what: family="binomial", outcome="ill"; or on the '
                "command line --family binomial --target ill."
            )
        for name in found:
            if name not in known:
                raise InputError(
                    f"{path} sets {name!r}, which no model has. {did_you_mean(name, known)}A model has "
                    f"{', '.join(known)}."
                )
        for names in (("family",), ("coefficients", "formula")):
            if not set(names) & set(found):
                raise InputError(f"{path} has no {names[0]}. A model looks like this:\n\n{EXAMPLE}")
        try:
            return cls(**found)
        except (InputError, UnsupportedError) as reason:
            raise type(reason)(f"{path}: {reason}") from None

    @classmethod
    def of(
        cls,
        results: Any,
        *,
        outcome: str | None = None,
        weights: str | None = None,
        offset: str | None = None,
        exposure: str | None = None,
    ) -> "ModelTable":
        """Return a fitted model of statsmodels or lifelines as a table, to be written for the command line.

        Parameters
        ----------
        results : results of statsmodels, or CoxPHFitter of lifelines
            Of GLM, OLS, WLS, Logit, Probit or Poisson, with a formula or without; or a Cox model.
        outcome, weights, offset, exposure : str, optional
            What the columns are called. Results of statsmodels know the outcome's name if they were given one, and of
            the others the numbers alone.

        Examples
        --------
        >>> import pandas as pd, seepage, statsmodels.formula.api as smf
        >>> people = pd.DataFrame({"dose": [1.0, 2.0, 3.0, 4.0], "pain": [2.0, 5.0, 7.0, 7.0]})
        >>> table = seepage.models.ModelTable.of(smf.ols("pain ~ dose", people).fit())
        >>> table.outcome, list(table.coefficients)
        ('pain', ['Intercept', 'dose'])
        """
        columns = {"outcome": outcome, "weights": weights, "offset": offset, "exposure": exposure}
        return cls(**keys_of(results, columns))  # type: ignore[arg-type]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a TOML file, which `read` and the command line take; its owner alone can read it.

        Parameters
        ----------
        path : path
            Such as "model.toml". Coefficients without noise are as private as the rows.
        """
        write_file(path, text_of(self), private=True)

    def named(self) -> Iterator[tuple[str, str | None, float]]:
        """Yield each coefficient: its name, the level if it stands below its column, and the number."""
        if not isinstance(self.coefficients, Mapping):
            raise InputError(f"coefficients must be a table of numbers by name, not {self.coefficients!r}.")
        for name, value in self.coefficients.items():
            inner = value if isinstance(value, Mapping) else {None: value}
            for level, number in inner.items():
                called = name if level is None else f"{name} = {level}"
                if not _is_number(number):
                    raise InputError(
                        f"The coefficient {called!r} is {number!r}, which is no number. A name with dots or other "
                        'signs stands in quotes: "blood.pressure" = 0.1'
                    )
                if not np.isfinite(number):
                    raise InputError(
                        f"The coefficient {called!r} is {number}. R writes NA for a column that is a combination of "
                        "others: fit without that column."
                    )
                yield name, None if level is None else str(level), float(number)

    @property
    def decimals(self) -> int | None:
        """The most decimals that a coefficient was written with; None if none was written."""
        found = [max(-int(Decimal(repr(number)).as_tuple().exponent), 0) for _, _, number in self.named()]
        return max(found) if found else None

    @cached_property
    def roles(self) -> WrittenRoles:
        """Which columns are what."""
        is_cox = family_of(self.family) == COX
        outcome = (self.outcome,) if isinstance(self.outcome, str) else tuple(self.outcome or ())
        strata = (self.strata,) if isinstance(self.strata, str) else tuple(self.strata)
        link = (None, 1.0) if self.link is None else link_of(self.link, self.link_parameter)
        ties = self.ties or ("efron" if self.glmnet is None else "breslow")
        return WrittenRoles(
            family=family_of(self.family),
            link=link,
            parameter=float(self.parameter),
            outcome=tuple(str(name) for name in ((self.status, self.time) if is_cox else outcome) if name is not None),
            success=self.success,
            time=self.time,
            status=self.status,
            ties=ties,
            strata=tuple(map(str, strata)),
            weights=self.weights,
            offset=self.offset,
            exposure=self.exposure,
            penalty=float(self.penalty),
            glmnet=None if self.glmnet is None else Glmnet.of(self.glmnet),
            coefficients=tuple(self.named()),
            formula=None if self.formula is None else ParsedFormula.of(self.formula),
        )

    def columns(self, names: Sequence[str], column: Callable[[str], Column]) -> list[str]:
        """Return the columns that the model takes, outcome and weights included.

        Parameters
        ----------
        names : sequence of str
            The columns that there are.
        column : callable
            Returns the values of one: they tell where the name of a column ends and that of a level begins.
        """
        known = Known(names, column, lambda name: column(name).dtype.kind in "iufb")
        others = self.roles.check(known)
        return list(dict.fromkeys([*(name for term in self.roles.terms(known) for name in term.columns), *others]))

    def on(self, people: Data) -> Assembled:
        """Return the model with the rows that it was fitted on, as other functions of this library take them.

        Parameters
        ----------
        people : data frame
            All columns that the model names.

        Returns
        -------
        Assembled
            `model`, `X`, `y`, `sample_weight` and `offset`: an estimator, alone or behind steps of scikit-learn, and
            the rows without missing values; `kept` says which these are.
        """
        return settled(assembled(self.roles, people), written=self.formula is None)

    def over(self, files: Data, filesystem: object = None) -> AssembledInFiles:
        """Return the model for rows in Parquet files: `model`, `target` and `sample_weight`, as `measure` takes them.

        Parameters
        ----------
        files : paths
            As for `seepage.measure`.
        filesystem : pyarrow.fs.FileSystem, optional
            Where they are; found from a URI by default.
        """
        return assembled_in_files(self.roles, Files.of(files, filesystem))  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _why(reason: Exception, text: str) -> str:
    """Return what is wrong with a text that is not TOML, and what R or a hand often does to it."""
    lines = text.splitlines()
    place = next((int(word) for word in str(reason).replace(",", " ").split() if word.isdigit()), 0)
    if not 0 < place <= len(lines):
        return f"{reason}."
    line = lines[place - 1].strip()
    if line.endswith(("= NA", "= NaN", "= Inf", "= -Inf")):
        return f"{line!r}. R writes that for a column that is a combination of others: fit without that column."
    if "=" in line and "," in line.partition("=")[2]:
        return f"{reason}: {line[:80]!r}. Numbers have a decimal point, not a comma."
    return f"{reason}: {line[:80]!r}. Names with anything but letters, digits, - and _ stand in quotes."
