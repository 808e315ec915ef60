"""A report for the person who must decide."""

import json
import os
import secrets
import tempfile
import webbrowser
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seepage._errors import InputError, UnansweredError
from seepage.leakage import Leakage
from seepage.report._edition import Edition, EditionName
from seepage.report.build._content import SCHEMA, content
from seepage.report.build._people import pseudonym
from seepage.report.build._sources import identifiers
from seepage.report.build._verdict import Targets
from seepage.report.write._markdown import markdown
from seepage.report.write._page import page, snippet
from seepage.report.write._words import verdict_words
from seepage.report.write._writing import write_file

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a release gives away, for the person who must decide: as a page, as text, and for a machine.

    Made by `Leakage.report`. Pages, text and pictures are drawn from `content` alone, so what the JSON does not hold is
    nowhere. The internal edition names the most exposed people by pseudonyms and is personal data; the publishable one
    holds no value about fewer than `smallest_group` people.

    Attributes
    ----------
    content : mapping
        What the report says; `report.schema.json` in this package describes it.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> report = leak.report("publishable", policy=seepage.Policy(error_floor={"age": 5.0}), units={"age": "years"})
    >>> report
    Report(publishable edition about 442 people: Meets the policy for 95% of people)
    >>> report.content["findings"][0]
    'For 95% of people, no unbiased guess of age is better than ± 71 years; for half the people ± 180 years.'
    """

    content: Mapping[str, Any]
    _leak: Leakage | None = None
    _key: bytes = b""

    @classmethod
    def of(
        cls,
        leak: Leakage,
        edition: EditionName,
        *,
        policy: Targets | None = None,
        groups: Any = None,
        units: Mapping[str, str] | None = None,
        prior: Any = None,
        categories: Collection[str] | None = None,
        smallest_group: int = 10,
        title: str = "What this release gives away",
        key: bytes | None = None,
    ) -> "Report":
        """Return the report about a leakage; `Leakage.report` says what the arguments are."""
        key = secrets.token_bytes(32) if key is None else key
        found = content(
            leak,
            Edition(edition, smallest_group),
            title=title,
            policy=policy,
            groups=groups,
            units=units or {},
            prior=prior,
            categories=categories,
            key=key,
        )
        return cls(found, leak, key)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Report":
        """Read a report from the JSON that `json` returned.

        Parameters
        ----------
        path : path
            The file.
        """
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError:
            raise InputError(f"{os.fspath(path)!r} is not JSON, so it is no report.") from None
        schema = found.get("schema") if isinstance(found, dict) else None
        if schema != SCHEMA:
            raise InputError(
                f"{os.fspath(path)!r} has the schema {schema!r}; this version of seepage reads {SCHEMA!r}."
            )
        return cls(found)

    def html(self) -> str:
        """Return one page that needs nothing else: no network, no fonts, no scripts."""
        return page(self.content)

    def html_snippet(self) -> str:
        """Return the report as a part of a page."""
        return snippet(self.content)

    def _repr_html_(self) -> str:
        return self.html_snippet()

    def markdown(self, *, heading: bool = True) -> str:
        """Return the report as Markdown.

        Parameters
        ----------
        heading : bool, default=True
            Whether it starts with its title.
        """
        return markdown(self.content, heading=heading)

    def json(self) -> str:
        """Return the report for a machine."""
        return json.dumps(self.content, indent=2, allow_nan=False)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page; the internal edition can be read by its owner alone (mode 0600).

        Parameters
        ----------
        path : path
            The file to write or to replace.
        """
        self._write(path, self.html())

    def write_json(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON; the internal edition can be read by its owner alone (mode 0600).

        Parameters
        ----------
        path : path
            The file to write or to replace.
        """
        self._write(path, self.json() + "\n")

    def _write(self, path: str | os.PathLike[str], text: str) -> None:
        private = self.content["edition"] == "internal"
        write_file(path, lambda file: file.write(text.encode()), private=private)

    def write_people(self, path: str | os.PathLike[str]) -> None:
        """Write what was measured about every person to a Parquet file that its owner alone can read (mode 0600).

        It has the ids of the data, the pseudonyms of this report, and each person's values: personal data, like the
        records they describe. Only a report of the internal edition that was just made can write it.

        Parameters
        ----------
        path : path
            The file to write or to replace.
        """
        if self.content["edition"] != "internal":
            raise InputError("The publishable edition holds nothing about single people. Ask an internal one.")
        if self._leak is None:
            raise UnansweredError("A report that was read from a file has no people. Make it anew from the leakage.")
        information = self._leak.information
        import pyarrow as pa
        import pyarrow.parquet as pq

        ids = identifiers(self._leak.people, np.arange(information.count))
        columns: dict[str, Any] = {"id": ids, "pseudonym": [pseudonym(self._key, each) for each in ids]}
        columns |= dict(information.examples())
        columns |= {f"eta of {name}": values for name, values in information.attributes().items()}
        table = pa.table(columns)
        write_file(path, lambda file: pq.write_table(table, file), private=True)

    def open(self) -> Path:
        """Show the page in a browser, from a temporary file that its owner alone can read; return its path."""
        path = Path(tempfile.mkdtemp(prefix="seepage-")) / "report.html"
        self.write_html(path)
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        word = verdict_words(self.content["verdict"])
        return f"Report({self.content['edition']} edition about {self.content['people']} people: {word})"
