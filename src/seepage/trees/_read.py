"""From a fitted model of trees to its splits, its leaf values, and what its leaf values are of the outcomes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.errors import InputError, MissingExtraError, UnsupportedError
from seepage.trees._structure import Structure, Tree

Link = Literal["identity", "logistic", "softmax"]

_FORESTS = ("Bagging", "RandomForest", "ExtraTree", "DecisionTree")
_MEANS = ("squared_error", "friedman_mse", "poisson", "gini", "entropy", "log_loss")
_WAY_OUT = "Nearest: a random forest, or gradient boosting of squared or logistic loss."


@dataclass(frozen=True, eq=False)
class Trees:
    """A fitted model of trees.

    Attributes
    ----------
    structure : Structure
        In boosting of several classes each round has one tree for each class, in their order.
    draws : callable or None
        Of the number of rows: how often each row was drawn for each tree, shape (rows, trees). None where every tree
        has all rows once.
    classes : array or None
        The classes of the outcome, in the order of the columns; None for a number.
    link : str or None
        From margins to the answers of a boosted model; None for a forest, whose leaf values are means.
    start : array
        The margins before the first tree.
    first_has_mean : bool
        Whether the first trees' leaf values hold the mean besides.
    exact : bool
        Whether every threshold is the middle between two people's values.
    class_weight : "balanced", mapping or None
    """

    structure: Structure
    draws: Callable[[int], Array] | None = None
    classes: NDArray[Any] | None = None
    link: Link | None = None
    start: Array | None = None
    first_has_mean: bool = False
    exact: bool = False
    class_weight: Any = None


def is_trees(model: object) -> bool:
    """Return whether a model is made of trees, by its class."""
    model = getattr(model, "best_estimator_", model)
    model = getattr(model, "_final_estimator", model)
    module, name = type(model).__module__.partition(".")[0], type(model).__name__
    if module == "sklearn":
        if name.startswith("Bagging"):
            return _are_trees(getattr(model, "estimators_", ()))
        return name.startswith((*_FORESTS, "GradientBoosting", "HistGradientBoosting"))
    return module in ("xgboost", "lightgbm") and (name == "Booster" or hasattr(model, "get_params"))


def _are_trees(models: Any) -> bool:
    return len(models) > 0 and all(hasattr(one, "tree_") for one in models)


def read(model: Any) -> Trees:
    """Read a fitted model, or refuse one whose leaf values are no means or gradients.

    Parameters
    ----------
    model : estimator of scikit-learn, XGBoost or LightGBM, or a Booster
    """
    name = type(model).__name__
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    if type(model).__module__.startswith(("xgboost", "lightgbm")):
        return _read_booster(model)
    if name.startswith("HistGradientBoosting"):
        return _read_histogram_boosting(model)
    if name.startswith("GradientBoosting"):
        return _read_boosting(model)
    return _read_forest(model)


def _read_forest(model: Any) -> Trees:
    single = hasattr(model, "tree_")
    trees = [model] if single else list(model.estimators_)
    if trees[0].criterion not in _MEANS:
        raise UnsupportedError(
            f"Leaf values of criterion={trees[0].criterion!r} are no means, and are not measured. {_WAY_OUT}"
        )
    if trees[0].n_outputs_ > 1:
        raise UnsupportedError("Trees with several outcomes are not measured. Measure one model for each outcome.")
    weight = getattr(model, "class_weight", None)
    if weight == "balanced_subsample" or (weight is None and any(getattr(t, "class_weight", None) for t in trees)):
        raise UnsupportedError('Class weights of each tree are not measured. Fit with class_weight="balanced".')
    features = getattr(model, "estimators_features_", None)
    nodes = [_sklearn_tree(tree, None if features is None else features[i]) for i, tree in enumerate(trees)]
    drawn = (not single and model.bootstrap) or getattr(model, "max_samples", None) not in (None, 1.0)
    if drawn and weight is not None:
        raise UnsupportedError(
            "Class weights decide which rows trees draw, so the draws cannot be made again. Fit with bootstrap=False."
        )
    return Trees(
        Structure.of(nodes),
        draws=(lambda count: _draws(model, count)) if drawn else None,
        classes=getattr(model, "classes_", None),
        exact=all(tree.splitter == "best" for tree in trees),
        class_weight=weight,
    )


def _sklearn_tree(tree: Any, features: Any = None) -> Tree:
    fitted = tree.tree_
    value = fitted.value[:, 0, :]
    if hasattr(tree, "classes_"):
        value = value / value.sum(axis=1, keepdims=True)
    feature = np.asarray(fitted.feature, dtype=np.intp)
    inner = fitted.children_left >= 0
    if features is not None:
        feature = np.where(inner, np.asarray(features)[np.maximum(feature, 0)], -1)
    return Tree(
        np.where(inner, feature, -1),
        fitted.threshold,
        fitted.children_left,
        fitted.children_right,
        np.asarray(fitted.missing_go_to_left, dtype=bool),
        value,
    )


def _draws(model: Any, count: int) -> Array:
    """Return how often each row was drawn for each tree: the file holds the seed of each."""
    rows = getattr(model, "_n_samples", count)
    if rows != count:
        raise InputError(f"The model was fitted on {rows:,} rows, and X has {count:,}. Give the rows of the fit.")
    if any(tree.random_state is None for tree in model.estimators_):
        raise UnsupportedError("The seeds of this model were deleted, so nothing is said of it. Measure it with them.")
    if hasattr(model, "estimators_samples_"):
        samples = model.estimators_samples_
    else:
        from sklearn.ensemble._forest import _generate_sample_indices, _get_n_samples_bootstrap

        number = _get_n_samples_bootstrap(count, model.max_samples)
        samples = [_generate_sample_indices(tree.random_state, count, number) for tree in model.estimators_]
    return np.stack([np.bincount(one, minlength=count) for one in samples], axis=1).astype(np.float64)


def _read_boosting(model: Any) -> Trees:
    if model.loss not in ("squared_error", "log_loss"):
        raise UnsupportedError(f"Leaf values of loss={model.loss!r} are not measured. {_WAY_OUT}")
    if model.subsample < 1:
        raise UnsupportedError(
            "Which rows subsample= drew cannot be drawn again, so nothing is said of this model. Fit with subsample=1."
        )
    if model.n_iter_no_change is not None:
        raise _stopped_early("n_iter_no_change=None")
    if type(model.init_).__name__ not in ("DummyRegressor", "DummyClassifier"):
        raise UnsupportedError("What a model given as init= adds is not measured. Fit without init=.")
    trees = model.estimators_
    nodes = [replace(one, value=model.learning_rate * one.value) for one in map(_sklearn_tree, trees.ravel())]
    classes = getattr(model, "classes_", None)
    if classes is None:
        start = np.ravel(model.init_.constant_)
    else:
        shares = np.asarray(model.init_.class_prior_)
        start = np.log(shares) if len(classes) > 2 else np.log(shares[1:] / shares[:1])
    return Trees(
        Structure.of(nodes),
        classes=classes,
        link=_link(classes),
        start=start,
        exact=all(tree.splitter == "best" for tree in trees.ravel()),
    )


def _stopped_early(way_out: str) -> UnsupportedError:
    return UnsupportedError(
        "Early stopping leaves rows out that cannot be drawn again, so nothing is said of this model. Fit with "
        f"{way_out}."
    )


def _link(classes: Any) -> Link:
    if classes is None:
        return "identity"
    return "logistic" if len(classes) == 2 else "softmax"


def _read_histogram_boosting(model: Any) -> Trees:
    if model.loss not in ("squared_error", "log_loss"):
        raise UnsupportedError(f"Leaf values of loss={model.loss!r} are not measured. {_WAY_OUT}")
    if model.do_early_stopping_ and model.validation_fraction is not None:
        raise _stopped_early("early_stopping=False")
    classes = getattr(model, "classes_", None)
    if getattr(model, "class_weight", None) is not None:
        raise UnsupportedError("Class weights of boosted models are not measured. Fit without class_weight=.")
    if model.is_categorical_ is not None:
        raise _of_categories()
    return Trees(
        Structure.of([_histogram_tree(tree.nodes) for stage in model._predictors for tree in stage], single=False),
        classes=classes,
        link=_link(classes),
        start=np.ravel(model._baseline_prediction),
    )


def _histogram_tree(nodes: NDArray[Any]) -> Tree:
    return Tree(
        np.where(nodes["is_leaf"], -1, nodes["feature_idx"].astype(np.intp)),
        nodes["num_threshold"],
        nodes["left"],
        nodes["right"],
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"][:, None],
    )


def _read_booster(model: Any) -> Trees:
    frontend, classes = _treelite().frontend, getattr(model, "classes_", None)
    if hasattr(model, "get_booster"):
        model = model.get_booster()
    model = getattr(model, "booster_", model)
    of_xgboost = type(model).__module__.startswith("xgboost")
    return _loaded(frontend.from_xgboost if of_xgboost else frontend.from_lightgbm, model, classes)


def read_file(path: Path) -> Trees:
    """Read the file of a boosted model: XGBoost's JSON or UBJ, LightGBM's text.

    Parameters
    ----------
    path : Path
    """
    frontend, of_xgboost = _treelite().frontend, path.suffix.lower() in (".json", ".ubj")
    return _loaded(frontend.load_xgboost_model if of_xgboost else frontend.load_lightgbm_model, path, None)


def _loaded(load: Callable[[Any], Any], model: Any, classes: Any) -> Trees:
    try:
        return _of_booster(load(model), classes)
    except _treelite().TreeliteError as error:
        raise _unread(error) from error


def _unread(error: Exception) -> UnsupportedError:
    if "categor" in str(error):
        return _of_categories()
    return UnsupportedError(f"This model is not read: {str(error).splitlines()[0][-200:]}. {_WAY_OUT}")


def _of_booster(model: Any, classes: Any) -> Trees:
    # XGBoost compares in single precision, and puts the mean into its start; LightGBM puts it into its first trees.
    of_xgboost = model.input_type == "float32"
    header = model.get_header_accessor()
    kind = str(header.get_field("postprocessor"))
    if kind not in _LINKS or model.num_tree == 0:
        raise UnsupportedError(f"Boosted models that answer by {kind!r} are not measured. {_WAY_OUT}")
    if classes is None and kind != "identity":
        classes = np.arange(max(int(header.get_field("num_class")[0]), 2))
    nodes = [_treelite_tree(model.get_tree_accessor(i)) for i in range(model.num_tree)]
    return Trees(
        Structure.of(nodes, strict=of_xgboost, single=of_xgboost),
        classes=classes,
        link=_LINKS[kind],
        start=np.array(header.get_field("base_scores"), dtype=np.float64),
        first_has_mean=not of_xgboost,
    )


def _of_categories() -> UnsupportedError:
    return UnsupportedError("Splits by categories are not read. Encode such columns first, as with a OneHotEncoder.")


def _treelite() -> Any:
    try:
        import treelite
    except ImportError as error:
        raise MissingExtraError('Reading this model needs treelite: pip install "seepage[trees]".') from error
    return treelite


_LINKS: dict[str, Link] = {"identity": "identity", "sigmoid": "logistic", "softmax": "softmax"}


def _treelite_tree(tree: Any) -> Tree:
    def field(name: str) -> NDArray[Any]:
        # A view of what the library holds, and may free.
        return np.array(tree.get_field(name))

    kind = field("node_type")
    if (kind == 2).any():
        raise _of_categories()
    return Tree(
        np.where(kind == 0, -1, field("split_index")).astype(np.intp),
        field("threshold"),
        field("cleft"),
        field("cright"),
        field("default_left").astype(bool),
        field("leaf_value")[:, None],
    )
