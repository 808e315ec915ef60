"""What a publication says about itself: a record for governance without any person's value inside.

Everything here is chosen by the owner (targets, noise), public (names, versions, counts) or keyed (fingerprints). A
largest or smallest value over people is one person's value, so none is stored.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TypedDict

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from seepage import pages
from seepage._choices import Choice
from seepage._decision import Decision
from seepage._python import NotRequired
from seepage._records import Json, fingerprint_of, from_json
from seepage._schema import read_document
from seepage._tables import Column, Data, Listed, Model, Table
from seepage._writing import write_file
from seepage.attackers import Publishable
from seepage.errors import InputError
from seepage.linear.given import Given, opened
from seepage.linear.information import Fitted
from seepage.meaning import Untargeted
from seepage.pages import Document, Section, counted, name
from seepage.release._seal import hash_of_file

SCHEMA = "urn:seepage:certificate:5"
SCHEMA_FILE = Path(__file__).with_name("certificate.schema.json")


class Published(TypedDict):
    """What was published."""

    estimator: str
    outcome: list[str]
    hyperparameters: Mapping[str, Json]
    parameters: list[str]
    count: int
    preprocessing: Mapping[str, str]
    standard_errors: NotRequired[float]


class NoiseEntry(TypedDict):
    """The noise that was added: a scale, a covariance, or a scale and the rule that made a covariance."""

    distribution: str
    mechanism: str
    scale: NotRequired[float]
    unit: NotRequired[str]
    covariance: NotRequired[list[list[float]]]
    shape: NotRequired[str]


class Private(TypedDict):
    """What was protected."""

    attributes: list[str]
    label: str


@dataclass(frozen=True)
class Certificate:
    """What was published, with what noise, which targets it meets, and what that assumes.

    Holds no value of a single person: it says "everyone's age floor is at least 5", not what the smallest floor is.
    Made by `seepage.publish`; the JSON follows the schema that ships with the package (`certificate.schema.json`).

    Attributes
    ----------
    schema : str
        The version of the JSON schema.
    created : str
        When, in UTC.
    people : int
        How many people the model was fitted on.
    published : mapping
        The estimator's class, what it predicts, its hyperparameters, the names of the parameters that carry noise, and
        where what the preprocessing steps have stored comes from; none of it is published.
    noise : mapping
        The noise that was added.
    private : mapping
        The attributes that were protected, and whether the label was.
    targets : tuple of str
        The targets that are met, in sentences.
    qualifications : tuple of str
        What each target means and does not mean, in sentences, in the order of the targets.
    policy : mapping or None
        The same for a machine; None when no target was set.
    untargeted : mapping or None
        The private attributes that no target limits, which of them the model predicts, and whether they were declared
        public; None when no target was set.
    decision : mapping or None
        Who decided, by which rule and when, as they said it; None when nobody said.
    choices : tuple of mapping
        Everything between the rows and what left that the rows decided, or could have decided: for each its kind, what
        was chosen, whether that is counted or declared public, and how or by whom.
    assumptions : tuple of str
        What all of this takes for granted, in sentences.
    versions : mapping
        Of the software.
    fingerprints : mapping
        HMAC-SHA256 of the data and of the exact model, under the owner's key.
    seal : mapping
        SHA-256 of the noisy parameters, and of the file that holds them if there is one.
    ledger : mapping or None
        The entry of a ledger that has paid for it: its number, and its seal under the ledger's key, which says nothing
        to whoever lacks it; None when it was published without one.
    """

    schema: str
    created: str
    people: int
    published: Published
    noise: NoiseEntry
    private: Private
    targets: tuple[str, ...]
    qualifications: tuple[str, ...]
    policy: Mapping[str, Json] | None
    untargeted: Mapping[str, Json] | None
    decision: Mapping[str, str] | None
    choices: tuple[Mapping[str, str], ...]
    assumptions: tuple[str, ...]
    versions: Mapping[str, str]
    fingerprints: Mapping[str, str]
    seal: Mapping[str, str | None]
    ledger: Mapping[str, int | str] | None = None

    def json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.entries(), indent=2, allow_nan=False)

    def entries(self) -> dict[str, object]:
        """Return what it says, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        # One that no ledger has paid for says nothing of any.
        return {name: value for name, value in found.items() if name != "ledger" or value is not None}

    def text(self) -> str:
        """Return what a file of this certificate holds, to the last byte."""
        return self.json() + "\n"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a JSON file."""
        write_file(path, self.text())

    def bound_to(self, file: str | os.PathLike[str]) -> "Certificate":
        """Return this certificate with the hash of the file that holds the published estimator.

        Parameters
        ----------
        file : path
            What will be passed on, in any format; `Publication.write` does this for the files that it writes.
        """
        return self.bound_to_hash(hash_of_file(Path(file)))

    def bound_to_hash(self, digits: str) -> "Certificate":
        """Return this certificate with the SHA-256 of a file, in hexadecimal digits."""
        return replace(self, seal={**self.seal, "file": digits})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read a certificate from a JSON file."""
        found = read_document(path, SCHEMA_FILE, "certificate")
        found |= {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        return cls(**found)

    def matches(
        self,
        model: Model,
        X: Data,
        y: Listed = None,
        *,
        key: bytes,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> bool:
        """Return whether this certificate was made for exactly this model and data.

        Parameters
        ----------
        model : estimator or Pipeline
            The exact fitted model, before noise.
        X, y, sample_weight, offset : array-like
            The data that it was fitted on.
        key : bytes
            The key that `seepage.publish` returned.
        """
        found = fingerprints(key, model, X, y, sample_weight, offset)
        return all(hmac.compare_digest(found[name], str(self.fingerprints.get(name))) for name in found)

    def chosen(self) -> tuple[Choice, ...]:
        """Return what the rows decided, or could have decided, each counted or declared."""
        return tuple(from_json(Choice, dict(each)) for each in self.choices)

    def left_open(self) -> str:
        """Return what no target limits, in words; nothing if that is nothing, or if no target was set at all."""
        return "" if self.untargeted is None else from_json(Untargeted, dict(self.untargeted)).sentence(name)

    @property
    def title(self) -> str:
        """What it is a certificate of, in words."""
        return f"Certificate of a {kind_in_words(self.published['estimator'])}"

    def facts(self) -> dict[str, str]:
        """Return what the certificate is about, by name: what its page and the screen show before its promises."""
        published, private = self.published, self.private
        errors = " with standard errors" if "standard_errors" in published else ""
        file = self.seal.get("file")
        predicted = f"{' and '.join(published['outcome'])} ({private['label']})"
        return {
            "model": f"{published['estimator']}, {counted(published['count'], 'parameter')}{errors}",
            **({"predicts": predicted} if published["outcome"] else {}),
            "fitted on": f"{self.people:,} people",
            "private": _few(private["attributes"], "attribute"),
            "noise": f"{self.noise['distribution']}, {amount_of(self.noise)} ({self.noise['mechanism']})",
            "published": self.created.replace("T", " ").replace("Z", " UTC"),
            "policy": self._policy_in_words(),
            "model file": "not named: bind the certificate to it" if file is None else f"SHA-256 {file}",
            "certificate": f"SHA-256 {self.fingerprint()}",
            "parameters": _few(published["parameters"], "parameter"),
        }

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file that holds this certificate, as `sha256sum` prints it."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def document(self) -> Document:
        """Return the certificate as a document: its promises first, fingerprints last."""
        meant = [self.targets[i : i + 1] for i in range(len(self.targets))]
        if len(self.targets) == len(self.qualifications):
            following = (*self.qualifications[1:], None)
            pairs = zip(self.targets, self.qualifications, following, strict=True)
            # What several targets mean follows the last of them.
            meant = [(target,) if own == after else (target, own) for target, own, after in pairs]
        left = self.left_open()
        said = tuple(sentence for parts in meant for sentence in parts)
        decision = () if self.decision is None else (f"Stated by the publisher: {Decision(**self.decision).whole()}",)
        facts = {term: words for term, words in self.facts().items() if "SHA-256" not in words}
        prints = {term: words for term, words in self.facts().items() if term not in facts}
        head = "No target was set" if self.policy is None else "Targets that are met"
        mark: pages.Mark = "none" if self.policy is None else "open" if left else "met"
        return Document(
            name(self.title, 120),
            f"Fitted on {facts['fitted on']}. Published {facts['published']}.",
            (
                Section(head, tuple(filter(None, (*said, left, *decision))), mark=mark),
                Section("Release", terms=_terms(facts)),
                Section("Choices of the rows", tuple(each.sentence() for each in self.chosen())),
                Section("Assumptions", self.assumptions),
                Section("Fingerprints", terms=_terms(prints), is_small=True),
            ),
        )

    def html(self) -> str:
        """Return one page that needs nothing else, for a phone as well: no network, no fonts, no scripts."""
        return pages.html(self.document())

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page.

        Parameters
        ----------
        path : path
            The file to write or to replace.
        """
        write_file(path, self.html())

    def _policy_in_words(self) -> str:
        if self.policy is None:
            return "none"
        decision = None if self.decision is None else Decision(**self.decision)
        called_so = "not named" if decision is None else f"{decision.policy}, version {decision.version}"
        return f"{called_so}; its targets have the fingerprint {fingerprint_of(self.policy)}"

    def _repr_html_(self) -> str:
        return pages.snippet(self.document())

    def __repr__(self) -> str:
        return f"Certificate({self.published['estimator']} of {self.people} people, {self.created})"


_KINDS = {
    "LinearRegression": "linear regression",
    "Ridge": "ridge regression",
    "Lasso": "linear regression with an L1 penalty",
    "ElasticNet": "linear regression with an L1 and an L2 penalty",
    "LogisticRegression": "logistic regression",
    "RidgeClassifier": "ridge classifier",
    "LinearSVC": "linear support vector classifier",
    "PoissonRegressor": "Poisson regression",
    "GammaRegressor": "gamma regression",
    "TweedieRegressor": "Tweedie regression",
    "GLM": "generalized linear model",
    "Cox": "Cox proportional hazards model",
    "Equations": "solution of estimating equations",
}
# As many names as a reader takes in.
_MOST_NAMES = 40


def kind_in_words(estimator: str) -> str:
    """Return what kind of model a class is, for whoever does not know it; its name where there are no words."""
    return _KINDS.get(estimator.removesuffix("CV"), estimator)


def _terms(facts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((term.capitalize(), words) for term, words in facts.items())


def _few(names: Sequence[str], what: str) -> str:
    more = len(names) - _MOST_NAMES
    listed = ", ".join(name(each) for each in names[:_MOST_NAMES])
    return f"{listed} and {counted(more, f'more {what}')}" if more > 0 else listed


def amount_of(noise: NoiseEntry) -> str:
    """Return how much noise there is, in words."""
    if "scale" not in noise:
        return "the covariance in the file"
    if "unit" in noise:
        return f"{noise['scale']:g} {noise['unit']} on every coefficient"
    return f"scale {noise['scale']:g}" + (f" and shape {noise['shape']!r}" if "shape" in noise else "")


def fit_of(model: Model, X: Data, y: Listed, sample_weight: Listed, offset: Listed = None) -> Fitted:
    """Read a model of any kind that can be published, and its rows."""
    return Given(model=model, X=X, y=y, sample_weight=sample_weight, offset=offset).fitted()


def fingerprints(
    key: bytes, model: Model, X: Data, y: Listed, sample_weight: Listed = None, offset: Listed = None
) -> dict[str, str]:
    """Return keyed fingerprints of the data and of the exact model.

    A bare hash of small data can be guessed, and so can one of a model that noise was added to: without the key, these
    say nothing.
    """
    if not isinstance(key, bytes) or not key:
        raise InputError("key must be the bytes that seepage.publish returned as publication.key.")
    model, X, *_ = opened(model, X, y, None, None, None)
    columns: Iterable[Column]
    parts: Iterable[Column]
    if isinstance(model, Publishable):
        called, (columns, *parts) = type(model).__name__, model.fingerprinted(X)
    else:
        called, columns, parts = _of_fit(fit_of(model, X, y, sample_weight, offset))
    data, exact = (hmac.new(key, purpose, "sha256") for purpose in (b"seepage data", b"seepage model"))
    for column in columns:
        data.update(_canonical(column))
    exact.update(called.encode())
    for part in parts:
        exact.update(_canonical(np.ravel(part)))
    return {"algorithm": "HMAC-SHA256", "data": data.hexdigest(), "model": exact.hexdigest()}


def _of_fit(fit: Fitted) -> tuple[str, Iterable[Column], tuple[Column, ...]]:
    """Return what a model is called, the columns that it was fitted on, and its parameters."""
    weights = np.empty(0) if fit.rows.weights is None else fit.rows.weights
    added = [] if fit.rows.offset is None else [fit.rows.offset]
    columns = (*_columns(fit.table), *fit.outcome_columns, weights, *added)
    return type(fit.estimator).__name__, columns, (fit.estimator.coef_, fit.estimator.intercept_)


def _columns(table: Table) -> Iterator[Column]:
    if table.is_frame:
        frame = nw.from_native(table.native, eager_only=True)
        yield from (np.asarray(frame[name].to_numpy()) for name in frame.columns)
    elif sparse.issparse(table.native):
        columns = sparse.csc_array(table.native)
        yield from (columns[:, [i]].toarray().ravel() for i in range(columns.shape[1]))
    else:
        yield from table.native.T


def _canonical(values: Column) -> bytes:
    """Return the same bytes for the same values, whatever library and number type they come in."""
    if values.dtype.kind in "biuf":
        # Adding zero makes minus zero plus zero.
        content = b"numbers" + (values.astype("<f8") + 0.0).tobytes()
    else:
        words = [str(value).encode() for value in values.tolist()]
        content = b"words" + b"".join(len(word).to_bytes(8, "little") + word for word in words)
    return len(content).to_bytes(8, "little") + content
