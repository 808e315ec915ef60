"""What several outputs print about the same people, as the numbers of one release."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._crowd import Held, Moves
from seepage.attackers._mapped import mapped, same_numbers
from seepage.attackers._output import Output
from seepage.attackers._patterns import Patterns
from seepage.attackers._printed import Level, Printed
from seepage.attackers._slopes import Beside, Formed, Slopes
from seepage.leakage import same_values

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Stack:
    """Outputs side by side."""

    outputs: tuple[Output, ...]
    held: bool = True
    """Whether people stay in the cells of tables; who may be in another scatters over all of them."""

    @property
    def by(self) -> frozenset[str]:
        """The columns that say who is in which cell of a table."""
        return frozenset(name for output in self.outputs for name in output.printed.by)

    @cached_property
    def patterns(self) -> Patterns:
        """Who is in which outputs."""
        inside = np.column_stack([output.rows >= 0 for output in self.outputs])
        number = np.repeat(np.arange(len(self.outputs)), [len(each) for each in self._values])
        cells = [
            output.spread(output.printed.cells + 1)
            for output in self.outputs
            if output.printed.cells is not None and self.held
        ]
        return Patterns(inside, number, np.unique(cells, axis=1, return_inverse=True)[1].ravel() if cells else None)

    @property
    def _values(self) -> list[Array]:
        return [output.printed.values for output in self.outputs]

    @cached_property
    def _blocks(self) -> dict[str, NDArray[np.intp]]:
        """Which of a person's values each attribute is."""
        return same_values(output.printed.blocks for output in self.outputs)

    def _places(self, output: Output) -> NDArray[np.intp]:
        """Return where the values of an output stand among all."""
        found = np.zeros(sum(map(len, output.printed.blocks.values())), dtype=np.intp)
        for name, block in output.printed.blocks.items():
            found[block] = self._blocks[name][: len(block)]
        return found

    def _stacked(
        self, people: NDArray[np.intp], of: Callable[[Output, NDArray[np.intp], NDArray[np.intp]], Slopes]
    ) -> Slopes:
        width = sum(map(len, self._blocks.values()))
        parts: list[tuple[Slopes, NDArray[np.intp], NDArray[np.intp]]] = []
        for output in self.outputs:
            at, rows = output.of(people)
            if len(at):
                parts.append((of(output, at, rows), at, self._places(output)))
            else:
                parts.append((Formed(np.zeros((0, len(output.printed.values), 0))), at, at))
        return Beside(tuple(parts), tuple(map(len, self._values)), (len(people), width))

    def jacobian(self, people: NDArray[np.intp]) -> Slopes:
        return self._stacked(people, lambda output, _, rows: output.printed.jacobian(rows))

    def shifted(self, people: NDArray[np.intp], attribute: str, by: Array) -> Slopes:
        def of(output: Output, at: NDArray[np.intp], rows: NDArray[np.intp]) -> Slopes:
            printed = output.printed
            held = attribute in printed.blocks
            return printed.shifted(rows, attribute, by[at]) if held else printed.jacobian(rows)

        return self._stacked(people, of)

    def changed(self, people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        parts = []
        for output, values in zip(self.outputs, self._values, strict=True):
            found = np.zeros((len(people), len(values)))
            at, rows = output.of(people)
            if len(at) and attribute in output.printed.blocks:
                found[at] = output.printed.changed(rows, attribute, value)
            parts.append(found)
        return np.concatenate(parts, axis=1)

    def elsewhere(self, person: int) -> Held:
        parts = []
        for output in self.outputs:
            row, printed = int(output.rows[person]), output.printed
            parts.append(printed.moves if row < 0 or printed.elsewhere is None else printed.elsewhere(row))
        return self._together(parts)

    @cached_property
    def moves(self) -> Held:
        """What everybody moves, at each output's own fit."""
        return self._together([output.printed.moves for output in self.outputs])

    def _together(self, moves: Sequence[Moves]) -> Held:
        """Return what everybody moves, given what those of each output do."""
        parts = (output.spread(_held(each)) for output, each in zip(self.outputs, moves, strict=True))
        return Held(np.concatenate([*parts], axis=1))

    def alike(self) -> "Stack | None":
        """Return the same with all fits that print alike looked at from one place; None where no two do."""
        fits = tuple(output for output in self.outputs if output.printed.cells is None)
        return self._from_one_place(fits)

    def settled(self) -> "Stack":
        """Return the same with all tables that print alike looked at from one place: they have none of their own."""
        return self._from_one_place(tuple(o for o in self.outputs if o.printed.cells is not None)) or self

    def _from_one_place(self, some: "tuple[Output, ...]") -> "Stack | None":
        places: dict[int, Output] = {}
        for output in some:
            same = [other for other in some if self._alike(output, other) or same_numbers(output, other)]
            if len(same) > 1:
                places[id(output)] = max(same, key=lambda one: int((one.rows >= 0).sum()))
        if not places:
            return None
        return replace(self, outputs=tuple(self._moved(each, places.get(id(each), each)) for each in self.outputs))

    def _alike(self, one: Output, other: Output) -> bool:
        """Return whether two outputs are made alike, of the same values of whoever is in both."""
        first, second = one.printed.form, other.printed.form
        if first is None or second is None or first.key != second.key:
            return False
        both = (one.rows >= 0) & (other.rows >= 0)
        return bool((first.rows()[one.rows[both]] == second.rows()[other.rows[both]]).all())

    def _moved(self, output: Output, place: Output) -> Output:
        """Return an output from the place of another: exactly if both have one form, else by a map between them."""
        if place is output:
            return output
        form, there = output.printed.form, place.printed.form
        if form is not None and there is not None and self._alike(output, place):
            return replace(output, printed=replace(output.printed, **form.at(there.position)._asdict()))
        return replace(output, printed=mapped(output, place))

    def guesses(self) -> Mapping[str, tuple[Array, Array]]:
        """Return guesses of each number in the output that knows it best."""
        found: dict[str, tuple[Array, Array]] = {}
        for output in self.outputs:
            inside = output.rows >= 0
            for name, (rest, deviation) in output.printed._guesses.items():
                spread = np.where(inside, output.spread(deviation), np.inf)
                before, least = found.get(name, (np.zeros(len(inside)), np.full(len(inside), np.inf)))
                better = spread < least
                found[name] = np.where(better, output.spread(rest), before), np.minimum(spread, least)
        return found

    def scatter(self) -> tuple[float, Held] | None:
        """Return how outcomes scatter given the covariates; None unless all outputs have the same outcome."""
        known = [output.printed.outcomes for output in self.outputs]
        outcomes = {tuple(self._outcome(output)) for output in self.outputs}
        if any(each is None for each in known) or len(outcomes) > 1:
            return None
        slopes = [output.spread(self._by_outcome(output.printed)) for output in self.outputs]
        deviations = []
        for output, slope, each in zip(self.outputs, slopes, known, strict=True):
            assert each is not None
            moved, size = np.linalg.norm(output.spread(_held(each[1])), axis=1), np.linalg.norm(slope, axis=1)
            deviations.append(np.where(size > 0, moved / np.maximum(size, 1e-300), np.inf))
        # It is one outcome, which scatters as it does in the output that knows it best.
        least = np.min(deviations, axis=0)
        moves = np.concatenate(slopes, axis=1) * np.where(np.isfinite(least), least, 0.0)[:, None]
        return min(each[0] for each in known if each is not None), Held(moves)

    @staticmethod
    def _by_outcome(printed: Printed) -> Array:
        """Return how the numbers move with each person's outcome."""
        block = [*printed.blocks.values()][-1]
        return np.asarray(printed.jacobian(np.arange(printed.moves.count)).of(block).formed()[:, :, 0])

    @staticmethod
    def _outcome(output: Output) -> Sequence[str]:
        # The label is the last of the attributes.
        return [*output.printed.blocks][-1:]

    def levels(self) -> tuple[Level, ...]:
        """Return the values that a part of the people have in common, each once."""
        found: dict[tuple[str, Hashable], Level] = {}
        for output in self.outputs:
            for level in output.printed.levels:
                members = None if level.members is None else output.spread(level.members)
                key = (level.name, level.value)
                if key not in found:
                    found[key] = replace(level, members=members)
                    continue
                other = found[key]
                if members is not None and other.members is not None:
                    members = members | other.members
                people = level.people if members is None else int(members.sum())
                most = max(level.coefficients, other.coefficients)
                found[key] = Level(level.name, level.value, people, most, members)
        return tuple(found.values())

    def _fewest(self) -> Array | None:
        """Return how many must be unknown for an answer about each person: as large a part of all as of an output."""
        known = [(output, output.printed.fewest) for output in self.outputs if output.printed.fewest is not None]
        if not known:
            return None
        others = len(self.outputs[0].rows) - 1
        parts = (output.spread(each) * others / max(output.printed.moves.count - 1, 1) for output, each in known)
        return np.asarray(np.max([*parts], axis=0))

    def printed(self) -> Printed:
        """Return all outputs as one."""
        each = [output.printed for output in self.outputs]
        return Printed(
            names=tuple(f"{output.name}: {name}" for output in self.outputs for name in output.printed.names),
            values=np.concatenate(self._values),
            whole=np.concatenate([one.whole for one in each]),
            moves=self.moves,
            blocks=self._blocks,
            jacobian=self.jacobian,
            shifted=self.shifted,
            changed=self.changed,
            elsewhere=None if any(one.elsewhere is None for one in each) else self.elsewhere,
            guesses=self.guesses,
            levels=self.levels(),
            record_bits=max(one.record_bits for one in each),
            scatter=self.scatter,
            parameters=max(one.parameters for one in each),
            leverages=lambda: np.max([output.spread(output.printed.leverage) for output in self.outputs], axis=0),
            twice=np.any([output.spread(output.printed.twice) for output in self.outputs], axis=0),
            fewest=self._fewest(),
        )


def _held(moves: object) -> Array:
    assert isinstance(moves, Held)
    return moves.values
