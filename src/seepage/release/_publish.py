"""A copy of a model that may leave the house, and a certificate that goes with it."""

import hashlib
import math
import os
import platform
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NoReturn, cast

import numpy as np

from seepage._amounts import on_grid, up_to_grid
from seepage._choices import Choice, check_choices, is_choice
from seepage._decision import Decision
from seepage._facts import Assumption
from seepage._noise import GaussianNoise, as_noise
from seepage._records import Json, fingerprint_of, to_json
from seepage._shapes import RobustCovariance
from seepage._tables import Array, Data, Listed, Model, column_name
from seepage._version import __version__
from seepage._writing import NewFile, write_together
from seepage.attackers import Publishable
from seepage.equations import EquationsInformation
from seepage.errors import InputError, PolicyError, UnsupportedError
from seepage.leakage import Leakage
from seepage.ledger import Entry, Ledger
from seepage.linear import measure
from seepage.linear.columns import Formula, single_steps, split
from seepage.linear.given import given, opened
from seepage.linear.information import COEFFICIENTS, ERRORS, ExactInformation, Fitted, Noised
from seepage.release._certificate import SCHEMA, Certificate, NoiseEntry, Published, fingerprints, fit_of
from seepage.release._choices import choices_before, choices_of, choices_of_estimates
from seepage.release._copy import SEARCHED, last_step
from seepage.release._estimates import Estimates
from seepage.release._mechanism import drawn, mechanism
from seepage.release._names import same_names, written
from seepage.release._policy import Policy
from seepage.release._preprocessing import PublishedSteps, Rules, Unstated, refuse
from seepage.release._raw import DIGITS, RawModel
from seepage.release._record import RECORD, record_of
from seepage.release._results import PublishedErrors, ResultTable
from seepage.release._seal import seal_of
from seepage.release._table import content_of, is_table
from seepage.release._terms import Terms

_Label = Literal["private", "public", "none"]

_NOTHING = "Nothing was published: something that the rows decided would leave uncounted"
# The hyperparameters that decide what is minimized.
_OBJECTIVE = (
    "C",
    "absolute",
    "alpha",
    "class_weight",
    "family",
    "fit_intercept",
    "intercept_scaling",
    "l1_ratio",
    "link",
    "link_parameter",
    "loss",
    "parameter",
    "penalize_intercept",
    "penalty",
    "power",
    "solver",
    "standardized",
    "ties",
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
        alone. Of `seepage.models.Equations`, the published numbers by name (`seepage.release.Estimates`).
    certificate : Certificate
        What was published, with what noise, which targets it meets, and what that assumes.
    key : bytes
        The key of the certificate's fingerprints.
    errors : PublishedErrors or None
        The variances of the coefficients, each with noise of its own, if they were published.
    """

    estimator: Model
    certificate: Certificate
    key: bytes
    errors: PublishedErrors | None = None

    def table(self, *, level: float = 0.95, exponentiated: bool = False) -> ResultTable:
        """Return the results as journals print them: estimates, and intervals that include the noise.

        Standard errors, intervals and p-values are there if standard errors were published:
        ``published=["coefficients", "standard errors"]``. All of the table may leave the house.

        Parameters
        ----------
        level : float, default=0.95
            How often intervals hold the coefficient, over draws of people and noise.
        exponentiated : bool, default=False
            Whether estimates and intervals are exponentiated: odds ratios, hazard ratios, ratios of rates.
        """
        published = self.certificate.published
        last = last_step(self.estimator)
        coefficients, intercepts = np.atleast_2d(last.coef_), np.ravel(getattr(last, "intercept_", 0.0))
        wide = published["count"] > coefficients.size
        parameters = np.column_stack([coefficients, intercepts]) if wide else coefficients
        estimates = np.asarray(parameters, dtype=np.float64).ravel()
        return ResultTable(tuple(published["parameters"]), estimates, self.errors, level, exponentiated, self._notes())

    def _notes(self) -> tuple[str, ...]:
        if self.errors is not None:
            return (
                f"Noise of {self.errors.added:g} standard errors was added to every coefficient to protect the people "
                "behind it; standard errors (robust), intervals and p-values include it.",
                f"Each variance carries relative noise of {self.errors.relative:g} of its own.",
            )
        return (
            "Every coefficient carries noise that protects the people behind it. Standard errors were not published.",
        )

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        record: bool = False,
    ) -> Certificate:
        """Write the estimator, and the certificate that belongs to exactly this file: both, or nothing.

        Parameters
        ----------
        path : path
            Where to write it: "model.skops" for scikit-learn, or "model.toml" for a table of its coefficients, which
            `ModelTable.read`, R and others read.
        certificate : path, optional
            Where to write the certificate; "model.certificate.json" by default.
        key : path, optional
            Where to keep the owner's key, in a file that nobody else can read (mode 0600); nowhere by default.
        record : bool, default=False
            Whether to describe model and certificate in an RO-Crate record, "ro-crate-metadata.json" in their folder.

        Returns
        -------
        Certificate
            As it was written: bound to the file.
        """
        bound, files = files_of(self, Path(path), certificate=certificate, key=key)
        if record:
            public = {Path(file.path): file.content for file in files[-2:] if isinstance(file.content, str | bytes)}
            if len({place.resolve().parent for place in public}) > 1:
                raise InputError("A record describes files of its own folder: write model and certificate to one.")
            text = record_of(bound, {place.name: content for place, content in public.items()})
            files.insert(0, NewFile(Path(path).with_name(RECORD), text))
        write_together(files)
        return bound

    def _repr_html_(self) -> str:
        # What may leave is in the certificate; the key is never shown.
        return self.certificate._repr_html_()

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
    outcome: Sequence[str] | None = None,
    success: object = None,
) -> tuple[Certificate, list[NewFile]]:
    """Return the certificate that is bound to the file of a publication, and all files to write, in order.

    A table says besides what the outcome is called, and which of two is a success: whoever knows may say.
    """
    said = publication.certificate
    content = content_of(publication.estimator, path, said, outcome, success)
    bound = publication.certificate.bound_to_hash(hashlib.sha256(content).hexdigest())
    beside = path.with_suffix(".certificate.json") if certificate is None else certificate
    files = [] if key is None else [NewFile(key, publication.key, private=True)]
    # The model comes last: it must not be there without its certificate.
    return bound, [*files, NewFile(beside, bound.text()), NewFile(path, content)]


@dataclass(frozen=True, eq=False)
class Ready:
    """A release that was measured and meets its policy, before any noise is drawn."""

    model: RawModel | Estimates
    """What it looks like when it leaves, without its numbers."""
    exact: Array
    """The parameters of the pipeline, in its own units, to which the noise is added."""
    noise: GaussianNoise
    draft: Certificate
    """What the certificate will say, but for its time and its seal."""
    leak: Leakage
    key: bytes
    errors: PublishedErrors | None = None
    """The variances of the coefficients, to which noise is added too, if they are published."""

    def draw(self, debit: Entry | None = None) -> Publication:
        """Draw the noise; each draw that anybody sees is a release of its own, and names the debit that paid for it."""
        estimator = self.model.with_parameters(drawn(self.exact, self.noise), noise=self.noise)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        paid: dict[str, int | str] | None = None if debit is None else {"entry": debit.number, "seal": debit.seal}
        certificate = replace(self.draft, created=now, seal=seal_of(estimator), ledger=paid)
        return Publication(estimator, certificate, self.key, None if self.errors is None else _drawn(self.errors))

    def check_written(self, path: Path, outcome: Sequence[str], success: object = None) -> None:
        """Refuse a file that this release cannot be written to, before anything is paid for and drawn."""
        if is_table(path):
            content_of(self.model.with_parameters(np.zeros_like(self.exact)), path, self.draft, outcome, success)

    def paid(
        self, ledger: Ledger, units: Mapping[str, str | float] | None, title: str | None, new_people: bool
    ) -> Entry:
        """Post the release; one that was paid for and not published is not paid for twice."""
        noise = repr(self.noise.scale if self.noise.covariance is None else np.asarray(self.noise.covariance).tolist())
        kind = str(self.draft.published["estimator"])
        request = fingerprint_of({"model": kind, "noise": noise, "private": self.draft.private})
        title = kind if title is None else title
        return ledger.post(self.leak, title=title, units=units, new_people=new_people, request=request)


def publish(
    model: Model,
    X: Data = None,
    y: Listed = None,
    *,
    noise_scale: float | GaussianNoise,
    accept: Policy | Mapping[str, object] | None,
    sample_weight: Listed = None,
    offset: Listed = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    public_preprocessing: Sequence[str] = (),
    public_penalty: bool = False,
    classes: Sequence[object] | None = None,
    categories: Mapping[str, Sequence[object]] | None = None,
    noise_chosen_without_data: bool = False,
    decision: Decision | Mapping[str, object] | None = None,
    ids: Listed = None,
    clusters: Listed = None,
    published: Sequence[str] | None = None,
    ledger: Ledger | None = None,
    units: Mapping[str, str | float] | None = None,
    new_people: bool = False,
) -> Publication:
    """Return a fitted linear model in raw units, or what solves equations, with noise, if the noise is enough.

    The noise is drawn by OpenDP's Gaussian mechanism, which is safe against attacks through the low bits of
    floating-point numbers. There is no seed: no draw can be made again.

    What is published has one coefficient for each unit of a numeric column and for each level of a category; scalers,
    imputers and encoders are folded in, and nothing that they took from the rows goes along. The noise has its scale in
    the units of the model's own features, theta; what is published is A theta (eq. 2.2), with noise of covariance A
    Sigma A^T, to eight digits. A cell that an imputer would have filled with a mean of these people is refused by the
    published model; a constant that you gave is filled in as before. Values that an encoder put together for being rare
    are not named: whatever has no name counts as one of them. Behind splines, powers and functions nothing is
    published: make such columns before.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine preprocessing; or a Cox model, whose
        coefficients are published as a `Cox` without a baseline hazard; or results of statsmodels, published as a `GLM`
        of the same family and link; or a `ModelTable`, published as the one or the other. Their own standard errors and
        p-values are functions of the same people, and stay. Or `Equations`, whose solution leaves as a table of
        numbers, and results of GEE, which solve some.
    X, y : array-like
        The data that it was fitted on. Results of statsmodels know theirs, a model of lifelines finds times and status
        in the frame, and a `ModelTable` all that it names.
    noise_scale : float or GaussianNoise
        The noise to add to the model's own parameters. It stands in the certificate, so it must be 1, 2 or 5 times a
        power of ten, as `seepage.calibrate` returns it: the digits of the smallest scale that protects everyone tell
        how exposed the most exposed person is. Of a noise with a shape the scale stands there, and the rule that made
        the shape, never its entries. The choice of the scale is not counted, and the certificate says so.
    accept : Policy, mapping or None
        The targets that the release must meet, as `seepage.calibrate` takes them. None publishes without any target,
        and the certificate says so.
    sample_weight : array-like of shape (n,), optional
        The weights that it was fitted with, taken as known to the attacker. What they tell, if rows made them, is not
        counted.
    offset : array-like of shape (n,), optional
        What was added to each row's margin when a `GLM` was fitted. It stays: the published model predicts for an
        offset of zero, or of the reader's own rows (`predict(X, offset)`).
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default.
    public_preprocessing : sequence of str, optional
        Steps whose constants are public, by name: "minmaxscaler", or "columntransformer.minmaxscaler" where two have
        one name. Needed for those that were fitted elsewhere, and for those that hold values of single people.
    public_penalty : bool, default=False
        Says that everybody may know how strong the penalty is. Needed where a search chose it with these rows
        (`RidgeCV`, `LogisticRegressionCV`, `GridSearchCV`): what the choice tells is not counted, and the certificate
        says so.
    classes : sequence, optional
        The classes that a classifier tells apart. They leave with it by name, so they are given, and not found in the
        rows: list those that everybody may know, and that somebody has each of them. Needed unless the label is public,
        true or false, or 0 or 1 of a binomial model.
    categories : mapping from str to sequence, optional
        The levels of each category of a formula or a `ModelTable`, likewise. Levels of a `OneHotEncoder` are given to
        that: ``OneHotEncoder(categories=[...])``.
    noise_chosen_without_data : bool, default=False
        Says that the noise was chosen without looking at these data: it may then be any number, or a covariance.
    decision : Decision or mapping, optional
        Who decided, by which rule and when; it stands in the certificate.
    ids : array-like of shape (n,) or str, optional
        Who each row is, or the column of X that says so: several rows of one person count as one. A ledger needs them.
    clusters : array-like of shape (n,) or str, optional
        Of `Equations` in which people who belong together (families, sites) meet: which cluster each row is of.
    published : sequence of str, optional
        What leaves: the model's own coefficients by default; of `Equations`, all parameters, or those that are named,
        such as ``["effect"]``. ``["coefficients", "standard errors"]`` publishes robust
        standard errors with them, for a `table` with intervals, beside noise in standard errors
        (``GaussianNoise(standard_errors=0.25)``): each variance carries relative noise of its own, and what all of them
        tell is counted in the same promise.
    ledger : Ledger, optional
        What all releases may give away together. The release is paid for before any noise is drawn, and refused if
        somebody's budget does not allow it. If a run ends between the two, the same call goes on without paying twice.
    units : mapping from attribute to str or float, optional
        The unit of each attribute that has one in the ledger, as `Ledger.post` takes them.
    new_people : bool, default=False
        Confirms that more than a tenth of the people are new to a ledger with releases.

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
    if ledger is None and (units is not None or new_people):
        raise InputError("units= and new_people= are compared with a ledger, and none is given: name ledger=.")
    model, X, ids, clusters, published = opened(model, X, y, ids, clusters, published)
    asked = given(
        model, X, y, sample_weight=sample_weight, offset=offset, ids=ids, published=published, to_publish=True
    )
    categories = levels_given(categories, own_encoder=asked.own_levels)
    terms = Terms(
        noise_scale,
        accept,
        asked.sample_weight,
        asked.offset,
        public_label,
        attributes,
        public_preprocessing,
        public_penalty,
        classes,
        categories,
        noise_chosen_without_data,
        decision,
        asked.ids,
        published,
        asked.remarks,
        clusters,
    )
    release = ready(asked.model, asked.X, asked.y, terms)
    if ledger is None:
        return release.draw()
    debit = release.paid(ledger, units, None, new_people)
    publication = release.draw(debit)
    # Noted before the caller sees the noise.
    ledger.released(debit, publication.certificate.text())
    return publication


def levels_given(
    categories: Mapping[str, Sequence[object]] | None, *, own_encoder: bool
) -> Mapping[str, Sequence[object]] | None:
    """Return the levels that were given; refuse them for encoders that take them, whether or not somebody has each."""
    if not own_encoder:
        return categories or {}
    if categories is not None:
        raise InputError(
            f"categories={categories!r} is for formulas and tables. Give the levels to the encoder, and fit again: "
            f"OneHotEncoder(categories={[list(levels) for levels in categories.values()]!r}), one list for each of its "
            "columns."
        )
    return None


def ready(model: Model, X: Data, y: Listed, terms: Terms) -> Ready:
    """Measure a release and hold it against its policy, without drawing any noise."""
    asked = _AskedToPublish.of(model, X, y, terms)
    if isinstance(model, Publishable):
        return _ready_estimates(model, asked, terms)
    fit = fit_of(model, X, y, terms.sample_weight, terms.offset)
    if fit.unpublished is not None:
        raise UnsupportedError(fit.unpublished)
    check_choices(choices_before(fit, terms), _NOTHING)
    # What has to be said or changed should be known before anything is measured.
    _preprocessing(fit, None, terms)
    if terms.published is None:
        # The mean of a count does not need its alpha: it stays.
        asked = replace(asked, leaves=(COEFFICIENTS,))
    leak = asked.measured()
    published = cast(Noised, leak.information)
    preprocessing = _preprocessing(fit, published.preprocessing.measured, terms)
    raw = RawModel.of(fit.model, fit.table, preprocessing)
    assumptions = (*published.assumptions, *terms.remarks)
    # With the covariance that its shape makes of these rows.
    choices = choices_of(fit, assumptions, published.noise, preprocessing, asked.policy, terms)
    asked.judge(leak, choices)
    noise, exact, key = published.noise, published.exact, secrets.token_bytes(32)
    errors = None
    if terms.published is not None and ERRORS in terms.published:
        errors = _errors_of(raw, cast(ExactInformation, published))
    heads, names = fit.named_outputs(len(exact)), raw.parameter_names()
    if heads is not None:
        names = [f"{head}: {name}" for head in heads for name in names]
    leaving: Published = {
        "estimator": fit.called,
        "outcome": _outcome(leak, fit, y),
        "hyperparameters": _hyperparameters(fit.model, searched=fit.search is not None),
        "parameters": names,
        "count": len(names),
        "preprocessing": {step: stored.origin.value for step, stored in preprocessing.constants.items()},
    }
    if errors is not None:
        leaving["standard_errors"] = errors.relative
    label: _Label = "public" if terms.public_label else "private"
    said = _assumptions((*published.assumptions, *terms.remarks), preprocessing)
    draft = asked.draft(leak, leaving, noise, label, choices, said, key)
    return Ready(raw, exact, noise, draft, leak, key, errors)


def _ready_estimates(model: Publishable, asked: "_AskedToPublish", terms: Terms) -> Ready:
    """Measure numbers that solve equations, and hold them against a policy, without drawing any noise."""
    for name in ("classes", "categories", "public_penalty"):
        if getattr(terms, name):
            raise InputError(
                f"{name}= says nothing of {model.kind}, of which numbers leave and no names: leave it out."
            )
    leak = asked.measured()
    choices = choices_of_estimates(leak.information.assumptions, asked.noise, asked.policy, terms)
    asked.judge(leak, choices)
    published = cast(EquationsInformation, leak.information)
    leaving: Published = {
        "estimator": type(model).__name__,
        "outcome": [],
        "hyperparameters": {},
        "parameters": list(published.names),
        "count": len(published.names),
        "preprocessing": {},
    }
    said = (
        *_may_leave(published.assumptions),
        "What carries the noise is the exact solution of the equations, not where a solver stopped.",
        *_USUAL,
    )
    key, blank = secrets.token_bytes(32), Estimates(dict.fromkeys(published.names, 0.0))
    draft = asked.draft(leak, leaving, published.noise, "none", choices, said, key)
    return Ready(blank, published.exact, published.noise, draft, leak, key)


@dataclass(frozen=True, eq=False)
class _AskedToPublish:
    """What is asked of a release, whatever is released: how it is measured, and held against its policy."""

    model: Model
    X: Data
    y: Listed
    terms: Terms
    noise: GaussianNoise
    policy: Policy | None
    decision: Decision | None
    leaves: Sequence[str] | None

    @classmethod
    def of(cls, model: Model, X: Data, y: Listed, terms: Terms) -> "_AskedToPublish":
        """Read terms, and refuse those that contradict themselves."""
        noise = as_noise(terms.noise_scale)
        policy = None if terms.accept is None else Policy.of(terms.accept)
        decision = None if terms.decision is None else Decision.of(terms.decision)
        if policy is not None and policy.is_empty:
            raise InputError("The policy sets no target. Pass accept=None to publish without any.")
        if not terms.noise_chosen_without_data:
            _check_grid(noise)
        # A missing OpenDP should be known before anything is measured.
        mechanism(1.0)
        return cls(model, X, y, terms, noise, policy, decision, terms.published)

    def measured(self) -> Leakage:
        """Return the measurement of the release."""
        terms = self.terms
        return measure(
            self.model,
            self.X,
            self.y,
            noise_scale=self.noise,
            sample_weight=terms.sample_weight,
            offset=terms.offset,
            clusters=terms.clusters,
            published=self.leaves,
            public_label=terms.public_label,
            attributes=terms.attributes,
            public_preprocessing=terms.public_preprocessing,
            ids=terms.ids,
        )

    def judge(self, leak: Leakage, choices: Sequence[Choice]) -> None:
        """Refuse a release that misses its policy, or whose choices nobody classified."""
        check_choices(choices, _NOTHING)
        if self.policy is not None:
            _check_policy(self.policy, leak, cast(Noised, leak.information).noise)

    def draft(
        self,
        leak: Leakage,
        leaving: Published,
        noise: GaussianNoise,
        label: "_Label",
        choices: Sequence[Choice],
        assumptions: tuple[str, ...],
        key: bytes,
    ) -> Certificate:
        """Return what the certificate will say, but for its time and its seal."""
        policy, terms = self.policy, self.terms
        return Certificate(
            schema=SCHEMA,
            created="",
            people=leak.information.count,
            published=leaving,
            noise=_noise(noise),
            private={"attributes": list(leak.information.attribute_names), "label": label},
            targets=("No target was set.",) if policy is None else tuple(policy.sentences()),
            qualifications=_qualifications(policy, leak),
            policy=None if policy is None else policy.entries(),
            untargeted=None
            if policy is None
            else cast(dict[str, Json], to_json(policy.attributes_without_target(leak))),
            decision=None if self.decision is None else self.decision.entries(),
            choices=tuple(cast(dict[str, str], to_json(one)) for one in choices),
            assumptions=assumptions,
            versions=_versions(),
            fingerprints=fingerprints(key, self.model, self.X, self.y, terms.sample_weight, terms.offset),
            seal={},
        )


def _errors_of(raw: RawModel, published: ExactInformation) -> PublishedErrors:
    """Return the variances of the coefficients that leave, as they were counted."""
    shape = published.noise.shape
    assert isinstance(shape, RobustCovariance)
    assert published.shaping.errors_of is not None
    (deviations,) = raw.deviations(published.noise)
    counted, leaving = published.shaping.errors_of, raw.rows()
    rows = leaving[leaving.any(axis=1)]
    if counted.shape != rows.shape or not np.allclose(_in_order(counted), _in_order(rows), rtol=1e-9, atol=0.0):
        raise UnsupportedError(
            "In the units of the columns this model has other coefficients than those whose standard errors were "
            "counted: an encoder put rare values together, or a step subtracts something before a model without an "
            'intercept. Publish ["coefficients"] alone, or give the encoder its levels, '
            "OneHotEncoder(categories=[...]), and the model an intercept."
        )
    freedom = published.count - published.exact.size
    # Without an intercept none leaves, and it has no variance.
    return PublishedErrors(
        (deviations[: len(leaving)] / shape.scale) ** 2, shape.scale, shape.variances, float(freedom)
    )


def _in_order(rows: Array) -> Array:
    return rows[np.lexsort(rows.T)]


def _drawn(errors: PublishedErrors) -> PublishedErrors:
    """Return variances after OpenDP's Gaussian mechanism on their logarithms."""
    at = errors.variances > 0
    noisy = np.array(mechanism(errors.relative)(np.log(errors.variances[at]).tolist()))
    found = np.zeros_like(errors.variances)
    found[at] = [float(f"{value:.{DIGITS}g}") for value in np.exp(noisy)]
    return replace(errors, variances=found)


def _outcome(leak: Leakage, fit: Fitted, y: Listed) -> list[str]:
    """Return what the model predicts: among the attributes if it is private, and called as it was given if not."""
    return list(leak.information.outcome or fit.outcome_names or [column_name(y, "outcome")])


def _check_grid(noise: GaussianNoise) -> None:
    """Refuse a noise that may have been fitted to the most exposed person."""
    way_out = (
        "if it was chosen without looking at the data, say so: noise_chosen_without_data=True (on the command line, "
        "--noise-chosen-without-data)"
    )
    scale = noise.scale if noise.shape is None else noise.shape.scale
    if scale is None:
        raise InputError(
            f"The entries of a noise covariance can tell about the data that it was chosen for; {way_out}."
        )
    if isinstance(noise.shape, RobustCovariance) and not on_grid(noise.shape.variances):
        raise InputError(
            f"variances is {noise.shape.variances!r}, which is not 1, 2 or 5 times a power of ten. Round it up to "
            f"{up_to_grid(noise.shape.variances):g}; or, {way_out}."
        )
    if not on_grid(scale):
        raise InputError(
            f"noise_scale is {scale!r}, which is not 1, 2 or 5 times a power of ten. The digits of a scale that "
            "was chosen for the data tell how exposed the most exposed person is. Round it up to "
            f"{up_to_grid(scale):g}; or, {way_out}."
        )


def check_leaving(model: Model, X: Data, y: Listed, terms: Terms) -> None:
    """Refuse names and constants of a model that would leave without a word, all at once."""
    _preprocessing(fit_of(model, X, y, terms.sample_weight, terms.offset), None, terms)


def _preprocessing(fit: Fitted, measured: frozenset[str] | None, terms: Terms) -> PublishedSteps:
    """Return what the steps of a model have stored; refuse what must not leave, all of it at once.

    Before anything is measured (None), nothing is refused for not being part of the measurement.
    """
    if any(isinstance(step, Formula) for step in single_steps(split(fit.model)[0]).values()):
        raise UnsupportedError(
            "A model with a formula is not published yet: what its terms learned would have to go along. Make its "
            "columns before, with a OneHotEncoder for categories in a Pipeline before seepage.models.Cox or "
            "CoxPHSurvivalAnalysis, and publish that."
        )
    if fit.affine.curves:
        raise UnsupportedError(
            f"The step {fit.affine.curves[0].path!r} makes powers, products or curves of columns. Such a model is "
            "measured, and not published: make these columns before, fit the model on them, and publish that."
        )
    private = frozenset(fit.private_columns(terms.attributes))
    rules = Rules(fit.table, private, terms.public_preprocessing, terms.categories, measured)
    preprocessing, unstated = rules.read(split(fit.model)[0])
    refuse([*_unstated_classes(fit, terms), *unstated])
    return preprocessing


def _unstated_classes(fit: Fitted, terms: Terms) -> list[Unstated]:
    """Return names of classes that were found in the rows: which they are can tell what one person's is."""
    classes = fit.classes
    known, given = [] if classes is None else classes.tolist(), terms.classes
    if given is not None and not same_names(known, given):
        raise InputError(
            f"classes={list(given)!r} was given, and the model tells apart {known!r}. List the same, and fit again if "
            "one is missing from the rows."
        )
    if classes is None or given is not None or terms.public_label or classes.dtype.kind == "b":
        return []
    if getattr(last_step(fit.model), "family", None) == "binomial" and classes.dtype.kind in "iuf":
        # The family has 0 and 1, whatever the rows have.
        return []
    argument, option = f"classes={known!r}", f"--classes {shlex.quote(written(known))}"
    reason = InputError(
        f"The published model would name the classes {known!r}, as it found them in the rows, and that one is there "
        f"can tell who has it. If everybody may know that somebody has each, list them: {argument} (on the command "
        f"line, {option})."
    )
    return [Unstated("which classes there are", argument, option, reason)]


def _check_policy(policy: Policy, leak: Leakage, noise: GaussianNoise) -> None:
    missed = policy.violations(leak)
    if not missed:
        return
    factor, every = max(missed.values()), len(policy.targets())
    lines = [f"This release misses its policy ({len(missed)} of {every} targets), so nothing was published:"]
    # All digits of a factor together tell how exposed the most exposed person is.
    lines += [f"- {one.sentence()} {one.missing(up_to_grid(needed))}" for one, needed in missed.items()]
    if math.isinf(factor):
        raise PolicyError("\n".join(lines), factor)
    scale = noise.scale if noise.shape is None else noise.shape.scale
    if scale is not None:
        enough = up_to_grid(scale * factor)
        factor = enough / scale
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


def _noise(noise: GaussianNoise) -> NoiseEntry:
    found: NoiseEntry = {"distribution": "Gaussian", "mechanism": "OpenDP make_gaussian"}
    if noise.scale is not None:
        return {**found, "scale": noise.scale}
    if noise.shape is not None:
        found |= {"scale": noise.shape.scale, "shape": noise.shape.rule()}
        return {**found, "unit": "standard errors"} if isinstance(noise.shape, RobustCovariance) else found
    return {**found, "covariance": np.asarray(noise.covariance).tolist()}


# What a target of each kind does and does not mean: no target is stated without it.
_MEANING = {
    "error_floor": "This is about unbiased guesses from this release alone, by an attacker who knows everything else; "
    "one who has a prior can be nearer by leaning on it.",
    "success_rate": "This is about attackers who see this release alone, know everything else and hold both values for "
    "equally likely beforehand; one who knows better beforehand is right more often.",
    "eta": "This is about unbiased guesses from this release alone, by an attacker who knows everybody else's values: "
    "none of any combination of a person's values has a standard error below 1/eta.",
}


def _qualifications(policy: Policy | None, leak: Leakage) -> tuple[str, ...]:
    if policy is None:
        return ("Nothing is promised.",)
    meanings, refitted = [_MEANING[target.kind] for target in policy.targets()], policy.people_refitted(leak)
    # How many people there are is not published.
    counts = {
        name: "everybody" if count == leak.information.count else f"{count:,}" for name, count in refitted.items()
    }
    return (*meanings, *(f"People for whom the rate of {name} is exact: {count}." for name, count in counts.items()))


def _assumptions(assumptions: tuple[Assumption, ...], preprocessing: PublishedSteps) -> tuple[str, ...]:
    """Return what is taken for granted beside the choices, which have a list of their own."""
    sentences = [*_may_leave(assumptions)]
    sentences.append("What carries the noise is the exact minimizer, not the parameters where the solver stopped.")
    if preprocessing.constants:
        sentences.append(
            "The noise was added in the units that the model works in behind its preprocessing. The parameters were "
            "then turned into the units of the raw columns, and the noise with them; how they were turned is not "
            "published."
        )
    return (*sentences, *_USUAL)


_USUAL = (
    f"Published parameters are rounded to {DIGITS} digits.",
    "Any other release about the same people adds to what is known about them.",
)


def _may_leave(assumptions: tuple[Assumption, ...]) -> Iterator[str]:
    """Yield what is taken for granted in sentences, without the choices and without what is about the rows."""
    # What has a number about the rows, such as how near the solver came, may not leave; and that it is there tells too.
    return (
        one.sentence()
        for one in assumptions
        if not is_choice(one) and all(number.may_leave for number in one.numbers.values())
    )


def _versions() -> dict[str, str]:
    others = {name: version(name) for name in ("scikit-learn", "numpy", "opendp")}
    return {"seepage": __version__, **others, "python": platform.python_version()}
