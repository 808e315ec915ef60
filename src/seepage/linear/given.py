"""The doors of `measure` and `publish`: whatever a model came as, one estimator and the rows that it was fitted on."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._near import did_you_mean, several
from seepage._tables import Data, Listed, Model, Table, column_name
from seepage._where import kept
from seepage.attackers import Publishable, Tabular
from seepage.attackers.types import Known
from seepage.equations import GROUP, is_gee, read_gee
from seepage.errors import InputError, UnsupportedError
from seepage.leakage import Leakage
from seepage.leakage.types import By
from seepage.linear.files import are_paths
from seepage.linear.information import COEFFICIENTS, ERRORS, Fit, Fitted
from seepage.linear.results import SummaryErrors, is_results, taken_apart, with_steps
from seepage.linear.survival import SurvivalFit, is_survival
from seepage.linear.written import ModelTable


@dataclass(frozen=True, eq=False, kw_only=True)
class Given:
    """A model, and the rows in memory that it was fitted on."""

    model: Model
    X: Data
    y: Listed
    sample_weight: Listed = None
    offset: Listed = None
    ids: Listed = None
    groups: By = None
    label: str = "label"
    """What the outcome is called."""
    remarks: tuple[Assumption, ...] = ()
    """What is taken for granted besides what every model takes for granted."""
    decimals: int | None = None
    """With how many decimals the model was written down, if it was."""
    summary: SummaryErrors | None = None
    """Standard errors and dispersion, as another library prints them."""
    own_levels: bool = True
    """Whether the model has an encoder of its own that knows the levels of its categories."""

    @property
    def is_survival(self) -> bool:
        """Whether it is about times until an event."""
        return is_survival(self.model)

    def fitted(self) -> Fitted:
        """Return the model as others than `measure` ask for it."""
        if self.is_survival:
            return SurvivalFit.of(self.model, self.X, self.y, self.sample_weight)
        return Fit.of(self.model, self.X, self.y, self.sample_weight, self.offset)

    def remarked(self, leak: Leakage) -> Leakage:
        """Return a measurement that says what is taken for granted besides."""
        if not self.remarks:
            return leak
        found = leak.information
        return replace(leak, information=replace(found, assumptions=(*found.assumptions, *self.remarks)))


def given(
    model: Model,
    X: Data,
    y: Listed,
    *,
    sample_weight: Listed = None,
    offset: Listed = None,
    ids: Listed = None,
    groups: By = None,
    target: str | Sequence[str] | None = None,
    published: Sequence[str] | None = None,
    to_publish: bool = False,
) -> Given:
    """Return a model of any kind with its rows, which are in memory.

    Parameters
    ----------
    model : estimator, Pipeline, results of statsmodels, or ModelTable
    X, y, sample_weight, offset, ids, groups, target, published
        As `seepage.measure` takes them.
    to_publish : bool, default=False
        Whether to refuse what is measured and not published: terms that have no step of scikit-learn.
    """
    if isinstance(model, Publishable):
        return Given(model=model, X=X, y=y, sample_weight=sample_weight, offset=offset, ids=ids)
    if isinstance(model, Tabular):
        raise UnsupportedError(
            f"What {model.kind} gives away is measured without noise, and not published with noise and a certificate. "
            "Measure it, and take the report along: seepage.Report.of(leak, ...); or publish coefficients."
        )
    if isinstance(model, ModelTable):
        refuse_beside_table(y, sample_weight, offset, target)
        if X is None:
            raise InputError("X is missing: give the rows that the model was fitted on.")
        table = model.on(X)
        if to_publish:
            table = table.with_steps()
        return Given(
            model=table.model,
            X=table.X,
            y=table.y,
            sample_weight=table.sample_weight,
            offset=table.offset,
            ids=table.cut(_whose(ids, X)),
            groups=table.cut(groups),
            label=column_name(table.y, "label"),
            remarks=table.remarks,
            decimals=table.decimals,
            own_levels=False,
        )
    if not is_results(model) or is_survival(model):
        # PHReg of statsmodels, and CoxPHFitter of lifelines; a Cox model has no dispersion.
        errors = getattr(model, "bse", getattr(model, "standard_errors_", None)) if is_survival(model) else None
        return Given(
            model=model,
            X=X,
            y=y,
            sample_weight=sample_weight,
            offset=offset,
            ids=_whose(ids, X),
            groups=groups,
            label=column_name(y, "label"),
            summary=None if errors is None else SummaryErrors(np.asarray(errors, dtype=np.float64), np.nan),
        )
    if y is not None or sample_weight is not None or offset is not None:
        raise InputError(
            "Results of statsmodels know their labels, weights and offset: leave y, sample_weight and offset out."
        )
    parts = taken_apart(model, X)
    if parts.counted and ERRORS in (published or ()):
        raise UnsupportedError(
            f"This {type(model.model).__name__} has frequencies (freq_weights): its rows stand for several people, and "
            "robust standard errors would take each for one. Fit on a row for each person, "
            f'people.loc[people.index.repeat(counts)], or publish ["{COEFFICIENTS}"] alone.'
        )
    if to_publish and parts.remarks:
        raise UnsupportedError(
            "Results of fit_regularized are measured, and not published: which coefficients are zero is a choice that "
            "the rows made, and the digits of a penalty that was read back from them tell about them too. Fit "
            "seepage.models.GLM with that penalty on squares (penalty= and penalize_intercept=True), and publish that."
        )
    return Given(
        model=with_steps(parts.model, parts.rows) if to_publish else parts.model,
        X=parts.rows,
        # What the outcome is called goes along with its values: policies name it, and the certificate does.
        y=_named(parts.labels, parts.rows, parts.label) if to_publish else parts.labels,
        sample_weight=parts.weights,
        offset=parts.offset,
        ids=_of_rows(_whose(ids, getattr(model.model.data, "frame", None) if X is None else X), parts.rows),
        groups=groups,
        label=parts.label,
        remarks=parts.remarks,
        summary=parts.summary,
        own_levels=False,
    )


def opened(
    model: Model, X: Data, y: Listed, ids: Listed, clusters: Listed, published: Any
) -> tuple[Model, Data, Listed, Listed, Any]:
    """Return results of GEE as the equations that they solve, with their rows; everything else as it is."""
    if not is_gee(model):
        return model, X, ids, clusters, published
    if X is not None or y is not None:
        raise InputError("Results of GEE know their rows: leave X and y out.")
    equations, rows, coefficients = read_gee(model)
    # Groups are people, unless others are named in them.
    ids, clusters = (GROUP, clusters) if ids is None else (ids, GROUP)
    return equations, rows, ids, clusters, coefficients if published is None else published


def filtered(where: str, model: Model, X: Data, *listed: Any) -> tuple[Any, ...]:
    """Return the rows that a filter keeps, and the same of whatever has an entry for each row.

    Parameters
    ----------
    where : str
        The filter.
    model : object
        What was fitted on these rows.
    X : data frame
        All rows.
    *listed : array-like of shape (n,), str or None
        Names and what is not there stay as they are.
    """
    if is_results(model):
        raise InputError("Results of statsmodels know the rows that they were fitted on: leave where out.")
    table = None if X is None else Table.of(X)
    if table is None or not table.is_frame:
        raise InputError(f"where={where!r} names columns, and X has no names: give X as a data frame.")
    rows = kept(where, table)
    return table.picked(rows), *(_of_kept(each, rows, len(table)) for each in listed)


def _of_kept(listed: Any, rows: NDArray[np.intp], count: int) -> Any:
    if listed is None or isinstance(listed, str) or not hasattr(listed, "__len__") or len(listed) != count:
        # What has another length is refused where it is used.
        return listed
    held = nw.from_native(listed, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(held, nw.Series | nw.DataFrame):
        return held[rows.tolist()].to_native()
    return np.asarray(listed)[rows]


def _whose(ids: Listed, X: Data) -> Listed:
    """Return who each row is, if a column was named that says so."""
    if not isinstance(ids, str):
        return ids
    rows = None if X is None else Table.of(X)
    names = [] if rows is None or not rows.is_frame else rows.names
    if rows is None or ids not in names:
        there = f"{did_you_mean(ids, names)}Its columns are: {several(list(names))}" if names else "X has no columns"
        raise InputError(f"ids is {ids!r}, which is no column of the rows. {there}.")
    return X[ids] if rows.library == "pandas" else rows.column(ids)  # type: ignore[index]


def _of_rows(ids: Any, rows: Any) -> Listed:
    """Return the ids of the rows that a formula kept, by the index, where there are ids of more rows."""
    index, named = getattr(rows, "index", None), getattr(ids, "index", None)
    if index is None or named is None or callable(named) or len(ids) == len(rows):
        return cast(Listed, ids)
    if not named.is_unique or not index.isin(named).all():
        raise InputError(
            f"The model was fitted on {len(rows)} rows, and there are {len(ids)} ids, whose index does not say which "
            "of them are meant. Give one for each row that was kept."
        )
    return cast(Listed, ids.loc[index])


def refuse_beside_table(y: Listed, sample_weight: Listed, offset: Listed, target: object) -> None:
    """Refuse what a model table knows by itself."""
    if y is not None or sample_weight is not None or target is not None or offset is not None:
        raise InputError(
            "A model table names its outcome, weights and offset: leave y, target, sample_weight and offset out."
        )


def _named(y: Listed, X: Data, label: str) -> Listed:
    """Return labels that carry their name, in the order of the rows."""
    import pandas as pd

    return pd.Series(np.asarray(y), index=X.index if isinstance(X, pd.DataFrame) else None, name=label)


def refuse_mistakes(model: object) -> None:
    """Refuse what cannot be a fitted model, and say what to do instead.

    Parameters
    ----------
    model : object
        What was given as the model.
    """
    if model is None:
        raise InputError(
            "The model is None. Give the fitted model itself: model = Ridge().fit(X, y), then "
            "seepage.measure(model, X, y, noise_scale=...)."
        )
    if isinstance(model, type):
        raise InputError(
            f"{model.__name__} is a class, not a fitted model. Make one and fit it: {model.__name__}(...).fit(X, y)."
        )
    if isinstance(model, str | os.PathLike):
        raise InputError(
            f"{os.fspath(model)!r} is a path, and the model itself is wanted: load it first, with skops.io.load(path), "
            "or seepage.models.ModelTable.read(path) if it is a table in TOML. On the command line, `seepage measure "
            "MODEL DATA` reads model files."
        )
    if hasattr(model, "__array__") or hasattr(model, "__dataframe__"):
        raise InputError(
            f"A {type(model).__name__} was given as the model, which comes first: seepage.measure(model, X, y, ...)."
        )
    if any(each.__module__.startswith("torch.") and each.__name__ == "Module" for each in type(model).__mro__):
        raise UnsupportedError(
            f"{type(model).__name__} is a network of PyTorch, whose leakage is counted while it trains: "
            "seepage.network.FisherAccountant attaches to private training with Opacus, and takes a loop of your own. "
            "Once it is trained, there is nothing left to measure exactly."
        )


def refuse_beside_tabular(table: Tabular, X: Data, **given: object) -> None:
    """Refuse what says something of a regression, and nothing of a table or of equations.

    Parameters
    ----------
    table : Tabular
        What measures itself.
    X : data frame
        What was given as the rows.
    **given : object
        Arguments that were given, or None.
    """
    strange = {name: value for name, value in given.items() if value is not None and name not in table.takes}
    if "noise_scale" in strange:
        raise UnsupportedError(
            "noise_scale= is not answered for tables: they are measured as they are printed, without noise. Leave it "
            "out; or print coefficients, and measure those with noise_scale=."
        )
    if "where" in strange:
        raise InputError(
            f"For whom {table.kind} is, is said where it is made: write where={strange['where']!r} there, or keep "
            "these rows of the frame alone."
        )
    for name in strange:
        raise InputError(
            f"{name}= says nothing of {table.kind}: leave it out. What it needs of people is in the frame: "
            f"seepage.measure({type(table).__name__.lower()}, frame)."
        )
    if X is None or are_paths(X):
        raise InputError(
            f"What {table.kind} gives away is measured with the data frame that it was fitted on: "
            f"seepage.measure({type(table).__name__.lower()}, frame)."
        )


def refuse_beside_trees(X: Data, known_records: Known | None, **given: object) -> None:
    """Refuse what says something of a regression, and nothing of trees.

    Parameters
    ----------
    X : data frame or array
        What was given as the rows.
    known_records : Known or None
        What the attacker is said to know.
    **given : object
        Arguments that were given, or None.
    """
    strange = [name for name, value in given.items() if value is not None]
    if known_records not in (None, "covariates"):
        strange.append("known_records")
    if strange or are_paths(X):
        raise UnsupportedError(
            f"{(strange or ['A path'])[0]} is not answered for trees: they are measured as their file is published, to "
            "an attacker who knows everybody's covariates.\nGive the rows alone: seepage.measure(forest, X, y)."
        )
