"""A copy of a model that may leave the house, and a certificate that goes with it."""

import math
import platform
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from seepage._errors import InputError, PolicyError, UnsupportedError
from seepage._noise import GaussianNoise, as_noise
from seepage._version import __version__
from seepage.leakage import Leakage
from seepage.linear._measure import measure
from seepage.linear.information._information import LinearInformation
from seepage.linear.objective._fitted import Fit, feature_names
from seepage.release._certificate import SCHEMA, Certificate, fingerprints
from seepage.release._copy import copy_with, last_step
from seepage.release._mechanism import drawn, mechanism
from seepage.release._policy import Policy

Array = NDArray[np.float64]

# The hyperparameters that decide what is minimized.
_OBJECTIVE = (
    "C",
    "alpha",
    "class_weight",
    "fit_intercept",
    "intercept_scaling",
    "l1_ratio",
    "link",
    "loss",
    "penalty",
    "power",
    "solver",
)


@dataclass(frozen=True, eq=False, repr=False)
class Publication:
    """A model with noise, its certificate, and the owner's key.

    `estimator` and `certificate` may leave the house. `key` stays with the owner, who can show with it later that the
    certificate belongs to this model and data (`certificate.matches`). So that it cannot leave by accident, a
    publication as a whole cannot be pickled: pickle its `estimator`.

    Attributes
    ----------
    estimator : estimator or Pipeline
        A copy of the model whose coefficients and intercept carry fresh noise.
    certificate : Certificate
        What was published, with what noise, which targets it meets, and what that assumes.
    key : bytes
        The key of the certificate's fingerprints.
    """

    estimator: Any
    certificate: Certificate
    key: bytes

    def __repr__(self) -> str:
        name = self.certificate.published["estimator"]
        return f"Publication({name} with noise, certificate; its key stays with the owner)"

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "A publication holds the owner's key, which must not travel with it. Pickle publication.estimator, write "
            "publication.certificate.write(path), and keep publication.key to yourself."
        )


def publish(
    model: Any,
    X: Any,
    y: Any,
    *,
    noise_scale: float | GaussianNoise,
    accept: Policy | Mapping[str, Any] | None,
    sample_weight: ArrayLike | None = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
) -> Publication:
    """Return a copy of a fitted linear model that carries noise, if the noise is enough.

    The noise is drawn by OpenDP's Gaussian mechanism, which is safe against attacks through the low bits of
    floating-point numbers. There is no seed: no draw can be made again. Only the coefficients and the intercept carry
    noise; the preprocessing of a Pipeline is published as it is.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine preprocessing.
    X, y : array-like
        The data that it was fitted on.
    noise_scale : float or GaussianNoise
        The noise to add to the parameters. It stands in the certificate: round up what `seepage.calibrate` returns, for
        the smallest scale that protects everyone tells how exposed the most exposed person is.
    accept : Policy, mapping or None
        The targets that the release must meet, as `seepage.calibrate` takes them. None publishes without any target,
        and the certificate says so.
    sample_weight : array-like of shape (n,), optional
        The weights that it was fitted with.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default.

    Returns
    -------
    Publication
        The estimator, its certificate, and the key that stays with the owner.

    Raises
    ------
    PolicyError
        When a target is missed; it says by how much, and which noise would be enough.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge(alpha=1.0).fit(X, y)
    >>> publication = seepage.publish(model, X, y, noise_scale=0.5, accept={"error_floor": {"age": 5.0}})
    >>> publication
    Publication(Ridge with noise, certificate; its key stays with the owner)
    >>> publication.estimator.predict(X).shape
    (442,)
    >>> publication.certificate.matches(model, X, y, key=publication.key)
    True
    """
    noise = as_noise(noise_scale)
    policy = None if accept is None else Policy.of(accept)
    if policy is not None and policy.is_empty:
        raise InputError("The policy sets no target. Pass accept=None to publish without any.")
    # A missing OpenDP should be known before anything is measured.
    mechanism(1.0)
    leak = measure(
        model,
        X,
        y,
        noise_scale=noise,
        sample_weight=sample_weight,
        public_label=public_label,
        attributes=attributes,
    )
    if policy is not None:
        _check_policy(policy, leak, noise)
    fit = Fit.of(model, X, y, sample_weight)
    exact = exact_parameters(fit, leak)
    key = secrets.token_bytes(32)
    certificate = Certificate(
        schema=SCHEMA,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        people=leak.information.count,
        published=_published(model, fit, exact),
        noise=_noise(noise),
        private={
            "attributes": list(leak.information.attribute_names),
            "label": "public" if public_label else "private",
        },
        targets=("No target was set.",) if policy is None else tuple(policy.sentences()),
        policy=None if policy is None else _machine_readable(policy),
        assumptions=_assumptions(model, leak),
        versions=_versions(),
        fingerprints=fingerprints(key, model, fit),
    )
    return Publication(copy_with(model, drawn(exact, noise)), certificate, key)


def exact_parameters(fit: Fit, leak: Leakage) -> Array:
    """Return the exact minimizer as it would be published, shape (published outputs, p)."""
    assert isinstance(leak.information, LinearInformation)
    return fit.problem.basis @ leak.information.geometry.parameters.T


def _check_policy(policy: Policy, leak: Leakage, noise: GaussianNoise) -> None:
    missed = policy.shortfalls(leak)
    if not missed:
        return
    factor = max(shortfall.factor for shortfall in missed)
    every = len(policy.sentences())
    lines = [f"This release misses its policy ({len(missed)} of {every} targets), so nothing was published:"]
    lines += [f"- {one.target} That takes {_rounded_up(one.factor)} times the noise." for one in missed]
    if noise.scale is not None:
        lines.append(f"The smallest noise scale that meets all of them is {_rounded_up(noise.scale * factor)}.")
    else:
        lines.append(f"All of them are met when the covariance is multiplied by {_rounded_up(factor**2)}.")
    raise PolicyError("\n".join(lines), factor)


def _rounded_up(value: float) -> str:
    """Return four digits that are not below `value`."""
    text = f"{value:.4g}"
    return text if float(text) >= value else f"{value + 10.0 ** (math.floor(math.log10(value)) - 3):.4g}"


def _published(model: Any, fit: Fit, exact: Array) -> dict[str, Any]:
    settings = last_step(model).get_params(deep=False)
    return {
        "estimator": fit.problem.estimator,
        "hyperparameters": {name: _plain(settings[name]) for name in _OBJECTIVE if name in settings},
        "parameters": _parameter_names(fit, len(exact)),
        "count": int(exact.size),
        "exact_steps": _steps(model),
    }


def _parameter_names(fit: Fit, outputs: int) -> list[str]:
    each = [*feature_names(fit.affine, fit.table.names), *(["intercept"] if fit.problem.intercept else [])]
    if outputs == 1:
        return each
    classes = fit.problem.labels.classes
    heads = [f"output {i}" for i in range(outputs)] if classes is None else [f"class {label}" for label in classes]
    return [f"{head}: {name}" for head in heads for name in each]


def _steps(model: Any) -> list[str]:
    if not isinstance(model, Pipeline):
        return []
    return [f"{name} ({type(step).__name__})" for name, step in model.steps[:-1] if step not in (None, "passthrough")]


def _plain(value: Any) -> Any:
    """Return a hyperparameter as JSON knows it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _noise(noise: GaussianNoise) -> dict[str, Any]:
    found: dict[str, Any] = {"distribution": "Gaussian", "mechanism": "OpenDP make_gaussian"}
    if noise.scale is not None:
        return {**found, "scale": noise.scale}
    return {**found, "covariance": np.asarray(noise.covariance).tolist()}


def _machine_readable(policy: Policy) -> dict[str, Any]:
    return {
        "error_floor": {name: float(floor) for name, floor in policy.error_floor.items()},
        "success_rate": {name: float(rate) for name, rate in policy.success_rate.items()},
        "eta": None if policy.eta is None else float(policy.eta),
        "quantile": float(policy.quantile),
    }


def _assumptions(model: Any, leak: Leakage) -> tuple[str, ...]:
    # How near the solver came is a number about the rows, and of no concern: the minimizer itself is published.
    sentences = [one.sentence() for one in leak.information.assumptions if one.kind != "minimizer"]
    sentences.append("What carries the noise is the exact minimizer, not the parameters where the solver stopped.")
    if _steps(model):
        sentences.append(
            f"Published as they are, without noise: {', '.join(_steps(model))}. What they took from the data, such as "
            "a smallest and a largest value, is there to read."
        )
    # The smallest scale that meets a target for everyone tells how exposed the most exposed person is.
    sentences.append("The noise is public, and taken to be rounded so that its scale tells nothing about one person.")
    sentences.append("Any other release about the same people adds to what is known about them.")
    return tuple(sentences)


def _versions() -> dict[str, str]:
    others = {name: version(name) for name in ("scikit-learn", "numpy", "opendp")}
    return {"seepage": __version__, **others, "python": platform.python_version()}
