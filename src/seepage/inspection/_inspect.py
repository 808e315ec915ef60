"""Look into a file: every piece of it is held against the people."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Data
from seepage.inspection._budget import Budget
from seepage.inspection._classes import has_path, is_per_person, stored_by
from seepage.inspection._exact import FEWEST, BytePatterns, Hits, Lookup, Runs, Sets
from seepage.inspection._files import read_bytes, read_path
from seepage.inspection._finding import Finding
from seepage.inspection._inspection import Inspection
from seepage.inspection._people import RARE, MeasuredColumn, PeopleColumns, as_numbers, coded, decimals
from seepage.inspection._rows import NeighborColumns, PeopleRows
from seepage.inspection._scaled import Shapes
from seepage.inspection._text import read_words
from seepage.inspection._values import Mention, Piece, StoredNumbers, StrangeFileError, Unread, Words

_ORDER = ("rows", "scaled", "ids", "stored", "length", "single", "rare", "path", "uncompared", "unread")
_FEWEST_PEOPLE = 20
_TOKEN = re.compile(r"[\w.@+-]{2,64}")
_CELL = re.compile(r"[^\n\t,;|<>\"]+")
_PART = re.compile(r"[^\W_]{3,64}")
_LONGEST_NAME = 200
_DIGIT = re.compile(r"\d")
# Larger arrays are compared up to here: as many doubles as the budget of a file holds.
_MOST_NUMBERS = 32 << 20
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
_SEARCHED = 1_000_000_000


def inspect(path: str | os.PathLike[str], data: Data = None, *, ids: str | None = None) -> Inspection:
    """Look for people in a file, or in all files of a folder, before it leaves.

    Nothing in it is run, imported or built: pickles are read by their opcodes. Each file has 60 seconds of computing
    and 256 MB of decoded values; a part beyond them, or of a format that is not read, needs a review.

    Parameters
    ----------
    path : path
        A model, a table, a notebook, an archive: pickle, joblib, skops, torch, safetensors, npy, npz, CSV, text, JSON,
        Parquet, Arrow, Stata, RDS, zip, tar; compressed or not. Of other formats the bytes are looked through.
    data : data frame, array or path, optional
        The rows that must not be in it. Without them it is judged by shapes, classes and names alone, and a table of
        20 rows or more needs a review.
    ids : str, optional
        The column that says who each row is.

    Returns
    -------
    Inspection
        `verdict` is "pass" if all of the file was compared and nothing was found, "review" or "fail"; `findings` say
        where, what, of how many people and how sure it is.

    Examples
    --------
    >>> import pandas as pd, seepage, pickle, pathlib, tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.pkl"
    >>> _ = file.write_bytes(pickle.dumps(KNeighborsRegressor().fit(X, y)))
    >>> found = seepage.inspect(file, X)
    >>> found.verdict, found.findings[0].kind, found.findings[0].people
    ('fail', 'rows', 442)
    """
    return Finder.of(data, ids=ids).inspected(Path(path))


class Finder:
    """Looks for the same people in one file after the other: `Finder.of(data, ids=...)`."""

    def __init__(self, people: PeopleColumns | None) -> None:
        self.people = people
        if people is not None:
            self._runs = Runs(people.rows, people.numbers)
            self._rows = PeopleRows(people.coded)
            self._sets = lru_cache(maxsize=12)(lambda places: Sets(people.rounded(places)))
            self._patterns = BytePatterns(people.numbers, people.named)
            self._lookup = lru_cache(maxsize=12)(lambda places: Lookup(people.rounded(places)))
            codes = {name: {each: i for i, each in enumerate(levels)} for name, levels in people.levels.items()}
            self._coded = {name: _CodedColumn(people, name, codes[name]) for name in codes}

    @classmethod
    def of(cls, data: Data = None, *, ids: str | None = None) -> "Finder":
        """Take the rows to look for, as `inspect` does.

        Parameters
        ----------
        data : data frame, array or path, optional
        ids : str, optional
            The column that says who each row is.
        """
        return cls(None if data is None else PeopleColumns.of(data, ids))

    def inspected(self, path: Path) -> Inspection:
        """Look into a file or a folder.

        Parameters
        ----------
        path : Path
        """
        self._budget = Budget()
        return self._inspection(path, read_path(path, self._budget))

    def inspected_bytes(self, data: bytes, name: str) -> Inspection:
        """Look into what is to be written to a file.

        Parameters
        ----------
        data : bytes
        name : str
            What the file will be called.
        """
        self._budget = Budget()
        return self._inspection(Path(name), [read_bytes(memoryview(data), name, self._budget)])

    def _inspection(self, path: Path, files: Iterable[Iterator[Piece]]) -> Inspection:
        found: dict[tuple[str, ...], Finding] = {}
        self._shapes = None if self.people is None else Shapes(self.people.numbers)
        every = (piece for pieces in files for piece in self._with_tables(pieces))
        for each in (finding for piece in every for finding in self._within_budget(piece)):
            # Findings of a kind in one file are one; classes and what was not read are told apart.
            key = (each.kind, *(each.about if each.kind in ("stored", "unread") else ()))
            found[key] = found[key].joined(each) if key in found else each
        if self._shapes is not None and self._shapes.budget <= 0:
            found[("unread", *_GIVEN_UP.about)] = _GIVEN_UP
        certain = any(each.word == "fail" and each.sure == "certain" for each in found.values())
        # Beside people's values, what only points at them is in the way.
        listed = [each for each in found.values() if not (certain and each.kind in ("unread", "length"))]
        people = 0 if self.people is None else self.people.count
        return Inspection(path, tuple(sorted(listed, key=lambda each: _ORDER.index(each.kind))), people)

    def _within_budget(self, piece: "Piece | NeighborColumns") -> Iterator[Finding]:
        try:
            self._budget.check()
            yield from self._found(piece)
        except StrangeFileError as reason:
            yield Finding("unread", piece.where, (str(reason),))

    def _with_tables(self, pieces: Iterator[Piece]) -> "Iterator[Piece | NeighborColumns]":
        """Yield the pieces, the tables of neighboring columns, and what small containers hold as rows of one table."""
        beside, blocks = NeighborColumns(), dict[int, NeighborColumns]()
        small, texts, where = dict[int, list[NDArray[Any]]](), list[str](), ""
        for piece in pieces:
            yield piece
            where = where or f"{piece.where} and other places"
            if isinstance(piece, Words) and len(piece.texts) < _FEWEST_PEOPLE:
                texts += [each for each in piece.texts if len(each) <= _LONGEST_NAME]
            if isinstance(piece, StoredNumbers) and 0 < piece.array.size < _FEWEST_PEOPLE:
                small.setdefault(piece.array.size, []).append(piece.array.reshape(-1))
            if isinstance(piece, Words) and len(piece.texts) >= _FEWEST_PEOPLE:
                piece = StoredNumbers(piece.where, coded(piece.texts))
                blocks.setdefault(len(piece.array), NeighborColumns()).add(piece.where, piece.array)
            if isinstance(piece, StoredNumbers) and piece.array.dtype.kind in "biuf" and piece.array.ndim in (1, 2):
                if piece.array.ndim == 2:
                    yield from (NeighborColumns.of(piece.where, way) for way in (piece.array.T, piece.array))
                    # Data frames keep their columns as rows, in a block for each type.
                    block = blocks.setdefault(piece.array.shape[1], NeighborColumns())
                    for each in NeighborColumns.of(piece.where, piece.array).columns:
                        block.add(piece.where, each)
                    continue
                yield from NeighborColumns.interleaved(piece.where, piece.array)
                if not beside.takes(piece.array):
                    yield beside
                    beside = NeighborColumns()
                beside.add(piece.where, piece.array)
        yield from (beside, *blocks.values())
        if texts and self.people is not None:
            yield Words(where, texts)
            yield from (each for each in read_words(Words(where, texts)) if isinstance(each, Unread))
        for parts in small.values():
            rows = np.array([as_numbers(each) for each in parts if each.dtype.kind in "biufMm"])
            if len(rows) > 1:
                yield StoredNumbers(where, rows if rows.shape[1] > 1 else rows[:, 0])
                yield NeighborColumns.of(where, rows.T)

    def _found(self, piece: "Piece | NeighborColumns") -> Iterator[Finding]:
        if isinstance(piece, NeighborColumns):
            hits = None if self.people is None else self._rows.found(piece.columns, piece.names)
            if hits is not None:
                yield Finding("rows", piece.where, hits.columns, hits.people, "likely")
        elif isinstance(piece, StoredNumbers):
            yield from self._numbers(piece)
        elif isinstance(piece, Words):
            yield from self._words(piece)
        elif isinstance(piece, Mention):
            what = stored_by(piece.kind, known=self.people is not None)
            if what is not None:
                # With data at hand, what it stores is looked for, and its class alone is a hint.
                about = (f"{what} ({piece.kind.rpartition('.')[2]})",)
                yield Finding("stored", piece.where, about, sure="likely" if self.people is None else "possible")
        elif isinstance(piece, Unread):
            yield Finding("unread", piece.where, (piece.why,))
            if piece.data is not None and self.people is not None:
                yield from self._bytes(piece.where, piece.data, self.people)

    def _numbers(self, piece: StoredNumbers) -> Iterator[Finding]:
        array = piece.array
        if array.dtype.kind == "c":
            array = array.view(f"f{array.dtype.itemsize // 2}") if array.flags.c_contiguous else array.real
        if array.dtype.kind in "Mm":
            array = np.asarray(as_numbers(array.reshape(-1)))
        if array.dtype.kind not in "biuf":
            yield Finding("unread", piece.where, ("an array of a type that is not read",))
            return
        if array.size > _MOST_NUMBERS:
            yield Finding("unread", piece.where, ("of an array only the first 32 million numbers are compared",))
            array = array[: max(1, _MOST_NUMBERS * len(array) // array.size)]
        if self.people is None:
            if is_per_person(piece.where) and array.shape and len(array) >= _FEWEST_PEOPLE:
                yield Finding("length", piece.where, (), len(array), "possible")
            elif max(array.shape, default=0) >= _FEWEST_PEOPLE:
                yield Finding("uncompared", piece.where)
            return
        # One number alone is nobody's: it is compared with the other small parts.
        if array.size > 1:
            yield from self._held(piece.where, array, self.people)

    def _held(self, where: str, array: "NDArray[Any]", people: PeopleColumns) -> Iterator[Finding]:
        hits = self._exact(array, people)
        if hits is not None:
            ids = tuple(each for each in hits.columns if each == people.ids)
            rest = tuple(each for each in hits.columns if each != people.ids)
            if ids:
                yield Finding("ids", where, ids, hits.people)
            if rest:
                yield Finding("rows", where, rest, hits.people)
                return
        elif self._holds_ids(array, people):
            yield Finding("ids", where, (str(people.ids),), int(min(array.size, people.count)))
        # Trees are made of thresholds, which are looked for as they are.
        parts = not where.endswith(_OF_TREES)
        if self._shapes is not None and (scaled := self._shapes.found(array, parts=parts)) is not None:
            yield Finding("scaled", where, scaled.columns, scaled.people, "likely")
        elif people.count >= _FEWEST_PEOPLE and array.ndim and len(array) == people.count:
            yield Finding("length", where, (), people.count, "likely")
        elif array.size <= 4 * max(len(people.numbers), 4) and self._ends(array, people):
            yield Finding("single", where, (), 0, "likely")

    def _exact(self, array: "NDArray[Any]", people: PeopleColumns) -> Hits | None:
        sample = array.reshape(-1)[: 1 << 12].astype(np.float64)
        sample = sample[np.isfinite(sample)]
        places, check = decimals(sample), self._budget.check
        if places not in range(7) and all(float(f"{each:.8e}") == each for each in sample[:256].tolist()):
            # Single precision, written in its fewest digits.
            with np.errstate(over="ignore"):
                array, places = array.astype(np.float32), None
        hits = self._lookup(places).found(array, check) or self._runs.found(array, check)
        return hits or self._sets(places).found(array)

    @staticmethod
    def _holds_ids(array: "NDArray[Any]", people: PeopleColumns) -> bool:
        """Return whether an array is of ids that follow each other, which are told by where they begin."""
        column = next((each for each in people.numbers if each.name == people.ids), None)
        if column is None or array.size < _FEWEST_PEOPLE or column.distinct[0] < max(1000, 2 * people.count):
            return False
        values = np.unique(array.reshape(-1)[:1_000_000])
        inside = np.isin(values.astype(np.float64), column.distinct)
        return int(inside.sum()) >= _FEWEST_PEOPLE and float(inside.mean()) > 0.5

    def _ends(self, array: "NDArray[Any]", people: PeopleColumns) -> bool:
        """Return whether a short array holds smallest or largest values, or several of one person."""
        values = np.unique(array.reshape(-1).astype(np.float64))
        for end in (0, -1):
            ends = np.array([each.distinct[end] for each in people.numbers if len(each.distinct) > 2])
            told = values[np.isin(values, ends[ends != 0])]
            if len(told) >= 2 and len(told) >= 0.5 * len(values[values != 0]):
                return True
        return self._lookup(None).few(array)

    def _words(self, piece: Words) -> Iterator[Finding]:
        text = "\n".join(piece.texts)
        if has_path(text):
            yield Finding("path", piece.where, (), 0, "likely")
        people = self.people
        if people is None:
            rows = sum(_DIGIT.search(line) is not None for line in text.splitlines())
            if max(rows, len(piece.texts)) >= _FEWEST_PEOPLE:
                yield Finding("uncompared", piece.where)
            return
        rows = len(piece.texts) if len(piece.texts) > 1 else text.count("\n")
        if people.count >= _FEWEST_PEOPLE and abs(rows - people.count) <= 1:
            yield Finding("length", piece.where, (), people.count, "possible")
        texts = {*piece.texts, *_TOKEN.findall(text)}
        # Names of people hold spaces.
        texts |= people.named.keys() & {each.strip() for each in _CELL.findall(text)}
        yield from self._named(piece.where, texts, people)
        for name, levels in people.levels.items():
            here = texts & levels.keys()
            if len(here) > 1 and any(levels[each] < RARE for each in here):
                yield Finding("rare", piece.where, (name,), 0, "likely")
            if len(piece.texts) >= _FEWEST_PEOPLE and self._coded[name].is_in(piece.texts):
                yield Finding("rows", piece.where, (name,), min(len(piece.texts), people.count))

    @staticmethod
    def _named(where: str, texts: set[str], people: PeopleColumns) -> Iterator[Finding]:
        """Yield ids, or other texts that are one person's, which are among some texts or parts of them."""
        short = [each for each in texts if len(each) <= _LONGEST_NAME]
        parts = {part for each in short for part in (*each.split("_"), *_PART.findall(each))}
        hit: dict[str, set[int]] = {}
        for each in (texts | parts) & people.named.keys():
            name, person = people.named[each]
            hit.setdefault(name, set()).add(person)
        for name, whom in hit.items():
            plain = all(each.isdecimal() for each in list(people.named)[:50])
            # Numbers may mean anything: they are ids where most of what stands there is.
            if len(whom) >= (FEWEST if plain else 2) and (not plain or len(whom) > 0.5 * len(texts)):
                yield Finding("ids" if name == people.ids else "rows", where, (name,), len(whom))

    def _bytes(self, where: str, data: memoryview, people: PeopleColumns) -> Iterator[Finding]:
        hits = self._patterns.found(data, self._budget.check)
        if hits is not None:
            for name in hits.columns:
                yield Finding("ids" if name == people.ids else "rows", where, (name,), hits.people)
        # Longer ones are patterns of eight bytes.
        telling = [each for each in people.named if 5 <= len(each) < 8 and not each.isdecimal()]
        sought = telling[:: max(1, len(telling) * len(data) // _SEARCHED)]
        raw = bytes(data[: 8 * _MOST_NUMBERS]) if sought else b""
        seen = [each for each in sought if each.encode() in raw]
        if len(seen) >= 2:
            name = Counter(people.named[each][0] for each in seen).most_common(1)[0][0]
            yield Finding("ids" if name == people.ids else "rows", where, (name,), len(seen))


class _CodedColumn:
    """A category, to be found in the order of its people."""

    def __init__(self, people: PeopleColumns, name: str, codes: dict[str, int]) -> None:
        self._codes = codes
        self._counts = Counter(people.texts[name])
        column = MeasuredColumn(name, np.array([codes[each] for each in people.texts[name]], dtype=np.float64))
        self._runs = Runs(np.empty((0, 0)), (column,))

    def is_in(self, texts: list[str]) -> bool:
        """Return whether texts are those of people, in their order or all of them in another."""
        if len(self._codes) >= FEWEST and len(texts) == sum(self._counts.values()) and Counter(texts) == self._counts:
            return True
        codes = np.array([self._codes.get(each, -1) for each in texts], dtype=np.float64)
        return self._runs.found(codes, lambda: None) is not None
