"""From a fitted scikit-learn model and its data to a `Leakage`."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from seepage._noise import GaussianNoise, as_noise
from seepage._tables import Data, Listed, Model, Table
from seepage._where import for_whom
from seepage.attackers import TableQuestion, Tabular
from seepage.attackers.types import Known
from seepage.errors import InputError, UnsupportedError
from seepage.execution import Job
from seepage.execution.storage import Paths
from seepage.leakage import Leakage, PeopleInMemory
from seepage.leakage.types import By
from seepage.linear._without_noise import UNIT, measure_files_without_noise, measure_without_noise
from seepage.linear.columns import fitted_columns, split
from seepage.linear.files import Roles, SourceInFiles, are_paths, measure_files, refuse_in_memory
from seepage.linear.given import (
    Given,
    filtered,
    given,
    opened,
    refuse_beside_tabular,
    refuse_beside_trees,
    refuse_mistakes,
)
from seepage.linear.information import (
    COEFFICIENTS,
    Fit,
    LinearInformation,
    OnEngine,
    Question,
    Release,
    SourceInMemory,
    check_published,
)
from seepage.linear.objective import check_supported
from seepage.linear.results import is_results
from seepage.linear.survival import SurvivalFit, is_survival, measure_survival, people_of
from seepage.linear.written import ModelTable
from seepage.trees import is_trees, measure_trees


def measure(
    model: Model,
    X: Data = None,
    y: Listed = None,
    *,
    where: str | None = None,
    noise_scale: float | GaussianNoise | None = None,
    known_records: Known | None = None,
    digits: int | str | None = None,
    clusters: Listed = None,
    known_group_sizes: Sequence[str] = (),
    target: str | Sequence[str] | None = None,
    sample_weight: Listed = None,
    offset: Listed = None,
    published: Sequence[str] | str | None = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    numbers: Collection[str] | None = None,
    public_preprocessing: Sequence[str] = (),
    ids: Listed = None,
    groups: By = None,
    job: Job | None = None,
) -> Leakage:
    """Measure what publishing a fitted linear model gives away about each person in its training data.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine or smooth preprocessing, or a search that chose
        one; or fitted results of statsmodels (OLS, WLS, GLM, Logit, Probit, MNLogit, Poisson, NegativeBinomial, PHReg,
        GEE), which know their rows; or a Cox model of lifelines (CoxPHFitter) or scikit-survival
        (CoxPHSurvivalAnalysis); or a `ModelTable` of R, Stata or a hand, which finds its outcome in the frame; or a
        table of means, counts and shares (`Aggregate`) or of survival (`KaplanMeier`), which is measured without noise;
        or the `Equations` that any other estimator solves; or a tree, a forest or a boosted model of scikit-learn,
        XGBoost or LightGBM, whose answer is a `TreeLeakage`.
    X : array, sparse matrix or data frame of shape (n, columns), or paths of Parquet files
        The rows that it was fitted on; of results of statsmodels, their own by default. A path may be a folder, a
        pattern (``people/*.parquet``) or a URI (``s3://...``). Of a Delta table, the ``deltalake.DeltaTable``.
    y : array-like of shape (n,) or (n, targets), optional
        The labels that it was fitted on; for files, give `target` instead. Of CoxPHSurvivalAnalysis, outcomes with a
        field for the status and one for the time; a CoxPHFitter finds both in the frame.
    where : str, optional
        The rows that it was fitted on, of all that are given: comparisons of a column with a value, joined by "and" and
        "or" ("age >= 65 and sex == F").
    noise_scale : float or GaussianNoise, optional
        The noise that is added to the published parameters (coefficients and intercept): a standard deviation, or a
        noise with a covariance, in the units of the features that the model sees. Without noise, the answer is about
        attackers who do not hold all of the other records: the other people are the noise.
    known_records : int, float, "covariates" or "all", optional
        What the attacker holds of the other people: complete records of so many, or of a share below 1, drawn at
        random; everybody's covariates and nobody's outcome; or all records. "all" with noise, and 0 without. Beside
        both, added noise and the other people count together.
    digits : int or str, optional
        How exactly numbers are printed without noise: decimals, or such as "3 significant". By default to a tenth of a
        standard error, as `leak.rounded_table()` prints them; of a `ModelTable`, as exactly as it was written.
    clusters : str or array-like of shape (n,), optional
        Without noise: people who are not independent of each other (families, sites), and count as one.
    known_group_sizes : sequence of str, default=()
        Without noise: columns of groups whose sizes everybody knows (arms of a trial, strata, cases and controls), in
        the model or not. The number in each class of an outcome is known always.
    target : str or sequence of str, optional
        The column of the files that holds the labels.
    sample_weight : array-like of shape (n,) or str, optional
        The weights that it was fitted with, which the attacker knows; for files, the column that holds them.
    offset : array-like of shape (n,), optional
        What was added to each row's margin when a `GLM` was fitted: known to the attacker, and not published. Results
        of statsmodels and a `ModelTable` know theirs. Not over files.
    published : sequence of str or "summary", optional
        What leaves the house: "coefficients" (the intercept among them) and, of a negative binomial model whose alpha
        was fitted with them, "alpha". All that the model has by default; beside noise in
        standard errors (``GaussianNoise(standard_errors=0.25)``) also "standard errors", if they are named. Without
        noise also "standard errors", "dispersion" and "counts" (of each outcome class): all of them by default.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default. The others are known to the attacker.
    numbers : collection of str, optional
        Columns with two values that are numbers all the same. By default columns of two codes count as categories: an
        error in units of a code says nothing. Over files, that is known of columns of true and false only.
    public_preprocessing : sequence of str, default=()
        Steps before the model whose constants the attacker knows, by name or by class ("standardscaler"). Any other
        StandardScaler, or SimpleImputer of means, whose constants are those of these rows was fitted on them: the model
        is measured as it is to be published, in the units of the columns and without those steps, and what its
        coefficients and the shape of their noise tell through their means and deviations is counted. All other steps,
        and constants of other rows, are taken as public, and the assumptions name them; constants that are nearly those
        of these rows are refused.
    ids : array-like of shape (n,) or str, optional
        Whose each row is, or the column of X that says so. Rows with the same id are one person's, about whom the
        release says what it says about all their rows together. By default each row is a person, called by the pandas
        index if there is one. Of a formula that left rows out, ids go by their index. Over files each person has one
        row.
    groups : str, or array-like of shape (n,), optional
        The groups that `by_group()` compares: a column, or for data in memory the group of each person.
    job : Job, optional
        How a job over files runs: engine, output folder, file system, progress. In memory, its engine reads the rows.

    Returns
    -------
    Leakage
        With noise: exact, and in the units of the columns of `X`. Without: a `SamplingLeakage`, which prints as a
        table by attacker, describes attackers who use averages, and bounds nobody (its assurance is "approximate").

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

    Without noise:

    >>> leak = seepage.measure(model, X, y)
    >>> leak
    Leakage(442 people, 11 private attributes, approximate)
    >>> bool((leak.error_floor(prior="data")["age"] > 11).all())
    True
    """
    refuse_mistakes(model)
    beside = {
        "noise_scale": noise_scale,
        "clusters": clusters,
        "target": target,
        "offset": offset,
        "published": published,
        "public_label": public_label or None,
        "numbers": numbers,
        "public_preprocessing": public_preprocessing or None,
        "where": where,
        "job": job,
    }
    if is_trees(model):
        refuse_beside_trees(
            X,
            known_records,
            digits=digits,
            attributes=attributes,
            known_group_sizes=known_group_sizes or None,
            **beside,
        )
        return measure_trees(model, X, y, sample_weight=sample_weight, ids=ids, groups=groups)
    model, X, ids, clusters, published = opened(model, X, y, ids, clusters, published)
    if isinstance(model, Tabular):
        refuse_beside_tabular(model, X, y=y, sample_weight=sample_weight, **beside)
        whom = known_records, digits, attributes, known_group_sizes, ids, groups
        return model.measured(X, TableQuestion(*whom, noise_scale, clusters, published, numbers))
    if where is not None and (is_results(model) or not are_paths(X)):
        X, y, sample_weight, offset, clusters, ids, groups = filtered(
            where, model, X, y, sample_weight, offset, clusters, ids, groups
        )
    if noise_scale is None or (known_records is not None and known_records != "all"):
        question = Question(UNIT, public_label, None, numbers, public_preprocessing)
        whom = known_records, digits, attributes, known_group_sizes, ids, groups
        before = TableQuestion(*whom, noise_scale, clusters, published, numbers)
        if are_paths(X) and not is_results(model):
            model, source = _in_files(model, X, y, where, target, sample_weight, offset, ids, groups, job)
            return measure_files_without_noise(model, source, question, before)
        asked = given(model, X, y, target=target, sample_weight=sample_weight, offset=offset, ids=ids, groups=groups)
        asked = replace(asked, remarks=(*asked.remarks, *for_whom(where)))
        refuse_in_memory(target, job)
        return measure_without_noise(asked, question, before)
    for name, given_one in {
        "digits": digits,
        "clusters": clusters,
        "known_group_sizes": known_group_sizes or None,
    }.items():
        if given_one is not None:
            raise InputError(
                f"{name}= is about attackers who do not know everybody else, and with noise_scale= alone the attacker "
                f"does: leave it out, or say known_records=."
            )
    noise = as_noise(noise_scale)
    question = Question(noise, public_label, attributes, numbers, public_preprocessing, published)
    if are_paths(X) and not is_results(model):
        model, source = _in_files(model, X, y, where, target, sample_weight, offset, ids, groups, job)
        return measure_files(model, source, question, for_whom(where))
    asked = given(
        model,
        X,
        y,
        target=target,
        sample_weight=sample_weight,
        offset=offset,
        ids=ids,
        groups=groups,
        published=published,
    )
    asked = replace(asked, remarks=(*asked.remarks, *for_whom(where)))
    refuse_in_memory(target, job)
    if not asked.is_survival:
        return _in_memory(asked, question, job)
    if asked.offset is not None:
        raise UnsupportedError("A survival model has no offset here: leave offset out.")
    fit = SurvivalFit.of(asked.model, asked.X, asked.y, asked.sample_weight)
    check_published(published, (COEFFICIENTS,))
    return asked.remarked(measure_survival(fit, people_of(fit, asked.ids, asked.groups), question))


def _in_files(
    model: Model,
    X: Paths,
    y: Listed,
    where: str | None,
    target: str | Sequence[str] | None,
    sample_weight: Listed,
    offset: Listed,
    ids: Listed,
    groups: Listed,
    job: Job | None,
) -> tuple[Model, SourceInFiles]:
    """Return a model and the files of its rows."""
    if is_survival(model):
        raise UnsupportedError(
            "Survival models are not measured over files yet: risk sets need all rows in the order of their times. "
            "Read the rows into memory: seepage.measure(fitted, frame, ...)."
        )
    if isinstance(model, ModelTable):
        raise UnsupportedError(
            "The fit of a formula cannot be taken from files a batch at a time yet. Read the rows into memory: "
            "seepage.measure(table, frame, ...), or --in-memory on the command line."
        )
    if offset is not None:
        raise UnsupportedError(
            "An offset cannot be taken from files a batch at a time yet. Read the rows into memory: "
            "seepage.measure(model, frame, y, offset=...)."
        )
    preprocess, estimator = split(model)
    check_supported(estimator)
    roles = Roles.of(y, target=target, sample_weight=sample_weight, ids=ids, groups=groups)
    return model, SourceInFiles.of(X, roles, fitted_columns(preprocess, estimator), job, where)


def _in_memory(asked: Given, question: Question, job: Job | None) -> Leakage:
    preprocess, estimator = split(asked.model)
    check_supported(estimator)
    if asked.X is None:
        raise InputError("X is missing: give the rows that the model was fitted on.")
    source = SourceInMemory.of(
        asked.X, asked.y, fitted_columns(preprocess, estimator), asked.sample_weight, asked.offset
    )
    fit = Fit.assembled(asked.model, source).publishing(question.published)
    if job is not None and job.engine is not None:
        fit = replace(fit, rows=replace(fit.rows, mover=OnEngine(job.engine)))
    release = Release.of(fit, fit.minimize(), question, asked.label)
    table = Table.of(asked.X)
    people = PeopleInMemory.of(table if table.is_frame else fit.table, ids=asked.ids, groups=asked.groups, y=asked.y)
    found = LinearInformation.in_memory(fit, release, people)
    if fit.errors and found.owners is not None:
        raise UnsupportedError(
            "Some people have several rows, and standard errors that take each row for somebody else's are too small. "
            'Publish ["coefficients"] alone, or fit on one row a person.'
        )
    return Leakage(replace(found, assumptions=(*found.assumptions, *asked.remarks)))
