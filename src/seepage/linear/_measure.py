"""From a fitted scikit-learn model and its data to a `Leakage`."""

from collections.abc import Sequence
from typing import Any

from seepage._noise import GaussianNoise, as_noise
from seepage._tables import Table, column_name
from seepage.engines import Engine, Local
from seepage.leakage import Leakage, PeopleInMemory
from seepage.linear.files._measure import measure_files
from seepage.linear.files._roles import Job, Roles, are_paths, refuse_in_memory
from seepage.linear.information._information import LinearInformation
from seepage.linear.objective._fitted import Fit, Release


def measure(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    noise_scale: float | GaussianNoise,
    target: str | Sequence[str] | None = None,
    sample_weight: Any = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    ids: Any = None,
    groups: str | None = None,
    engine: Engine | None = None,
    output: Any = None,
    resume: bool = False,
    filesystem: Any = None,
    progress: bool | None = None,
) -> Leakage:
    """Measure what publishing a fitted linear model gives away about each person in its training data.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine preprocessing.
    X : array, sparse matrix or data frame of shape (n, columns), or paths of Parquet files
        The rows that it was fitted on. A path may be a folder, a pattern (``people/*.parquet``) or a URI (``s3://...``).
    y : array-like of shape (n,) or (n, targets), optional
        The labels that it was fitted on; for files, give `target` instead.
    noise_scale : float or GaussianNoise
        The noise that is added to the published parameters (coefficients and intercept): a standard deviation, or a
        noise with a covariance.
    target : str or sequence of str, optional
        The column of the files that holds the labels.
    sample_weight : array-like of shape (n,), str or StoredWeights, optional
        The weights that it was fitted with; for files, the column that holds them, or the weights of an
        `EqualizedLeakage` over them.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default. The others are known to the attacker.
    ids : array-like of shape (n,) or str, optional
        What to call the rows; a pandas index is kept by itself. For files, the column that names them.
    groups : str, optional
        For files, the column of the groups that `by_group()` compares.
    engine : Engine, optional
        Who reads the rows: one of `seepage.engines`. This process for data in memory, `Local()` for files by default.
    output : path, optional
        For files, a new folder for the per-person results, one file for each unit of work. Without it only summaries
        can be asked for.
    resume : bool, default=False
        Whether to continue the unfinished job in `output`.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the paths of `X` and `output` are, when a URI cannot say it.
    progress : bool, optional
        Whether to print how far files have been read and the time left; by default if standard error is a terminal.

    Returns
    -------
    Leakage
        Exact, and in the units of the columns of `X`.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge(alpha=1.0).fit(X, y)
    >>> leak = seepage.measure(model, X, y, noise_scale=0.05)
    >>> leak
    Leakage(442 people, 11 private attributes, exact)
    >>> leak.error_floor()["age"].min() > 1
    np.True_
    """
    noise = as_noise(noise_scale)
    if are_paths(X):
        roles = Roles.of(y, target=target, sample_weight=sample_weight, ids=ids, groups=groups)
        job = Job(engine or Local(), output, resume, filesystem, progress)
        return measure_files(model, X, roles, noise, public_label, attributes, job)
    refuse_in_memory(y, target=target, groups=groups, output=output, resume=resume, filesystem=filesystem)
    fit = Fit.of(model, X, y, sample_weight, engine)
    release = Release.of(fit, fit.minimize(), noise, attributes, column_name(y, "label"), public_label)
    given = Table.of(X)
    information = LinearInformation(
        people=PeopleInMemory.of(given if given.is_frame else fit.table, ids=ids, y=y),
        rows=fit.rows,
        geometry=release.geometry,
        penalty=fit.problem.penalty,
        basis=fit.problem.basis,
        noise=noise,
        attribute_names=release.attribute_names,
        categorical=release.categorical,
        assumptions=release.assumptions,
    )
    return Leakage(information)
