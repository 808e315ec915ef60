"""A copy of a model that may leave the house, and a certificate that goes with it."""

import hashlib
import math
import os
import platform
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._amounts import up_to_grid
from seepage._errors import InputError, MissingExtraError, PolicyError, UnsupportedError
from seepage._noise import GaussianNoise, as_noise
from seepage._tables import Data, Listed, Model
from seepage._version import __version__
from seepage._writing import NewFile, write_together
from seepage.leakage import Leakage
from seepage.linear import measure
from seepage.linear.columns import feature_names
from seepage.linear.information import Fit, LinearInformation
from seepage.linear.rows import InMemory
from seepage.release._certificate import SCHEMA, Certificate, fingerprints
from seepage.release._copy import copy_with, last_step
from seepage.release._decision import Decision
from seepage.release._mechanism import drawn, mechanism
from seepage.release._policy import Policy
from seepage.release._seal import seal_of
from seepage.release._steps import real_steps

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

    estimator: Model
    certificate: Certificate
    key: bytes

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        sign: str | os.PathLike[str] | None = None,
    ) -> Certificate:
        """Write the estimator with skops, and the certificate that belongs to exactly this file: both, or nothing.

        Parameters
        ----------
        path : path
            Where to write the estimator, such as "model.skops".
        certificate : path, optional
            Where to write the certificate; "model.certificate.json" by default.
        key : path, optional
            Where to keep the owner's key, in a file that nobody else can read (mode 0600); nowhere by default.
        sign : path, optional
            The secret key to sign the certificate with, made by `seepage.release.new_key`.

        Returns
        -------
        Certificate
            As it was written: bound to the file, and signed.
        """
        content = _as_skops(self.estimator)
        bound = self.certificate.bound_to_hash(hashlib.sha256(content).hexdigest())
        if sign is not None:
            bound = bound.signed(sign)
        place = Path(path)
        beside = place.with_suffix(".certificate.json") if certificate is None else Path(certificate)
        files = [] if key is None else [NewFile(key, self.key, private=True)]
        # The model comes last: it must not be there without its certificate.
        write_together([*files, NewFile(beside, bound.text()), NewFile(place, content)])
        return bound

    def __repr__(self) -> str:
        name = self.certificate.published["estimator"]
        return f"Publication({name} with noise, certificate; its key stays with the owner)"

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "A publication holds the owner's key, which must not travel with it. Write what may leave with "
            "publication.write(path), and keep publication.key to yourself."
        )


def _as_skops(estimator: Any) -> bytes:
    try:
        from skops import io
    except ImportError:
        raise MissingExtraError(
            'Models are written with skops, which is not installed. Install it with: pip install "seepage[cli]"'
        ) from None
    content: bytes = io.dumps(estimator)
    return content


@dataclass(frozen=True, eq=False)
class Ready:
    """A release that was measured and meets its policy, before any noise is drawn."""

    model: Any
    exact: Array
    noise: GaussianNoise
    entries: Mapping[str, Any]
    """What the certificate will say, but for its time and its seal."""
    key: bytes

    def draw(self) -> Publication:
        """Draw the noise; each draw that anybody sees is a release of its own."""
        estimator = copy_with(self.model, drawn(self.exact, self.noise))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        certificate = Certificate(schema=SCHEMA, created=now, **self.entries, seal=seal_of(estimator))
        return Publication(estimator, certificate, self.key)


def publish(
    model: Model,
    X: Data,
    y: Listed,
    *,
    noise_scale: float | GaussianNoise,
    accept: Policy | Mapping[str, Any] | None,
    sample_weight: ArrayLike | None = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    decision: Decision | Mapping[str, Any] | None = None,
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
    decision : Decision or mapping, optional
        Who decided, by which rule and when; it stands in the certificate.

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
    return ready(
        model,
        X,
        y,
        noise_scale=noise_scale,
        accept=accept,
        sample_weight=sample_weight,
        public_label=public_label,
        attributes=attributes,
        decision=decision,
    ).draw()


def ready(
    model: Model,
    X: Data,
    y: Listed,
    *,
    noise_scale: float | GaussianNoise,
    accept: Policy | Mapping[str, Any] | None,
    sample_weight: ArrayLike | None = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    decision: Decision | Mapping[str, Any] | None = None,
) -> Ready:
    """Measure a release and hold it against its policy, without drawing any noise; `publish` says the rest."""
    noise = as_noise(noise_scale)
    policy = None if accept is None else Policy.of(accept)
    decision = None if decision is None else Decision.of(decision)
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
    entries = {
        "people": leak.information.count,
        "published": _published(model, fit, exact),
        "noise": _noise(noise),
        "private": {
            "attributes": list(leak.information.attribute_names),
            "label": "public" if public_label else "private",
        },
        "targets": ("No target was set.",) if policy is None else tuple(policy.sentences()),
        "qualifications": _qualifications(policy),
        "policy": None if policy is None else _machine_readable(policy),
        "decision": None if decision is None else decision.entries(),
        "assumptions": _assumptions(model, leak),
        "versions": _versions(),
        "fingerprints": fingerprints(key, model, fit),
    }
    return Ready(model, exact, noise, entries, key)


def exact_parameters(fit: Fit[InMemory], leak: Leakage) -> Array:
    """Return the exact minimizer as it would be published, shape (published outputs, p)."""
    assert isinstance(leak.information, LinearInformation)
    return fit.problem.basis @ leak.information.geometry.parameters.T


def _check_policy(policy: Policy, leak: Leakage, noise: GaussianNoise) -> None:
    missed = policy.shortfalls(leak)
    if not missed:
        return
    factor, every = max(missed.values()), len(policy.targets())
    lines = [f"This release misses its policy ({len(missed)} of {every} targets), so nothing was published:"]
    # All digits of a factor together tell how exposed the most exposed person is.
    lines += [f"- {one.sentence()} {one.missing(up_to_grid(needed))}" for one, needed in missed.items()]
    if math.isinf(factor):
        raise PolicyError("\n".join(lines), factor)
    if noise.scale is not None:
        enough = up_to_grid(noise.scale * factor)
        factor = enough / noise.scale
        lines.append(f"A noise scale of {enough:g} meets all of them.")
    else:
        factor = up_to_grid(factor)
        lines.append(f"All of them are met when the covariance is multiplied by {factor**2:g}.")
    raise PolicyError("\n".join(lines), factor)


def _published(model: Model, fit: Fit[InMemory], exact: Array) -> dict[str, Any]:
    settings = last_step(model).get_params(deep=False)
    return {
        "estimator": fit.problem.estimator,
        "hyperparameters": {name: _plain(settings[name]) for name in _OBJECTIVE if name in settings},
        "parameters": _parameter_names(fit, len(exact)),
        "count": int(exact.size),
        "exact_steps": real_steps(model),
    }


def _parameter_names(fit: Fit[InMemory], outputs: int) -> list[str]:
    each = [*feature_names(fit.affine, fit.table.names), *(["intercept"] if fit.problem.intercept else [])]
    if outputs == 1:
        return each
    classes = fit.problem.labels.classes
    heads = [f"output {i}" for i in range(outputs)] if classes is None else [f"class {label}" for label in classes]
    return [f"{head}: {name}" for head in heads for name in each]


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


# What a target of each kind does and does not mean: no target is stated without it.
_MEANING = {
    "error_floor": "This is about unbiased guesses from this release alone, by an attacker who knows everything else; "
    "one who has a prior can be nearer by leaning on it.",
    "success_rate": "This is about attackers who see this release alone, know everything else and hold both values for "
    "equally likely beforehand; one who knows better beforehand is right more often.",
    "eta": "This is about unbiased guesses from this release alone, by an attacker who knows everybody else's values: "
    "no guess of any combination of a person's values has a standard error below 1/eta.",
}


def _qualifications(policy: Policy | None) -> tuple[str, ...]:
    if policy is None:
        return ("Nothing is promised.",)
    return tuple(_MEANING[target.kind] for target in policy.targets())


def _assumptions(model: Model, leak: Leakage) -> tuple[str, ...]:
    # How near the solver came is a number about the rows, and of no concern: the minimizer itself is published.
    sentences = [one.sentence() for one in leak.information.assumptions if one.kind != "minimizer"]
    sentences.append("What carries the noise is the exact minimizer, not the parameters where the solver stopped.")
    steps = real_steps(model)
    if steps:
        sentences.append(
            f"Published as they are, without noise: {', '.join(steps)}. What they took from the data, such as a "
            "smallest and a largest value, is there to read."
        )
    # The smallest scale that meets a target for everyone tells how exposed the most exposed person is.
    sentences.append("The noise is public, and taken to be rounded so that its scale tells nothing about one person.")
    sentences.append("Any other release about the same people adds to what is known about them.")
    return tuple(sentences)


def _versions() -> dict[str, str]:
    others = {name: version(name) for name in ("scikit-learn", "numpy", "opendp")}
    return {"seepage": __version__, **others, "python": platform.python_version()}
