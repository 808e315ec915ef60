"""What is known of classes and names without anybody's data."""

import re

# Classes that store the people they were fitted on, by the end of their names, and what they store.
_STORING = {
    "neighbors": r"(KNeighbors\w+|RadiusNeighbors\w+|NearestNeighbors|LocalOutlierFactor|KNNImputer|KDTree|BallTree)$",
    "support vectors": r"(SVC|SVR|OneClassSVM|SVDD)$(?<!LinearSVC)(?<!LinearSVR)",
    "all rows, for its kernel": r"(GaussianProcess\w+|KernelRidge|KernelPCA|KernelDensity|gaussian_kde|LabelSpreading"
    r"|LabelPropagation|FastKernelSurvivalSVM|FastSurvivalSVM|KernelReg|KDEUnivariate)$",
    "rows as core samples": r"(DBSCAN|AgglomerativeClustering)$",
    "values at their ranks": r"(QuantileTransformer|IsotonicRegression)$",
    "the data behind the fit": r"(\w*Results(Wrapper)?|ModelData|PandasData|PatsyData|FormulaData)$",
    "everybody's times": r"(lifelines\.\w+.*Fitter|CoxPHSurvivalAnalysis|CoxnetSurvivalAnalysis|BreslowEstimator"
    r"|KaplanMeierFitter|RandomSurvivalForest)$",
    "rows of a table": r"(pandas.*\.DataFrame|polars.*\.DataFrame|R data\.frame|R tbl_df)$",
    "the model frame of R": r"R (lm|glm|coxph|survreg|gam|lmerMod|glmerMod|nls)$",
}
_PERHAPS = ("the data behind the fit", "everybody's times", "rows of a table", "the model frame of R")
_KINDS = {what: re.compile(pattern) for what, pattern in _STORING.items()}
# Names of what is one number for each person.
_PER_PERSON = re.compile(
    r"(^|[._])(resid\w*|residuals|fittedvalues|fitted_values|endog|exog|weights_per_sample|_fit_X|X_train_?|y_train_?"
    r"|X_fit_|event_times\w*|durations|event_observed|support_vectors_|model_frame|predictions|oob_\w+|leverage\w*"
    r"|train_score_per_sample|_y)$"
)
_SEED = re.compile(r"(estimators_.*\.random_state|\._seeds)$")
_USER = re.compile(r"(?<!\w)(/home/|/Users/|[A-Z]:\\+Users\\+)[\w.@ -]")


def stored_by(kind: str, *, known: bool) -> str | None:
    """Return what a class stores of people; None if nothing is known of it.

    Parameters
    ----------
    kind : str
        The class.
    known : bool
        Whether its arrays are held against people; then what may store them, or not, is no hint.
    """
    found = next((what for what, pattern in _KINDS.items() if pattern.search(kind)), None)
    return None if known and found in _PERHAPS else found


def is_per_person(where: str) -> bool:
    """Return whether a place is called as what has one number for each person."""
    return _PER_PERSON.search(where) is not None


def has_path(text: str) -> bool:
    """Return whether a text names a folder of a user."""
    return _USER.search(text) is not None


def is_seed(where: str) -> bool:
    """Return whether a place is called as the seeds of trees that were grown on samples."""
    return _SEED.search(where) is not None
