"""The preprocessing steps that really do something, by the way that leads to each."""

from collections.abc import Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer


def real_steps(model: Any) -> list[str]:
    """Return the steps before the estimator: each by its names from the outside in, and its class.

    What only holds other steps (a Pipeline, a ColumnTransformer, a FeatureUnion) is not named, but what is in it.
    """
    if not isinstance(model, Pipeline):
        return []
    return [f"{' / '.join(path)} ({type(step).__name__})" for path, step in _walk(model.steps[:-1], ())]


def _walk(steps: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, step, *_ in steps:
        path = (*above, str(name))
        if _does_nothing(step):
            continue
        if isinstance(step, Pipeline):
            yield from _walk(step.steps, path)
        elif isinstance(step, ColumnTransformer):
            # Those that were fitted; before that, only how they were to be.
            yield from _walk(getattr(step, "transformers_", step.transformers), path)
        elif isinstance(step, FeatureUnion):
            yield from _walk(step.transformer_list, path)
        else:
            yield path, step


def _does_nothing(step: Any) -> bool:
    # Fitting turns "passthrough" into a function that is none.
    return step is None or isinstance(step, str) or (isinstance(step, FunctionTransformer) and step.func is None)
