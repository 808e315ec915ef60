"""A copy of a model that may leave the house, and a certificate that goes with it."""

import hashlib
import math
import os
import platform
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from seepage._amounts import on_grid, up_to_grid
from seepage._decision import Decision
from seepage._errors import InputError, MissingExtraError, PolicyError, UnsupportedError
from seepage._noise import GaussianNoise, as_noise
from seepage._records import Json
from seepage._tables import Data, Listed, Model
from seepage._version import __version__
from seepage._writing import NewFile, write_together
from seepage.leakage import Leakage
from seepage.linear import measure
from seepage.linear.columns import split
from seepage.linear.information import Fit, LinearInformation
from seepage.linear.rows import InMemory
from seepage.release._certificate import SCHEMA, Certificate, Noise, fingerprints
from seepage.release._copy import SEARCHED, last_step
from seepage.release._mechanism import drawn, mechanism
from seepage.release._policy import Policy
from seepage.release._preprocessing import Preprocessing, Rules
from seepage.release._raw import DIGITS, RawModel
from seepage.release._seal import seal_of

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
    """A model in raw units with noise, its certificate, and the owner's key.

    `estimator` and `certificate` may leave the house. `key` stays with the owner, who can show with it later that the
    certificate belongs to this model and data (`certificate.matches`). So that it cannot leave by accident, a
    publication as a whole cannot be pickled: pickle its `estimator`.

    Attributes
    ----------
    estimator : estimator or Pipeline
        The model with the steps before it folded in: coefficients for each unit of a raw column and for each level of a
        category, all of which carry fresh noise. It takes the rows that the model took, and opens with scikit-learn
        alone.
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
        bound, files = files_of(self, Path(path), certificate=certificate, key=key, sign=sign)
        write_together(files)
        return bound

    def __repr__(self) -> str:
        name = self.certificate.published["estimator"]
        return f"Publication({name} with noise, certificate; its key stays with the owner)"

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "A publication holds the owner's key, which must not travel with it. Write what may leave with "
            "publication.write(path), and keep publication.key to yourself."
        )


def files_of(
    publication: Publication,
    path: Path,
    *,
    certificate: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
    sign: str | os.PathLike[str] | None,
) -> tuple[Certificate, list[NewFile]]:
    """Return the certificate that is bound to the file of a publication, and all files to write, in order."""
    content = _as_skops(publication.estimator)
    bound = publication.certificate.bound_to_hash(hashlib.sha256(content).hexdigest())
    if sign is not None:
        bound = bound.signed(sign)
    beside = path.with_suffix(".certificate.json") if certificate is None else certificate
    files = [] if key is None else [NewFile(key, publication.key, private=True)]
    # The model comes last: it must not be there without its certificate.
    return bound, [*files, NewFile(beside, bound.text()), NewFile(path, content)]


def _as_skops(estimator: Model) -> bytes:
    try:
        from skops import io
    except ImportError:
        raise MissingExtraError(
            'Models are written with skops, which is not installed. Install it with: pip install "seepage[cli]"'
        ) from None
    content: bytes = io.dumps(estimator)
    return content


@dataclass(frozen=True, eq=False)
class Terms:
    """On what terms a model is published; `publish` says what the fields are."""

    noise_scale: float | GaussianNoise
    accept: Policy | Mapping[str, object] | None
    sample_weight: Listed = None
    public_label: bool = False
    attributes: Sequence[str] | None = None
    public_preprocessing: Sequence[str] = ()
    smallest_group: int = 10
    noise_chosen_without_data: bool = False
    decision: Decision | Mapping[str, object] | None = None


@dataclass(frozen=True, eq=False)
class Ready:
    """A release that was measured and meets its policy, before any noise is drawn."""

    model: RawModel
    exact: Array
    """The parameters of the pipeline, in its own units, to which the noise is added."""
    noise: GaussianNoise
    draft: Certificate
    """What the certificate will say, but for its time and its seal."""
    leak: Leakage
    key: bytes

    def draw(self) -> Publication:
        """Draw the noise; each draw that anybody sees is a release of its own."""
        estimator = self.model.with_parameters(drawn(self.exact, self.noise))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Publication(estimator, replace(self.draft, created=now, seal=seal_of(estimator)), self.key)


def publish(
    model: Model,
    X: Data,
    y: Listed,
    *,
    noise_scale: float | GaussianNoise,
    accept: Policy | Mapping[str, object] | None,
    sample_weight: Listed = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    public_preprocessing: Sequence[str] = (),
    smallest_group: int = 10,
    noise_chosen_without_data: bool = False,
    decision: Decision | Mapping[str, object] | None = None,
) -> Publication:
    """Return a fitted linear model in raw units that carries noise, if the noise is enough.

    The noise is drawn by OpenDP's Gaussian mechanism, which is safe against attacks through the low bits of
    floating-point numbers. There is no seed: no draw can be made again.

    What is published has one coefficient for each unit of a numeric column and for each level of a category; scalers,
    imputers and encoders are folded in, and nothing that they took from the rows goes along. The noise has its scale in
    the units of the model's own features, theta; what is published is A theta (eq. 2.2), with noise of covariance A
    Sigma A^T, to eight digits. A cell that an imputer would have filled with a mean of these people is refused by the
    published model; a constant that you gave is filled in as before. Values that an encoder put together for being rare
    are not named: whatever has no name counts as one of them.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine preprocessing.
    X, y : array-like
        The data that it was fitted on.
    noise_scale : float or GaussianNoise
        The noise to add to the model's own parameters. It stands in the certificate, so it must be 1, 2 or 5 times a
        power of ten, as `seepage.calibrate` returns it: the digits of the smallest scale that protects everyone tell
        how exposed the most exposed person is.
    accept : Policy, mapping or None
        The targets that the release must meet, as `seepage.calibrate` takes them. None publishes without any target,
        and the certificate says so.
    sample_weight : array-like of shape (n,), optional
        The weights that it was fitted with.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default.
    public_preprocessing : sequence of str, optional
        Steps whose constants are public, by name: "minmaxscaler", or "columntransformer.minmaxscaler" where two have
        one name. Needed for those that were fitted elsewhere, and for those that hold values of single people.
    smallest_group : int, default=10
        The fewest people who must have a level of a category, or a class, for its name to be published. Levels that
        were given to the encoder (`categories=`) are public.
    noise_chosen_without_data : bool, default=False
        Says that the noise was chosen without looking at these data: it may then be any number, or a covariance.
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
    terms = Terms(
        noise_scale,
        accept,
        sample_weight,
        public_label,
        attributes,
        public_preprocessing,
        smallest_group,
        noise_chosen_without_data,
        decision,
    )
    return ready(model, X, y, terms).draw()


def ready(model: Model, X: Data, y: Listed, terms: Terms) -> Ready:
    """Measure a release and hold it against its policy, without drawing any noise."""
    noise = as_noise(terms.noise_scale)
    policy = None if terms.accept is None else Policy.of(terms.accept)
    decision = None if terms.decision is None else Decision.of(terms.decision)
    if policy is not None and policy.is_empty:
        raise InputError("The policy sets no target. Pass accept=None to publish without any.")
    if not terms.noise_chosen_without_data:
        _check_grid(noise)
    # A missing OpenDP should be known before anything is measured.
    mechanism(1.0)
    fit = Fit.of(model, X, y, terms.sample_weight)
    leak = measure(
        model,
        X,
        y,
        noise_scale=noise,
        sample_weight=terms.sample_weight,
        public_label=terms.public_label,
        attributes=terms.attributes,
        public_preprocessing=terms.public_preprocessing,
    )
    raw, preprocessing = _in_raw_units(model, fit, leak, terms)
    if policy is not None:
        _check_policy(policy, leak, noise)
    exact, key = exact_parameters(fit, leak), secrets.token_bytes(32)
    names = _parameter_names(raw.parameter_names(), fit, len(exact))
    draft = Certificate(
        schema=SCHEMA,
        created="",
        people=leak.information.count,
        published={
            "estimator": fit.problem.estimator,
            "hyperparameters": _hyperparameters(model, searched=fit.search is not None),
            "parameters": names,
            "count": len(names),
            "preprocessing": {step: origin.value for step, origin in preprocessing.constants.items()},
        },
        noise=_noise(noise),
        private={
            "attributes": list(leak.information.attribute_names),
            "label": "public" if terms.public_label else "private",
        },
        targets=("No target was set.",) if policy is None else tuple(policy.sentences()),
        qualifications=_qualifications(policy),
        policy=None if policy is None else _machine_readable(policy),
        decision=None if decision is None else decision.entries(),
        assumptions=_assumptions(leak, preprocessing, noise_chosen_without_data=terms.noise_chosen_without_data),
        versions=_versions(),
        fingerprints=fingerprints(key, model, fit),
        seal={},
    )
    return Ready(raw, exact, noise, draft, leak, key)


def _check_grid(noise: GaussianNoise) -> None:
    """Refuse a noise that may have been fitted to the most exposed person."""
    way_out = (
        "if it was chosen without looking at the data, say so: noise_chosen_without_data=True (on the command line, "
        "--noise-chosen-without-data)"
    )
    if noise.scale is None:
        raise InputError(
            f"The entries of a noise covariance can tell about the data that it was chosen for; {way_out}."
        )
    if not on_grid(noise.scale):
        raise InputError(
            f"noise_scale is {noise.scale!r}, which is not 1, 2 or 5 times a power of ten. The digits of a scale that "
            "was chosen for the data tell how exposed the most exposed person is. Round it up to "
            f"{up_to_grid(noise.scale):g}; or, {way_out}."
        )


def _in_raw_units(model: Model, fit: Fit[InMemory], leak: Leakage, terms: Terms) -> tuple[RawModel, Preprocessing]:
    """Fold the steps of a model in; refuse what must not leave."""
    if terms.smallest_group < 2:
        raise InputError(f"smallest_group must be at least 2, not {terms.smallest_group!r}: one person is no group.")
    if not terms.public_label:
        _check_classes(fit, terms.smallest_group)
    private = frozenset(fit.private_columns(terms.attributes))
    assert isinstance(leak.information, LinearInformation)
    measured = leak.information.preprocessing.measured
    rules = Rules(fit.table, private, terms.public_preprocessing, terms.smallest_group, measured)
    preprocessing = rules.read(split(model)[0])
    return RawModel.of(model, fit.table, preprocessing), preprocessing


def _check_classes(fit: Fit[InMemory], smallest_group: int) -> None:
    classes = fit.problem.labels.classes
    if classes is None:
        return
    held = np.bincount(fit.problem.labels.positions(fit.rows.labels), minlength=len(classes))
    for label in classes[held < smallest_group].tolist():
        raise InputError(
            f"Fewer than {smallest_group} people have the class {label!r}, and the published model would name it. Put "
            "rare classes together and fit again; or, if who has which class is known, say public_label=True."
        )


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


def _hyperparameters(model: Model, *, searched: bool) -> dict[str, Json]:
    settings = last_step(model).get_params(deep=False)
    # What a search chose it chose by the data: nothing in the published model needs it.
    kept = [name for name in _OBJECTIVE if name in settings and not (searched and name in SEARCHED)]
    return {name: _plain(settings[name]) for name in kept}


def _parameter_names(each: Sequence[str], fit: Fit[InMemory], outputs: int) -> list[str]:
    if outputs == 1:
        return list(each)
    classes = fit.problem.labels.classes
    heads = [f"output {i}" for i in range(outputs)] if classes is None else [f"class {label}" for label in classes]
    return [f"{head}: {name}" for head in heads for name in each]


def _plain(value: object) -> Json:
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


def _noise(noise: GaussianNoise) -> Noise:
    found: Noise = {"distribution": "Gaussian", "mechanism": "OpenDP make_gaussian"}
    if noise.scale is not None:
        return {**found, "scale": noise.scale}
    return {**found, "covariance": np.asarray(noise.covariance).tolist()}


def _machine_readable(policy: Policy) -> dict[str, Json]:
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


def _assumptions(leak: Leakage, preprocessing: Preprocessing, *, noise_chosen_without_data: bool) -> tuple[str, ...]:
    # How near the solver came is a number about the rows, and of no concern: the minimizer itself is published.
    sentences = [one.sentence() for one in leak.information.assumptions if one.kind != "minimizer"]
    sentences.append("What carries the noise is the exact minimizer, not the parameters where the solver stopped.")
    if preprocessing.constants:
        sentences.append(
            "The noise is on the parameters theta of the model behind its preprocessing. Published is A theta, the "
            "same model in units of the raw columns, where the covariance of the noise is A Sigma A^T; A itself is not "
            "published."
        )
    sentences.append(f"Published parameters are rounded to {DIGITS} digits.")
    sentences.append(
        "The noise was chosen without looking at the data, says whoever published this."
        if noise_chosen_without_data
        else "The noise scale is on a grid that was fixed beforehand: 1, 2 and 5 times powers of ten."
    )
    sentences.append("Any other release about the same people adds to what is known about them.")
    return tuple(sentences)


def _versions() -> dict[str, str]:
    others = {name: version(name) for name in ("scikit-learn", "numpy", "opendp")}
    return {"seepage": __version__, **others, "python": platform.python_version()}
