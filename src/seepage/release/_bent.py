"""What a published model takes through steps that are not affine: copies of them that were fitted on nobody.

What goes into such a step may be numbers, indicators of levels, and what other such steps made: the factors of a
product.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import ClassVar

import numpy as np
from sklearn.compose import ColumnTransformer

from seepage._tables import Model
from seepage.errors import UnsupportedError
from seepage.linear.columns import Bend
from seepage.release._block import Block, in_a_row
from seepage.release._preprocessing import PublishedSteps

# What steps take that do not care.
_ANY = (0.5, 0.5)
# What one input of a step is: a part of the model, by a key that those of one part share, and which of its features.
_Input = tuple[tuple[str, int], object]


@dataclass(frozen=True, eq=False)
class BentBlock:
    """Raw columns that the published model takes through one or more steps that bend."""

    kind: ClassVar[str] = "bent"

    parts: "tuple[Block | BentBlock, ...]"
    """What the last step is given, one after the other."""
    order: tuple[int, ...]
    """Which of the features of all parts it takes."""
    bend: Bend
    """The last step."""

    @classmethod
    def of(cls, bend: Bend, preprocessing: PublishedSteps) -> "BentBlock":
        """Return how the raw columns become what a bend makes; refuse ways that cannot be copied."""
        inputs = [_input(bend, feature, preprocessing) for feature in range(bend.incoming.features)]
        parts: list[Block | BentBlock] = []
        order: list[int] = []
        start = 0
        for (kind, number), each in groupby(inputs, key=lambda one: one[0]):
            taken = [which for _, which in each]
            if kind == "numbers":
                columns = [int(str(column)) for column in taken]
                parts.append(Block.of(columns, preprocessing, as_levels=False))
                order += range(start, start + len(taken))
            elif kind == "levels":
                block = Block.of([number], preprocessing, as_levels=True)
                named = [value for _, (value,) in block.taken()]
                parts.append(block)
                order += [start + named.index(value) for value in taken]
            else:
                parts.append(cls.of(bend.incoming.bends[number], preprocessing))
                order += [start + int(str(output)) for output in taken]
            start += _width(parts[-1])
        return cls(tuple(parts), tuple(order), bend)

    @cached_property
    def kept(self) -> list[int]:
        """Which of the features of the last step the model takes: others have no coefficient."""
        return np.flatnonzero(np.diff(self.bend.matrix.tocsc().indptr)).tolist()

    @property
    def columns(self) -> tuple[int, ...]:
        """The raw columns, in the order in which the steps take them."""
        if len(self.parts) == 1:
            return self.parts[0].columns
        return tuple(dict.fromkeys(column for part in self.parts for column in part.columns))

    def steps(self) -> list[Model]:
        """Return the steps that make all features of the last one, not fitted."""
        if len(self.parts) == 1:
            steps = self.parts[0].steps()
        else:
            places = [[self.columns.index(column) for column in part.columns] for part in self.parts]
            each = zip(self.parts, places, strict=True)
            named = [(f"{part.kind} {i}", in_a_row(part.steps()), at) for i, (part, at) in enumerate(each, 1)]
            steps = [ColumnTransformer(named, sparse_threshold=0.0)]
        steps += _taking(self.order, sum(map(_width, self.parts)))
        return [*steps, self.bend.curve.copy()]

    def step(self) -> Model:
        """Return the steps that make what the model takes, not fitted."""
        return in_a_row([*self.steps(), *_taking(self.kept, _width(self))])

    def examples(self) -> dict[int, tuple[object, ...]]:
        """Return values of nobody for each column, which the steps take: two at least, which splines ask for."""
        found: dict[int, tuple[object, ...]] = {}
        values = dict(zip(self.order, self.bend.curve.example().tolist(), strict=True))
        start = 0
        for part in self.parts:
            if part.kind == "numbers":
                given = [values[start + i] for i in range(_width(part))]
                _join(found, {column: (value, value) for column, value in zip(part.columns, given, strict=True)})
            _join(found, part.examples())
            start += _width(part)
        return found

    def all_words(self, names: Sequence[str]) -> list[str]:
        """Return what each feature of the last step is called."""
        words: list[str] = []
        for part in self.parts:
            words += part.all_words(names) if isinstance(part, BentBlock) else part.words(names)
        return self.bend.curve.words([words[i] for i in self.order])

    def words(self, names: Sequence[str]) -> list[str]:
        """Return what each coefficient is called."""
        found = self.all_words(names)
        return [found[i] for i in self.kept]


def joined_examples(blocks: Sequence[Block | BentBlock]) -> dict[int, tuple[object, ...]]:
    """Return values of nobody for each column, which the steps of all blocks take."""
    found: dict[int, tuple[object, ...]] = {}
    for block in blocks:
        _join(found, block.examples())
    return found


def _join(found: dict[int, tuple[object, ...]], more: Mapping[int, tuple[object, ...]]) -> None:
    # Splines want values between their knots, and other steps take these as well as their own.
    found |= {column: values for column, values in more.items() if found.get(column, _ANY) == _ANY}


def _width(part: Block | BentBlock) -> int:
    """Return how many features a part makes."""
    return len(part.taken()) if isinstance(part, Block) else int(part.bend.curve.reach.shape[0])


def _taking(order: Sequence[int], width: int) -> list[Model]:
    """Return a step that takes some of so many features, if it is needed."""
    if list(order) == list(range(width)):
        return []
    return [ColumnTransformer([("taken", "passthrough", list(order))])]


def _input(bend: Bend, feature: int, preprocessing: PublishedSteps) -> _Input:
    """Return what one input of a step is; refuse what was changed before."""
    incoming = bend.incoming
    column = incoming.raw_column(feature)
    if column is not None:
        # Columns that are filled in different ways are different parts.
        fills = [repr(preprocessing.fills.get(each)) for each in (*preprocessing.fills, column)]
        return ("numbers", fills.index(fills[-1])), column
    straight, bent = incoming.matrix[[feature]].tocoo(), [inner.matrix[[feature]].tocoo() for inner in incoming.bends]
    factors = [*straight.data.tolist(), *(factor for row in bent for factor in row.data.tolist())]
    if factors != [1.0] or incoming.offset[feature] != 0:
        raise _cannot(bend, "is given what other steps made, mixed or scaled")
    if not straight.nnz:
        number = next(i for i, row in enumerate(bent) if row.nnz)
        return ("bent", number), int(bent[number].coords[1][0])
    at, level = incoming.coordinates[int(straight.coords[1][0])]
    if level is None or len(level) > 1 or level[0] not in preprocessing.levels[at].named:
        raise _cannot(bend, "is given levels that were put together for being rare")
    return ("levels", at), level[0]


def _cannot(bend: Bend, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"The step {bend.path!r} {why}, and what is published has no place for steps in front of one that is not "
        "affine. Way out: give it raw columns, and put the other steps behind it, where they are folded in."
    )
