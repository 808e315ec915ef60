"""The exact minimizer over rows that need not fit in memory."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted

from seepage._tables import Data, Listed, Model
from seepage.errors import InputError
from seepage.execution import Job
from seepage.linear.columns import features_behind, fitted_columns, split
from seepage.linear.files import Roles, SourceInFiles, are_paths, refuse_in_memory
from seepage.linear.given import filtered
from seepage.linear.information import Fit, OnEngine, Source, SourceInMemory
from seepage.linear.objective import Likelihood, Minimizer, check_known
from seepage.linear.rows import InMemory


def fit(
    model: Model,
    X: Data,
    y: Listed = None,
    *,
    where: str | None = None,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    sample_weight: Listed = None,
    job: Job | None = None,
) -> BaseEstimator:
    """Fit a linear model exactly, by Newton's method on sums over the rows.

    Scikit-learn's solvers need all rows in memory and stop near the minimizer; this needs one batch, and stops at it.
    Squared loss takes one pass over the rows, others some five to ten.

    Parameters
    ----------
    model : estimator or Pipeline
        A linear model that `seepage.measure` supports. Preprocessing before it must be fitted already, for example on a
        sample of the rows.
    X : array, sparse matrix or data frame of shape (n, columns), or paths of Parquet files
        The rows to fit on.
    y : array-like of shape (n,) or (n, targets), optional
        The labels; for files, give `target` instead.
    where : str, optional
        The rows to fit on, of all that are given ("age >= 65 and sex == F").
    target : str or sequence of str, optional
        The column of the files that holds the labels.
    features : sequence of str, optional
        The columns to fit on; all that have no other role by default. Preprocessing knows its own.
    sample_weight : array-like of shape (n,) or str, optional
        The weights; for files, the column that holds them.
    job : Job, optional
        How the rows are read: engine, file system, progress.

    Returns
    -------
    estimator or Pipeline
        A fitted copy of `model`.

    Examples
    --------
    >>> import numpy as np
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = seepage.engines.fit(Ridge(alpha=1.0), X, y)
    >>> np.allclose(model.coef_, Ridge(alpha=1.0).fit(X, y).coef_)
    True
    """
    preprocess, estimator = split(model)
    check_known(estimator)
    _check_preprocessing(preprocess)
    if isinstance(features, str):
        raise InputError(f"features lists columns: write features=[{features!r}].")
    columns = features if preprocess is None else fitted_columns(preprocess, estimator)
    source: Source
    if are_paths(X):
        roles = Roles.of(y, target=target, sample_weight=sample_weight, ids=None, groups=None)
        if columns is not None and (both := [name for name in roles.target if name in columns]):
            raise InputError(f"{both[0]!r} is the target and among the features: a model would find it in itself.")
        source = SourceInFiles.of(X, roles, columns, job, where)
    else:
        refuse_in_memory(target, job)
        if where is not None:
            X, y, sample_weight = filtered(where, model, X, y, sample_weight)
        source = SourceInMemory.of(X, y, columns, sample_weight)
    named = are_paths(X) or source.header.has_names
    blank = _blank(preprocess, estimator, source, named)
    found: Fit = Fit.assembled(_joined(preprocess, blank), source)
    if job is not None and job.engine is not None and isinstance(found.rows, InMemory):
        found = replace(found, rows=replace(found.rows, mover=OnEngine(job.engine)))
    loss = found.problem.loss
    if isinstance(loss, Likelihood) and (loss.family, loss.link) == ("tweedie", "identity"):
        _start_inside(found)
    return _joined(preprocess, _filled(blank, found, found.minimize(start_is_fit=False)))


def _check_preprocessing(preprocess: Model) -> None:
    try:
        if preprocess is not None:
            check_is_fitted(preprocess)
    except NotFittedError:
        raise InputError(
            "The preprocessing before the model is not fitted. Fit it first, for example on a sample of the rows: "
            "model[:-1].fit(sample)."
        ) from None


def _blank(preprocess: Model, estimator: Model, source: Source, named: bool) -> BaseEstimator:
    """Return a copy of an estimator that is fitted in form, with all parameters zero."""
    blank = clone(estimator)
    names, outputs = source.header.names, source.outputs()
    features = features_behind(preprocess, names).count
    if is_classifier(estimator):
        classes = source.classes()
        if len(classes) < 2:
            raise InputError(f"A classifier needs two classes; the labels are all {classes.tolist()[0]!r}.")
        outputs = 1 if len(classes) == 2 else len(classes)
        blank.classes_ = classes
        if isinstance(blank, RidgeClassifier):
            blank._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(classes)
    blank.coef_ = np.zeros((outputs, features))
    blank.intercept_ = np.zeros(outputs)
    blank.n_features_in_ = features
    if preprocess is None and named:
        blank.feature_names_in_ = np.array(names, dtype=object)
    return blank


def _start_inside(found: Fit) -> None:
    if not found.problem.intercept:
        raise InputError("A Tweedie model with the identity link needs fit_intercept=True to be fitted from nothing.")
    # Margins of this loss are positive; at zero it is infinite.
    found.problem.parameters[-1] = 1.0


def _filled(blank: Model, found: Fit, minimizer: Minimizer) -> BaseEstimator:
    """Write a minimizer into an estimator as scikit-learn would have."""
    published = (minimizer.parameters @ found.problem.basis.T).T
    coefficients, intercept = published, np.zeros(len(published))
    if found.problem.intercept:
        coefficients, intercept = published[:, :-1], published[:, -1]
    one = len(published) == 1
    # The shapes are scikit-learn's own, which differ between its estimators.
    flat = one and (isinstance(blank, RidgeClassifier) or not is_classifier(blank))
    blank.coef_ = np.ascontiguousarray(coefficients[0] if flat else coefficients)
    blank.intercept_ = float(intercept[0]) if one and not is_classifier(blank) else np.array(intercept)
    blank.n_iter_ = minimizer.steps
    if hasattr(blank, "_get_loss"):
        blank._base_loss = blank._get_loss()
    return blank


def _joined(preprocess: Model, estimator: Model) -> BaseEstimator:
    return estimator if preprocess is None else Pipeline([*preprocess.steps, ("model", estimator)])
