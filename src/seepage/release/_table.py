"""A published model as a table of its coefficients, for R and whatever else reads TOML.

Everything in it is in the published estimator or its certificate: coefficients with noise, their names, and what kind
of model they are of. Names of columns come from whoever publishes.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from pathlib import Path

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from seepage._tables import Model
from seepage.errors import InputError, UnsupportedError
from seepage.linear.written import text_of
from seepage.release._certificate import Certificate, amount_of
from seepage.release._copy import last_step
from seepage.release._file import as_skops

TABLE, SKOPS = ".toml", ".skops"
_FAMILIES = {
    "LinearRegression": "gaussian",
    "Ridge": "gaussian",
    "LogisticRegression": "binomial",
    "PoissonRegressor": "poisson",
    "GammaRegressor": "gamma",
    "TweedieRegressor": "tweedie",
}


def check_name(path: Path) -> None:
    """Refuse the name of a file that does not say what a published model is to be written as."""
    if path.suffix.lower() not in (TABLE, SKOPS):
        raise InputError(
            f"{str(path)!r} does not say what it will hold. A published model is written as a table of its "
            f"coefficients, which R and others read ({path.stem}{TABLE}), or for scikit-learn ({path.stem}{SKOPS})."
        )


def is_table(path: Path) -> bool:
    """Return whether a published model is written as a table there."""
    check_name(path)
    return path.suffix.lower() == TABLE


@singledispatch
def content_of(
    estimator: Model, path: Path, certificate: Certificate, outcome: Sequence[str] | None, success: object
) -> bytes:
    """Return what a file of a published estimator holds; what it is written as, its name says.

    Parameters
    ----------
    estimator : estimator or Pipeline
        As it was published.
    path : Path
        Where it will be.
    certificate : Certificate
        Its certificate.
    outcome : sequence of str or None
        What the columns are called that it predicts; None for the names in the certificate.
    success : object
        Which of two outcomes counts as one, if that was said.
    """
    if is_table(path):
        called = certificate.published["outcome"] if outcome is None else outcome
        return text_of_published(estimator, certificate, called, success).encode()
    return as_skops(estimator)


def text_of_published(estimator: Model, certificate: Certificate, outcome: Sequence[str], success: object) -> str:
    """Return a published model as TOML.

    Parameters
    ----------
    estimator : estimator or Pipeline
        As it was published.
    certificate : Certificate
        Its certificate.
    outcome : sequence of str
        What the columns are called that it predicts; of a Cox model, the status if there is one, and the time.
    success : object
        Which of two outcomes counts as one, if that was said.
    """
    last = last_step(estimator)
    named = certificate.published["parameters"]
    values = np.ravel(last.coef_)
    if np.shape(np.atleast_2d(last.coef_))[0] > 1:
        raise _no_place("A model with several outcomes")
    coefficients: dict[str, float | Mapping[str, float]] = {}
    is_cox = type(last).__name__ == "Cox"
    if len(named) > len(values) and not is_cox:
        coefficients["(Intercept)"] = float(np.ravel(last.intercept_)[0])
    for (name, level), value in zip(_terms(estimator, named), values.tolist(), strict=True):
        if level is None:
            coefficients[name] = value
            continue
        inner = coefficients.setdefault(name, {})
        if not isinstance(inner, dict) or level in inner:
            raise _no_place(f"The column {name!r}, which has two kinds of coefficients,")
        inner[level] = value
    remarks = remarks_of(certificate)
    if any(isinstance(each, dict) for each in coefficients.values()):
        remarks.append("A value of a category that has no coefficient here counts as 0.")
    kind = _kind_of_cox(last, outcome) if is_cox else _kind(last, outcome, success)
    return text_of({**kind, "coefficients": coefficients}, tuple(remarks))


def remarks_of(certificate: Certificate) -> list[str]:
    """Return what stands above a table: when it was published, with what noise, and where its promise is."""
    noise = certificate.noise
    return [
        f"Published on {certificate.created[:10] or 'no day yet'}, with {noise['distribution']} noise of "
        f"{amount_of(noise)}.",
        "What it promises stands in its certificate: seepage certify FILE CERTIFICATE",
    ]


def _kind(last: Model, outcome: Sequence[str], success: object) -> dict[str, object]:
    """Return what a table says about a generalized linear model."""
    name = type(last).__name__
    found: dict[str, object] = {"outcome": outcome[0] if len(outcome) == 1 else tuple(outcome)}
    if name == "GLM":
        link, parameter = last.named_link
        found |= {"family": last.family, "link": link}
        found |= {"parameter": float(last.parameter)} if last.parameter != 1.0 else {}
        if link in ("power", "negative binomial"):
            found["link_parameter"] = float(parameter)
    elif name in _FAMILIES:
        found["family"] = _FAMILIES[name]
        if name == "GammaRegressor":
            found["link"] = "log"
        if name == "TweedieRegressor":
            link = last.link if last.link != "auto" else "identity" if last.power <= 0 else "log"
            found |= {"link": link, "parameter": float(last.power)}
    else:
        raise _no_place(f"A {name}")
    classes = getattr(last, "classes_", None)
    if success is not None:
        found["success"] = success
    elif classes is not None and len(outcome) == 1 and not np.isin(classes, (0, 1)).all():
        found["success"] = classes.tolist()[-1]
    return found


def _kind_of_cox(last: Model, outcome: Sequence[str]) -> dict[str, object]:
    *status, time = outcome
    return {"family": "cox", "time": time, **({"status": status[0]} if status else {}), "ties": last.ties}


def _terms(estimator: Model, named: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield what each coefficient is of: a column, and the value of it for a level."""
    steps = estimator[0] if isinstance(estimator, Pipeline) else None
    if not isinstance(steps, ColumnTransformer):
        size = int(np.size(last_step(estimator).coef_))
        yield from ((name, None) for name in named[:size])
        return
    for part, step, columns in steps.transformers_:
        names = list(named[steps.output_indices_[part]])
        if isinstance(step, OneHotEncoder):
            levels = [level for each in step.categories_ for level in each.tolist()]
            yield from (
                (name.removesuffix(f" = {level}"), _level(level)) for name, level in zip(names, levels, strict=True)
            )
        elif part.startswith("numbers") and not hasattr(step, "steps") and not hasattr(step, "statistics_"):
            yield from ((name, None) for name in names)
        else:
            raise _no_place(f"The value that is filled in where {columns[0]!r} is missing")


def _level(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _no_place(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} has no place in a table of coefficients. Write the published model for scikit-learn instead: a name "
        f"that ends in {SKOPS}"
    )
