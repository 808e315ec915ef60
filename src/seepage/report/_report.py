"""A report for the person who must decide."""

import os
import secrets
import tempfile
import webbrowser
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from seepage._decision import Decision
from seepage._writing import write_file
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage, checked_leakage
from seepage.leakage.types import Prior
from seepage.report._document import Document, EditionName
from seepage.report._edition import is_for_everybody
from seepage.report.content import ReportQuestion, internal_document, pseudonyms, publishable_document
from seepage.report.write import from_text, headline, markdown, page, snippet, to_text, twins

if TYPE_CHECKING:
    from skops.card import Card

    from seepage.release import Certificate, Policy

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a release gives away, for the person who must decide: as a page, as text, and for a machine.

    Made by `Report.of`. Pages, text and pictures are drawn from `document` alone, so what the JSON does not hold is
    nowhere. The internal edition names the most exposed people by pseudonyms and is personal data. The publishable one
    holds verdicts and what was given or is public: no number in it is computed from the rows.

    Attributes
    ----------
    document : Document
        What the report says, as data; `report.schema.json` in this package describes its JSON.

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
    Report(publishable edition about 442 people: Meets the policy for what it names)
    >>> report.document.verdict.judgments[0].target.sentence()
    "Everyone's age: no unbiased guess has a standard error below 5."
    >>> report.document.verdict.share.origin.value
    'given'
    """

    document: Document
    _leak: Leakage | None = None
    _key: bytes = b""

    @classmethod
    def of(
        cls,
        leak: Leakage,
        edition: EditionName,
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
            What was measured.
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
            Who decided, by which rule and when, as it stands in the certificate too.
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
        Report(internal edition about 442 people: No policy was given)
        """
        key = secrets.token_bytes(32) if key is None else key
        decided = None if decision is None else Decision.of(decision)
        named = None if certificate is None else certificate.fingerprint()
        asked = ReportQuestion(title, _policy(policy), groups, units or {}, prior, categories, key, decided, named)
        checked_leakage(leak)
        document = publishable_document(leak, asked) if is_for_everybody(edition) else internal_document(leak, asked)
        return cls(document, leak, key)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Report":
        """Read a report from the JSON that `json` returned; what is not whole, or not of the right types, is refused.

        Parameters
        ----------
        path : path
            The file.
        """
        return cls(from_text(Path(path).read_bytes(), os.fspath(path)))

    def html(self) -> str:
        """Return one page that needs nothing else: no network, no fonts, no scripts."""
        return page(self.document)

    def html_snippet(self) -> str:
        """Return the report as a part of a page."""
        return snippet(self.document)

    def _repr_html_(self) -> str:
        return self.html_snippet()

    def markdown(self, *, heading: bool = True) -> str:
        """Return the report as Markdown.

        Parameters
        ----------
        heading : bool, default=True
            Whether it starts with its title.
        """
        return markdown(self.document, heading=heading)

    def json(self) -> str:
        """Return the report for a machine."""
        return to_text(self.document)

    def write(self, folder: str | os.PathLike[str], *, replace: bool = False) -> tuple[Path, ...]:
        """Write the page and its twins: HTML, text of 80 columns, CSV, JSON and PNG, each complete by itself.

        For places that show no pages. The internal edition can be read by its owner alone (mode 0600). Pictures need
        the extra `report`.

        Parameters
        ----------
        folder : path
            A new folder, or an empty one.
        replace : bool, default=False
            Whether twins that were written there before are replaced.

        Returns
        -------
        tuple of Path
            The files.
        """
        return twins(self.document).write(folder, replace=replace)

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
        people, word = self.document.people.value, headline(self.document.verdict)
        return f"Report({self.document.edition} edition about {people:.0f} people: {word})"


def _policy(policy: "Policy | Mapping[str, Any] | None") -> "Policy | None":
    if policy is None:
        return None
    # Imported here: whoever reads a report needs no scikit-learn.
    from seepage.release import Policy

    return Policy.of(policy)
