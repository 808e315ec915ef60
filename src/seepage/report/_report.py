"""A report for the person who must decide."""

import os
import secrets
import tempfile
import webbrowser
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from seepage import pages
from seepage._decision import Decision
from seepage._writing import write_file
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage, checked_leakage
from seepage.leakage.types import Prior
from seepage.pages import Document, DocumentFiles, Picture
from seepage.report._internal import ReportQuestion, internal_document
from seepage.report._people import pseudonyms
from seepage.report._publishable import check_publishable, publishable_document
from seepage.report._verdict import PolicyVerdict, judge, judge_for_everybody

if TYPE_CHECKING:
    from skops.card import Card

    from seepage.release import Certificate, Policy


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a release for the person who must decide: as HTML, text, Markdown and JSON.

    Made by `Report.of`. The internal edition names the most exposed people by pseudonyms and is personal data. The
    publishable one holds the verdict and what was given or is public: no number in it is computed from the rows.

    Attributes
    ----------
    document : Document
        What the report says; every format is written from it alone.
    verdict : PolicyVerdict or None
        The verdict for a program; None of a report that was read from a file.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> policy = {"error_floor": {"age": 5.0}}
    >>> report = seepage.Report.of(leak, "publishable", policy=policy, units={"age": "years"})
    >>> report
    Report(publishable edition about 442 people, 11 private attributes: Meets the policy for what it names)
    >>> report.verdict.judgments[0].target.sentence()
    "Everyone's age: no unbiased guess has a standard error below 5 years."
    """

    document: Document
    verdict: PolicyVerdict | None = None
    _pictures: Mapping[str, Picture] = field(default_factory=dict)
    _leak: Leakage | None = None
    _key: bytes = b""

    @classmethod
    def of(
        cls,
        leak: Leakage,
        edition: Literal["internal", "publishable"],
        *,
        policy: "Policy | Mapping[str, Any] | None" = None,
        groups: object = None,
        units: Mapping[str, str] | None = None,
        prior: Prior = None,
        categories: Collection[str] | None = None,
        title: str = "What this release gives away",
        key: bytes | None = None,
        decision: Decision | Mapping[str, object] | None = None,
        certificate: "Certificate | None" = None,
    ) -> "Report":
        """Return a report for the person who must decide: verdict, attributes, groups, meaning, assumptions.

        Parameters
        ----------
        leak : Leakage
            The measurement.
        edition : {"internal", "publishable"}
            The internal edition names the most exposed people by pseudonyms and is personal data itself. The
            publishable one holds verdicts, policy, noise, assumptions and who decided. There is none of
            a release that misses its policy.
        policy : seepage.Policy or mapping, optional
            What the release must achieve, as `seepage.publish` takes it; the report starts with whether it does.
        groups : str, sequence of str, array-like of shape (n,), frame, or mapping from name to array-like, optional
            Columns of the data, or the group of each person in one way or in several if the data are in memory; by
            default the groups given to `measure`. Internal edition only.
        units : mapping from attribute to str, optional
            The units of attributes, such as `{"age": "years"}`.
        prior : "data" or mapping from attribute to variance, optional
            What an attacker knows before the release, to compare with: how values are spread over all people, which is
            the default, or Gaussians of these variances. Internal edition only.
        categories : collection of str, optional
            The categorical attributes whose success rates are found by exact refits. By default those of the policy,
            and all of them if there are no more than 10,000 people. Internal edition only.
        title : str, optional
            The heading.
        key : bytes, optional
            Pseudonyms of the same key are the same in every report; by default each report has its own.
        decision : seepage.release.Decision or mapping, optional
            The decision of the publisher: approver, rule and date, as in the certificate.
        certificate : seepage.release.Certificate, optional
            The certificate of this release, as it is passed on: the report names its SHA-256.

        Raises
        ------
        PolicyError
            When there is to be a publishable page of a release that misses a target.

        Examples
        --------
        >>> import seepage
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
        >>> seepage.Report.of(leak, "internal", groups=X["sex"], units={"age": "years", "bmi": "kg/m²"})
        Report(internal edition about 442 people, 11 private attributes: No policy was given)
        """
        key = secrets.token_bytes(32) if key is None else key
        targets = _policy(policy)
        named = () if targets is None else (*targets.error_floor, *targets.success_rate)
        refitted = categories if categories is not None else () if targets is None else targets.success_rate
        asked = ReportQuestion(
            title=pages.name(title, 120),
            groups=groups,
            units={**({} if targets is None else targets.units), **(units or {})},
            prior=prior,
            categories=tuple(refitted),
            first=named,
            key=key,
            decision=None if decision is None else Decision.of(decision),
            policy=None if targets is None else targets.fingerprint(),
        )
        checked_leakage(leak)
        if edition not in ("internal", "publishable"):
            raise InputError(f'edition must be "internal" or "publishable", not {edition!r}.')
        created, shown = f"{_now():%Y-%m-%d %H:%M:%S} UTC", dict[str, Picture]()
        if edition == "publishable":
            check_publishable(leak, {"groups": groups, "prior": prior, "categories": categories}, asked.units)
            verdict = judge_for_everybody(leak, targets).in_units(asked.units)
            document = publishable_document(leak, asked, verdict, created)
        else:
            verdict = judge(leak, targets).in_units(asked.units)
            document, shown = internal_document(leak, asked, verdict, created)
        report = cls(document, verdict, shown, leak, key)
        return report if certificate is None else report.with_certificate(certificate)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Report":
        """Read a report from the JSON that `json` returned, without its pictures.

        Parameters
        ----------
        path : path
            The file.
        """
        return cls(Document.read(path))

    def with_certificate(self, certificate: "Certificate") -> "Report":
        """Return the report with the SHA-256 of a certificate in its last section.

        Parameters
        ----------
        certificate : seepage.release.Certificate
            The certificate of this release.
        """
        *others, last = self.document.sections
        term = ("Certificate of this release", f"SHA-256 {certificate.fingerprint()}")
        last = replace(last, terms=(*last.terms, term))
        return replace(self, document=replace(self.document, sections=(*others, last)))

    def html(self) -> str:
        """Return one page that needs nothing else: no network, no fonts, no scripts."""
        return pages.html(self.document, self._pictures)

    def html_snippet(self) -> str:
        """Return the report as a part of a page."""
        return pages.snippet(self.document, self._pictures)

    def _repr_html_(self) -> str:
        return self.html_snippet()

    def text(self) -> str:
        """Return the report as text of 80 columns."""
        return pages.text(self.document)

    def markdown(self, *, heading: bool = True) -> str:
        """Return the report as Markdown.

        Parameters
        ----------
        heading : bool, default=True
            Whether it starts with its title.
        """
        return pages.markdown(self.document, heading=heading)

    def json(self) -> str:
        """Return the report for a machine."""
        return self.document.json()

    def write(self, folder: str | os.PathLike[str], *, replace: bool = False) -> tuple[Path, ...]:
        """Write the report as HTML, text, JSON and PNG, for places that show no pages.

        The internal edition can be read by its owner alone (mode 0600). It needs the extra `report`.

        Parameters
        ----------
        folder : path
            A new folder, or an empty one.
        replace : bool, default=False
            Whether files that were written there before are replaced.

        Returns
        -------
        tuple of Path
            The files.
        """
        files = DocumentFiles.of("report", self.document, self._pictures)
        return files.write(folder, replace=replace, private=not self.document.is_public)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page; the internal edition can be read by its owner alone (mode 0600).

        Parameters
        ----------
        path : path
            The file to write or to replace.
        """
        write_file(path, self.html(), private=not self.document.is_public)

    def write_json(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON; the internal edition can be read by its owner alone (mode 0600).

        Parameters
        ----------
        path : path
            The file to write or to replace.
        """
        write_file(path, self.json() + "\n", private=not self.document.is_public)

    def write_people(self, path: str | os.PathLike[str]) -> None:
        """Write what was measured about every person to a Parquet file that its owner alone can read (mode 0600).

        It has the ids of the data, the pseudonyms of this report, and each person's values: personal data, like the
        records they describe. Only a report of the internal edition that was just made can write it.

        Parameters
        ----------
        path : path
            The file to write or to replace.
        """
        if self.document.is_public:
            raise InputError("The publishable edition holds nothing about single people. Ask an internal one.")
        if self._leak is None:
            raise UnansweredError("A report that was read from a file has no people. Make it anew from the leakage.")
        information = self._leak.information
        import pyarrow as pa
        import pyarrow.parquet as pq

        named = information.people.ids
        ids = [str(each) for each in (range(information.count) if named is None else named)]
        columns: dict[str, object] = {"id": ids, "pseudonym": pseudonyms(self._key, ids)}
        columns |= dict(information.examples())
        columns |= {f"eta of {name}": values for name, values in information.attributes().items()}
        write_file(path, lambda file: pq.write_table(pa.table(columns), file), private=True)

    def to_model_card(self, card: "Card", *, section: str = "Privacy of the training data") -> "Card":
        """Add what the publishable edition says to a model card of skops, and return the card.

        Parameters
        ----------
        card : skops.card.Card
            The card.
        section : str, optional
            The title of the section; one of the same title is replaced.
        """
        if not self.document.is_public:
            raise InputError('A model card is for everybody: make the report with Report.of(leak, "publishable").')
        if not hasattr(card, "add"):
            raise InputError(f"to_model_card needs a skops.card.Card, not {type(card).__name__}.")
        return card.add(**{section: self.markdown(heading=False)})

    def open(self) -> Path:
        """Show the page in a browser, from a temporary file that its owner alone can read; return its path."""
        path = Path(tempfile.mkdtemp(prefix="seepage-")) / "report.html"
        self.write_html(path)
        webbrowser.open(path.as_uri())
        return path

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "A report holds the rows that it is about, and the key of its pseudonyms, which must not travel with it. "
            "Write what may leave with report.write_html(path), or with report.write_json(path), which Report.read "
            "takes."
        )

    def __repr__(self) -> str:
        about, head = self.document.about.rpartition(",")[0], self.document.sections[0].head
        return f"Report({self.document.edition} edition about {about}: {head})"


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _policy(policy: "Policy | Mapping[str, Any] | None") -> "Policy | None":
    if policy is None:
        return None
    # Imported here: whoever reads a report needs no scikit-learn.
    from seepage.release import Policy

    return Policy.of(policy)
