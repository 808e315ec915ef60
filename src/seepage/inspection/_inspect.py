"""Compare each piece of a file with the people."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Data
from seepage.inspection._budget import Budget
from seepage.inspection._classes import has_path, is_per_person, is_seed, stored_by
from seepage.inspection._exact import FEWEST, Hits, KnownValues, Runs
from seepage.inspection._files import read_bytes, read_path
from seepage.inspection._finding import ORDER, Finding
from seepage.inspection._inspection import Inspection
from seepage.inspection._people import PeopleColumns, as_numbers, coded, decimals
from seepage.inspection._rows import SCALES, NeighborColumns, PeopleRows
from seepage.inspection._scaled import Shapes
from seepage.inspection._text import read_words
from seepage.inspection._values import Mention, Piece, StoredNumbers, StrangeFileError, Unread, Words

_FEWEST_PEOPLE = 20
# Fewer people have a rare level.
_RARE = 3
_TOKEN = re.compile(r"[\w.@+-]{2,64}")
_CELL = re.compile(r"[^\n\t,;|<>\"]+")
_PART = re.compile(r"[^\W_]{3,64}")
_PRINTABLE = re.compile(rb"[\x20-\x7e]{5,}")
_BLOCK = 4 << 20
_LONGEST_NAME = 200
_DIGIT = re.compile(r"\d")
# Larger arrays are compared up to here: as many doubles as the budget of a file holds.
_MOST_NUMBERS = 32 << 20
# In other units, arrays up to this length are compared with data up to this length.
_MOST_IN_UNITS, _MOST_PEOPLE_IN_UNITS = 1 << 20, 20_000
_SIZE_OF_PIECE = 256
_OF_TREES = (
    ".threshold",
    ".num_threshold",
    ".impurity",
    ".weighted_n_node_samples",
    ".gain",
    ".sum_hessians",
    ".values",
)
_GIVEN_UP = Finding(
    "unread", "some array", ("there are too many people to look for scaled values of a part of them in every array",)
)


def inspect(path: str | os.PathLike[str], data: Data = None, *, ids: str | None = None) -> Inspection:
    """Compare a file, or all files of a folder, with the people whose rows must not be in it.

    Nothing in it is run, imported or built: pickles are read by their opcodes. Each file has 60 seconds of computing
    and 256 MB of decoded values; a part beyond them, or of a format that is not read, needs a review.

    Parameters
    ----------
    path : path
        A model, a table, a notebook, an archive: pickle, joblib, skops, torch, safetensors, npy, npz, CSV, text, JSON,
        Parquet, Arrow, Stata, RDS, zip, tar; compressed or not. Of other formats the bytes are looked through.
    data : data frame, array or path, optional
        The rows that must not be in it. Without them the file is compared with nobody, and needs a review.
    ids : str, optional
        The column of ids.

    Returns
    -------
    Inspection
        `verdict` is "fail", "review", or "pass" if all of the file was compared and holds no values of people;
        `findings` name the place, the columns, the number of people and the certainty.

    Examples
    --------
    >>> import pandas as pd, seepage, pickle, pathlib, tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.pkl"
    >>> _ = file.write_bytes(pickle.dumps(KNeighborsRegressor().fit(X, y)))
    >>> inspection = seepage.inspect(file, X)
    >>> inspection.verdict, inspection.findings[0].kind, inspection.findings[0].people
    ('fail', 'rows', 442)
    """
    return Finder.of(data, ids=ids).inspected(Path(path))


class Finder:
    """Compares one file after the other with the same people: `Finder.of(data, ids=...)`."""

    def __init__(self, people: PeopleColumns | None) -> None:
        self.people = people
        if people is not None:
            self._runs, self._rows = Runs(people.coded), PeopleRows(people.coded)
            self._known = lru_cache(maxsize=18)(lambda scale, places: KnownValues(people.scaled(scale, places)))

    @classmethod
    def of(cls, data: Data = None, *, ids: str | None = None) -> "Finder":
        """Take the rows to compare with, as `inspect` does.

        Parameters
        ----------
        data : data frame, array or path, optional
        ids : str, optional
            The column of ids.
        """
        return cls(None if data is None else PeopleColumns.of(data, ids))

    def inspected(self, path: Path) -> Inspection:
        """Inspect a file or a folder.

        Parameters
        ----------
        path : Path
        """
        self._budget = Budget()
        return self._inspection(path, read_path(path, self._budget))

    def inspected_bytes(self, data: bytes, name: str) -> Inspection:
        """Inspect the content of a file that is to be written.

        Parameters
        ----------
        data : bytes
        name : str
            The name of the file.
        """
        self._budget = Budget()
        return self._inspection(Path(name), [read_bytes(memoryview(data), name, self._budget)])

    def _inspection(self, path: Path, files: Iterable[Iterator[Piece]]) -> Inspection:
        findings: dict[tuple[str, ...], Finding] = {}
        self._shapes = None if self.people is None else Shapes(self.people.coded)
        self._lengths: Counter[int] = Counter()
        every = (piece for pieces in files for piece in self._with_tables(pieces))
        for finding in (finding for piece in every for finding in self._within_budget(piece)):
            # Findings of a kind in one file are one; classes and what was not read are told apart.
            key = (finding.kind, *(finding.about if finding.kind in ("stored", "unread") else ()))
            findings[key] = findings[key].joined(finding) if key in findings else finding
        if self._shapes is not None and self._shapes.budget <= 0:
            findings[("unread", *_GIVEN_UP.about)] = _GIVEN_UP
        if self.people is None:
            common = self._lengths.most_common(3)
            about = tuple(f"{times:,} column{'s' * (times > 1)} of {length:,} values" for length, times in common)
            findings[("uncompared",)] = Finding("uncompared", path.name, about)
        certain = any(finding.word == "fail" and finding.sure == "certain" for finding in findings.values())
        # Next to people's values, what only points at them is in the way.
        rest = [one for one in findings.values() if not (certain and one.kind in ("unread", "length"))]
        people = 0 if self.people is None else self.people.count
        return Inspection(path, tuple(sorted(rest, key=lambda finding: ORDER.index(finding.kind))), people)

    def _within_budget(self, piece: "Piece | NeighborColumns") -> Iterator[Finding]:
        try:
            self._budget.check()
            yield from self._findings(piece)
        except StrangeFileError as reason:
            yield Finding("unread", piece.where, (str(reason),))

    def _with_tables(self, pieces: Iterator[Piece]) -> "Iterator[Piece | NeighborColumns]":
        """Yield the pieces, tables of columns of one length, and the values of small pieces as rows of one table."""
        tables: dict[int, NeighborColumns] = defaultdict(NeighborColumns)
        small, texts, where = defaultdict[int, list[NDArray[Any]]](list), list[str](), ""
        for piece in pieces:
            yield piece
            where = where or f"{piece.where} and other places"
            columns: list[NDArray[Any]] = []
            if isinstance(piece, Words) and len(piece.texts) < _FEWEST_PEOPLE:
                texts += [text for text in piece.texts if len(text) <= _LONGEST_NAME]
            elif isinstance(piece, Words):
                columns = [coded(piece.texts)]
            elif isinstance(piece, StoredNumbers) and piece.array.dtype.kind in "biuf" and piece.array.ndim in (1, 2):
                columns = list(NeighborColumns.of(piece.where, np.atleast_2d(piece.array)).columns)
                if piece.array.ndim == 2:
                    yield NeighborColumns.of(piece.where, piece.array.T)
                else:
                    yield from NeighborColumns.interleaved(piece.where, piece.array)
            if isinstance(piece, StoredNumbers) and 0 < piece.array.size < _FEWEST_PEOPLE:
                self._budget.pay(_SIZE_OF_PIECE)
                small[piece.array.size].append(piece.array.reshape(-1))
            # Data frames store their columns as rows, in a block for each type.
            for column in columns:
                tables[len(column)].add(piece.where, column)
                if tables[len(column)].is_full:
                    yield tables.pop(len(column))
        yield from tables.values()
        if texts and self.people is not None:
            yield Words(where, texts)
            yield from (piece for piece in read_words(Words(where, texts)) if isinstance(piece, Unread))
        for parts in small.values():
            rows = np.array([as_numbers(part) for part in parts if part.dtype.kind in "biufMm"])
            if len(rows) > 1:
                yield StoredNumbers(where, rows if rows.shape[1] > 1 else rows[:, 0])
                yield NeighborColumns.of(where, rows.T)

    def _findings(self, piece: "Piece | NeighborColumns") -> Iterator[Finding]:
        if isinstance(piece, NeighborColumns):
            hits = None if self.people is None else self._rows.hits(piece)
            if hits is not None:
                yield Finding("rows", piece.where, hits.columns, hits.people, "likely")
        elif isinstance(piece, StoredNumbers):
            yield from self._numbers(piece.where, piece.array)
        elif isinstance(piece, Words):
            yield from self._words(piece)
        elif isinstance(piece, Mention):
            what = stored_by(piece.kind, known=self.people is not None)
            if what is not None:
                # With data at hand, what it stores is compared, and its class alone is a hint.
                about = (f"{what} ({piece.kind.rpartition('.')[2]})",)
                yield Finding("stored", piece.where, about, sure="likely" if self.people is None else "possible")
        elif isinstance(piece, Unread):
            yield Finding("unread", piece.where, (piece.why,))
            if piece.data is not None and self.people is not None:
                yield from self._bytes(piece.where, piece.data, self.people)

    def _numbers(self, where: str, array: "NDArray[Any]") -> Iterator[Finding]:
        if array.dtype.kind == "c":
            array = array.view(f"f{array.dtype.itemsize // 2}") if array.flags.c_contiguous else array.real
        if array.dtype.kind in "Mm":
            array = np.asarray(as_numbers(array.reshape(-1)))
        if array.dtype.kind not in "biuf":
            yield Finding("unread", where, ("an array of a type that is not read",))
            return
        if is_seed(where):
            yield Finding("seeds", where, (), array.size)
        if array.size > _MOST_NUMBERS:
            yield Finding("unread", where, ("of an array only the first 32 million numbers are compared",))
            array = array[: max(1, _MOST_NUMBERS * len(array) // array.size)]
        if self.people is None:
            if is_per_person(where) and array.shape and len(array) >= _FEWEST_PEOPLE:
                yield Finding("length", where, (), len(array), "possible")
            if max(array.shape, default=0) >= _FEWEST_PEOPLE:
                self._lengths[max(array.shape)] += max(array.size // max(array.shape), 1)
        elif array.size > 1:
            # One number alone is nobody's: it is compared with the other small parts.
            yield from self._compared(where, array, self.people)

    def _compared(self, where: str, array: "NDArray[Any]", people: PeopleColumns) -> Iterator[Finding]:
        hits = self._exact(array, people)
        if hits is not None:
            ids = tuple(name for name in hits.columns if name == people.ids)
            rest = tuple(name for name in hits.columns if name != people.ids)
            if ids:
                yield Finding("ids", where, ids, hits.people)
            if rest:
                yield Finding("rows", where, rest, hits.people)
                return
        elif self._holds_ids(array, people):
            yield Finding("ids", where, (str(people.ids),), int(min(array.size, people.count)))
        # Trees are made of thresholds, which are compared as they are.
        parts = not where.endswith(_OF_TREES)
        if self._shapes is not None and (scaled := self._shapes.hits(array, parts=parts)) is not None:
            yield Finding("scaled", where, scaled.columns, scaled.people, "likely")
        elif people.count >= _FEWEST_PEOPLE and array.ndim and len(array) == people.count:
            yield Finding("length", where, (), people.count, "likely")
        elif array.size <= 4 * max(len(people.numbers), 4) and self._is_of_one_person(array, people):
            yield Finding("single", where, (), 0, "likely")

    def _exact(self, array: "NDArray[Any]", people: PeopleColumns) -> Hits | None:
        sample = array.reshape(-1)[: 1 << 12].astype(np.float64)
        sample = sample[np.isfinite(sample)]
        places, check = decimals(sample), self._budget.check
        if places not in range(7) and all(float(f"{value:.8e}") == value for value in sample[:256].tolist()):
            # Single precision, written in its fewest digits.
            with np.errstate(over="ignore"):
                array, places = array.astype(np.float32), None
        hits = self._known(1.0, places).hits(array, check) or self._runs.hits(array, check)
        if hits is None and array.size <= _MOST_IN_UNITS and people.count <= _MOST_PEOPLE_IN_UNITS:
            rounded = np.round(array.astype(np.float64), 6)
            hits = next(filter(None, (self._known(scale, 6).hits(rounded, check) for scale in SCALES[1:])), None)
        return hits

    @staticmethod
    def _holds_ids(array: "NDArray[Any]", people: PeopleColumns) -> bool:
        """Return whether an array is of ids that follow each other, which are told by where they begin."""
        column = next((column for column in people.numbers if column.name == people.ids), None)
        if column is None or array.size < _FEWEST_PEOPLE or column.distinct[0] < max(1000, 2 * people.count):
            return False
        values = np.unique(array.reshape(-1)[:1_000_000])
        inside = np.isin(values.astype(np.float64), column.distinct)
        return int(inside.sum()) >= _FEWEST_PEOPLE and float(inside.mean()) > 0.5

    def _is_of_one_person(self, array: "NDArray[Any]", people: PeopleColumns) -> bool:
        """Return whether a short array holds smallest or largest values, or several of one person."""
        values = np.unique(array.reshape(-1).astype(np.float64))
        for end in (0, -1):
            ends = np.array([column.distinct[end] for column in people.numbers if len(column.distinct) > 2])
            inside = np.isin(values, ends[ends != 0]).sum()
            if inside >= 2 and inside >= 0.5 * (values != 0).sum():
                return True
        return self._known(1.0, None).of_one_person(array)

    def _words(self, piece: Words) -> Iterator[Finding]:
        text = "\n".join(piece.texts)
        if has_path(text):
            yield Finding("path", piece.where, (), 0, "likely")
        people = self.people
        if people is None:
            rows = max(len(piece.texts), sum(_DIGIT.search(line) is not None for line in text.splitlines()))
            if rows >= _FEWEST_PEOPLE:
                self._lengths[rows] += 1
            return
        rows = len(piece.texts) if len(piece.texts) > 1 else text.count("\n")
        if people.count >= _FEWEST_PEOPLE and abs(rows - people.count) <= 1:
            yield Finding("length", piece.where, (), people.count, "possible")
        texts = {*piece.texts, *_TOKEN.findall(text)}
        # Names of people hold spaces.
        cells = {cell.strip().lower() for cell in _CELL.findall(text)}
        yield from self._named(piece.where, texts, cells & people.named.keys(), people)
        for name, levels in people.levels.items():
            here = texts & levels.keys()
            if len(here) > 1 and any(levels[level] < _RARE for level in here):
                yield Finding("rare", piece.where, (name,), 0, "likely")
        if len(piece.texts) >= _FEWEST_PEOPLE and self._shapes is not None:
            array = coded(piece.texts)
            hits = self._runs.hits(array, self._budget.check) or self._shapes.hits(array, parts=False)
            if hits is not None:
                yield Finding("rows", piece.where, hits.columns, hits.people)

    @staticmethod
    def _named(where: str, texts: set[str], cells: set[str], people: PeopleColumns) -> Iterator[Finding]:
        """Yield ids, or other texts that are one person's, which are among some texts or parts of them."""
        short = [text.lower() for text in texts if len(text) <= _LONGEST_NAME]
        parts = {part for text in short for part in (text, *text.split("_"), *_PART.findall(text))}
        hits: dict[str, set[int]] = defaultdict(set)
        for text in (parts | cells) & people.named.keys():
            name, person = people.named[text]
            hits[name].add(person)
        plain = all(text.isdecimal() for text in list(people.named)[:50])
        for name, whom in hits.items():
            # Numbers may mean anything: they are ids where most of what is there is.
            if len(whom) >= (FEWEST if plain else 2) and (not plain or len(whom) > 0.5 * len(texts)):
                yield Finding("ids" if name == people.ids else "rows", where, (name,), len(whom))

    def _bytes(self, where: str, data: memoryview, people: PeopleColumns) -> Iterator[Finding]:
        """Compare bytes of a format that is not read: numbers of any type at any place, and printable texts."""
        hits = self._known(1.0, None).hits_in_bytes(data, self._budget.check)
        if hits is not None:
            for name in hits.columns:
                yield Finding("ids" if name == people.ids else "rows", where, (name,), hits.people)
        for start in range(0, len(data), _BLOCK) if people.named else ():
            self._budget.check()
            texts = {str(run[0], "ascii") for run in _PRINTABLE.finditer(data[start : start + _BLOCK])}
            tokens = {token for text in texts for token in _TOKEN.findall(text)}
            yield from self._named(where, tokens, set(), people)
