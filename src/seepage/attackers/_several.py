"""What several outputs about the same people say together, to attackers who know less than everything."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import cast

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, public
from seepage._tables import Array, Column, Frame, frame
from seepage.attackers._attacker import Attacker
from seepage.attackers._claims import (
    A_NUMBER,
    CLAIMED,
    DIGITS,
    FEW,
    MORE,
    SMALL,
    SPARE,
    Claims,
)
from seepage.attackers._crowd import Crowd, Held, Unknown
from seepage.attackers._digits import Digits
from seepage.attackers._information import SamplingInformation, Watch, _Answers, _Asking, about
from seepage.attackers._leakage import SamplingLeakage
from seepage.attackers._output import Output
from seepage.attackers._patterns import PatternCrowd, Patterns, Rest
from seepage.attackers._shared import Shared, StoredMoves
from seepage.attackers._slopes import Formed
from seepage.attackers._stacked import Stack
from seepage.attackers.types import Known
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Distances, match
from seepage.leakage.types import Who
from seepage.pages import counted

# Whose leverage is larger has the others looked at where the fits are without them.
_LARGE = 0.2
# Fewer people are no sum of many, however little rests on them.
_FEWEST = 10
_SHOWN, _NAMED = 20, 3
# What several outputs tell about somebody beyond this is told by their difference.
_MANY_TIMES = 10.0
# Beyond so many people categories are not changed one by one.
_MOST_CHANGED = 5_000


@dataclass(frozen=True)
class Difference:
    """People whom a difference between outputs leaves with too little protection, or none.

    Attributes
    ----------
    inside, outside : tuple of str
        The outputs that they are in, and those that they are not in.
    people : tuple
        Their ids: for whoever is inside the house.
    attributes : tuple of str
        What is left to the difference.
    count : int
        How many people are in these outputs and no others.
    """

    inside: tuple[str, ...]
    outside: tuple[str, ...]
    people: tuple[object, ...]
    attributes: tuple[str, ...]
    count: int

    def sentence(self) -> str:
        """Say what publishing all of them does."""
        who = "1 person" if len(self.people) == 1 else f"{len(self.people):,} people"
        named, more = self.attributes[:_NAMED], len(self.attributes) - _NAMED
        what = " and ".join(named) if len(named) < 3 and more <= 0 else ", ".join(named)
        what += f" and {counted(more, 'more attribute')}" if more > 0 else ""
        inside, outside = " and ".join(self.inside), " and ".join(self.outside)
        if not self.outside:
            return f"Publishing {inside} together leaves nothing to protect {what} of {who}."
        return (
            f"Publishing {inside} beside {outside} leaves {what} of {who} to the difference: too few others are in "
            f"{'it' if len(self.inside) == 1 else 'them'} and not in {outside}."
        )


@dataclass(frozen=True, eq=False)
class _PatternClaims(Claims):
    """Conditions on the people of the pattern with the most of them, whatever is asked about whom."""

    conditions: tuple[tuple[int, float, str], ...] = ()

    def needed(self) -> Iterator[tuple[int, float, str]]:
        yield from self.conditions


@dataclass(frozen=True, eq=False, kw_only=True)
class SeveralInformation(SamplingInformation):
    """The information that several outputs carry together."""

    stack: Stack
    parts: tuple[SamplingInformation, ...]
    _own: bool = True
    """Whether each output is looked at from its own fit."""

    @cached_property
    def alike(self) -> "SeveralInformation | None":
        """The same with outputs of one form looked at from one place: each of the two is too careless somewhere.

        Who is in both of two such outputs moves them alike but for where each fit is, so that what rests on whoever is
        in one of them shows there.
        """
        stack = self.stack.alike() if self._own else None
        return None if stack is None else replace(self, stack=stack, printed=stack.printed(), _own=False, crowds={})

    @property
    def count(self) -> int:
        return len(self.stack.outputs[0].rows)

    @property
    def outcome(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.outcome))

    @property
    def patterns(self) -> Patterns:
        """Who is in which outputs."""
        return self.stack.patterns

    @property
    def _known(self) -> float:
        return self.attacker.known / max(self.attacker.others, 1)

    @cached_property
    def _crowds(self) -> list[tuple[Crowd, NDArray[np.intp]]]:
        plain, moves = self.alike is not None, self.stack.moves.values
        found = [*self.patterns.crowds(moves, self.added, self._known, self._fails, plain=plain)]
        if self.attacker.covariates:
            found += self.patterns.crowds(self._modeled.values, self.added, 0.0, self._fails, modeled=True)
        return [(crowd, crowd.people) for crowd in found]

    @property
    def _modeled(self) -> Held:
        found = self.printed.outcomes
        if found is None:
            raise UnansweredError(
                "What an attacker learns who knows everybody's covariates is answered of several outputs with one "
                "outcome, where it is known how that scatters, given the covariates. Ask known_records=0, or a number."
            )
        assert isinstance(found[1], Held)
        return found[1]

    @cached_property
    def _answers(self) -> _Answers:
        own = super()._answers
        if self._moving_between is not None:
            other = self._moving_between._answers
            for i, name in enumerate(self.attribute_names):
                if name in self.stack.by:
                    own.each[:, i], own.reason[:, i] = other.each[:, i], other.reason[:, i]
            # No direction tells more than all attributes added up; of whoever is asked in two ways more is not known.
            total = own.each @ np.array([len(block) for block in self._blocks], dtype=np.float64)
            own.whole[:], own.trace[:] = total, total / max(self.private_values, 1)
            own.whole_reason[:] = np.maximum(other.whole_reason, own.reason.max(axis=1))
        if self._tables:
            np.maximum(own.each, self._by_itself, out=own.each)
            np.maximum(own.whole, own.each.max(axis=1, initial=0.0), out=own.whole)
        if self.alike is None:
            return own
        # From its own fit each output tells a little more; what that rests on is looked at from one place.
        own.reason[:], own.whole_reason[:] = CLAIMED, CLAIMED
        return own.larger(self.alike._answers)

    @cached_property
    def _moving_between(self) -> "SeveralInformation | None":
        """The same for columns that say who is in which cell: who is asked about them may be in another."""
        if not self.stack.held or not self.stack.by:
            return None
        return replace(self, stack=replace(self.stack, held=False))

    def averaged(self, name: str, watch: Watch | None = None) -> Array:
        own = super().averaged(name, watch)
        return own if self.alike is None else _larger(own, self.alike.averaged(name))

    def distances(self, attribute: str, values: Sequence[Hashable] | None) -> Distances:
        if self._moving_between is not None and attribute in self.stack.by:
            return self._moving_between.distances(attribute, values)
        own = super().distances(attribute, values)
        for output, part in self._tables:
            if attribute in part.attribute_names:
                inside, alone = output.rows >= 0, part.against(self._same).distances(attribute, own.values).distance
                own.distance[inside] = _larger(own.distance[inside], alone[output.rows[inside]])
        if self.alike is None:
            return own
        other = self.alike.distances(attribute, values)
        return replace(own, distance=_larger(own.distance, other.distance))

    def _crowd_without(self, person: int) -> Crowd:
        moves = self.stack.elsewhere(person).values
        found = self.patterns.crowds(moves, self.added, self._known, self._fails)
        return next(crowd for crowd in found if person in crowd.people)

    def _large(self, unknown: Unknown) -> NDArray[np.bool_]:
        # In a small pattern everybody is a large part of the noise; it is the fit that must be another without them.
        return np.asarray(self.printed.leverage > _LARGE)

    def _asking(self, unknown: Unknown) -> _Asking:
        # What an answer from their own fits rests on is left to the look from one place.
        return _Asking.of(unknown, self._blocks, inf if self.alike is None else -1.0)

    def _asking_of(self, without: Unknown) -> _Asking:
        return self._asking(without)

    @cached_property
    def claims(self) -> Claims:
        (crowd, _), *_ = self._crowds
        assert isinstance(crowd, PatternCrowd)
        # Of the people of a pattern as many are unknown as of all.
        share = (self.crowd.count - 1) / len(crowd.most.people)
        conditions = tuple((reason, share * needed, words) for reason, needed, words in self._conditions(crowd.most))
        return _PatternClaims(self.printed, self.crowd, self.digits, self._bits, conditions)

    def _conditions(self, rest: Rest) -> Iterator[tuple[int, float, str]]:
        """Yield how many people of a pattern must be unknown for what rests on them to be claimed, and why."""
        people = rest.people
        if self.digits.exact:
            yield DIGITS, inf, f"numbers are {self.digits.rule}"
        yield FEW, max(_FEWEST, A_NUMBER * rest.numbers), f"{rest.numbers} numbers rest on {len(people):,} people"
        for level in self.printed.levels:
            some = 0 if level.members is None else int(level.members[people].sum())
            if some:
                needed = max(10, A_NUMBER * min(level.coefficients, rest.numbers))
                yield SMALL, needed * len(people) / some, f"{some:,} people have {level.named}"
        with np.errstate(divide="ignore"):
            each = np.log2(4.13 * rest.spread / self.digits.steps)
        bits = float(np.sort(np.maximum(each[np.isfinite(each)], 0.0))[::-1][: rest.numbers].sum())
        yield DIGITS, (SPARE * bits + MORE) / max(self._bits, 1e-300), f"{bits:.0f} bits are {self.digits.rule}"

    def _fails(self, rest: Rest) -> bool:
        """Return whether what rests on a pattern is not claimed."""
        return any(rest.unknown < needed for _, needed, _ in self._conditions(rest))

    def _rest(self, held: Array, rest: NDArray[np.intp], left: int) -> Iterator[Unknown]:
        def fails(found: Rest) -> bool:
            return self._fails(found._replace(people=rest[found.people]))

        known = 1.0 - left / max(len(rest), 1)
        for crowd in self.patterns.of(rest).crowds(held[rest], self.added, known, fails, outside=True):
            yield crowd.unknown(left)

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        if self.attacker.covariates:
            raise UnansweredError(
                "About several people together nothing is claimed where everybody's covariates are known. Ask each of "
                "them by itself: leak.error_floor()."
            )
        own = super().joint_information_loss(who, attribute)
        return own if self.alike is None else max(own, self.alike.joint_information_loss(who, attribute))

    def _column(self, attribute: str) -> tuple[Column, NDArray[np.bool_]]:
        found: Column | None = None
        one = np.ones(self.count, dtype=bool)
        inside = np.zeros(self.count, dtype=bool)
        for output, part in zip(self.stack.outputs, self.parts, strict=True):
            if attribute not in part.attribute_names:
                continue
            column, same = part._column(attribute)
            new = (output.rows >= 0) & ~inside
            if found is None:
                found = np.empty(self.count, dtype=column.dtype)
            elif found.dtype != column.dtype:
                found = found.astype(object)
            found[new], one[new] = column[output.rows[new]], same[output.rows[new]]
            inside |= new
        assert found is not None
        if not inside.all():
            # Whoever is in no output with this attribute has no value of it here.
            found[~inside] = found[inside][0]
            one[~inside] = False
        return found, one

    def differences(self) -> tuple[Difference, ...]:
        """Return whom differences between outputs leave with too little protection."""
        found = []
        names = tuple(output.name for output in self.stack.outputs)
        whole, alone = self._answers.each, self._by_itself
        hit = np.isinf(whole) & ~np.isinf(alone)
        for i in self._silent:
            # Where two fits are not looked at from one place, a trace of noise is left of whoever is in both.
            people = self.patterns.all[i].people
            hit[people] |= whole[people] > _MANY_TIMES * alone[people]
        for i, name in enumerate(self.attribute_names):
            if name in self.categorical and name not in self.outcome:
                # Nobody has a value between two categories, where slopes would look: another category is what counts.
                hit[:, i] = self._told(name, hit[:, i])
        for pattern in self.patterns.all:
            people = pattern.people[hit[pattern.people].any(axis=1)]
            if not len(people):
                continue
            ids = tuple((people if self.people.ids is None else np.asarray(self.people.ids)[people]).tolist())
            what = [name for i, name in enumerate(self.attribute_names) if hit[people, i].any()]
            inside = tuple(names[i] for i in pattern.outputs)
            found.append(
                Difference(inside, tuple(each for each in names if each not in inside), ids, tuple(what), len(pattern))
            )
        return tuple(found)

    def _told(self, name: str, near: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whose category is told for certain by all outputs and by none alone, of those who are asked about."""
        if self.count > _MOST_CHANGED:
            inside = np.zeros(self.count, dtype=bool)
            for i in self._silent:
                inside[self.patterns.all[i].people] = True
            return near & inside
        found = np.zeros(self.count, dtype=bool)
        found[near] = self._certain(name, np.flatnonzero(near))
        return found

    def _certain(self, name: str, people: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return of which people some other category would be told for certain."""
        if self._moving_between is not None and name in self.stack.by:
            return self._moving_between._certain(name, people)
        found = np.zeros(self.count, dtype=bool)
        column, one = self._column(name)
        for value in np.unique(column).tolist() if len(people) else ():
            some = people[(column[people] != value) & one[people]]
            for unknown, whom in self._noises:
                at = np.intersect1d(some, whom)
                if len(at):
                    moved = Formed(self.printed.changed(at, name, value)[:, :, None])
                    found[at] |= self._seen(unknown, at, moved).endless[:, 0]
        told = found[people]
        return told if self.alike is None else told | self.alike._certain(name, people)

    def endless(self) -> Iterator[str]:
        found = self.differences()
        if np.isinf(self._by_itself).any():
            yield "Of some people nothing protects a value in one output alone: see that output by itself."
        yield from (each.sentence() for each in found)

    @property
    def _silent(self) -> frozenset[int]:
        """The patterns whose people are taken as known by somebody."""
        found = {i for crowd, _ in self._crowds if isinstance(crowd, PatternCrowd) for i in crowd.silent}
        return frozenset(found) if self.alike is None else frozenset(found) | self.alike._silent

    @property
    def _same(self) -> Known:
        """What this attacker holds of the people of one output."""
        if self.attacker.covariates:
            return "covariates"
        return "all" if self.attacker.everybody else self._known

    @property
    def _tables(self) -> list[tuple[Output, SamplingInformation]]:
        """The tables among the outputs: looked at from the place of another, one must not tell less than by itself."""
        each = zip(self.stack.outputs, self.parts, strict=True)
        return [(output, part) for output, part in each if output.printed.cells is not None]

    @cached_property
    def _by_itself(self) -> Array:
        """The largest information about each attribute that one output has by itself."""
        found = np.zeros((self.count, len(self.attribute_names)))
        for output, part in zip(self.stack.outputs, self.parts, strict=True):
            inside, each = output.rows >= 0, part.against(self._same)._answers.each
            for i, name in enumerate(part.attribute_names):
                at = self.attribute_names.index(name)
                found[inside, at] = np.maximum(found[inside, at], each[output.rows[inside], i])
        return found


@dataclass(frozen=True, eq=False, repr=False)
class SeveralLeakage(SamplingLeakage):
    """What several outputs about the same people give away together."""

    information: SeveralInformation

    def differences(self) -> Frame:
        """Return whom differences between outputs leave with too little protection, or none: for those inside.

        Returns
        -------
        data frame
            For each set of outputs: `inside` and `outside`, the outputs that these people are in and not in; `people`,
            how many of them are left; `attributes`, what is left to the difference; and `ids`, who they are.
        """
        each = self.information.differences()
        columns = {
            "inside": [", ".join(one.inside) for one in each],
            "outside": [", ".join(one.outside) for one in each],
            "people": [len(one.people) for one in each],
            "attributes": [", ".join(one.attributes) for one in each],
            "ids": [", ".join(map(str, one.people[:_SHOWN])) + ", …" * (len(one.people) > _SHOWN) for one in each],
        }
        return frame(columns, self.people.library)

    def records_needed(
        self,
        *,
        error_floor: Mapping[str, float] | None = None,
        success_rate: Mapping[str, float] | None = None,
    ) -> Frame:
        """Refuse: how many others must be known is answered of each output by itself."""
        raise UnansweredError(
            "How many of the others must be known is answered of each output by itself. Of several, ask what an "
            "attacker reaches who knows some: leak.against(100).error_floor()."
        )


def several(leaks: Mapping[str, SamplingLeakage]) -> SeveralLeakage:
    """Return what several outputs give away together; people are matched by their ids.

    Parameters
    ----------
    leaks : mapping from name to SamplingLeakage
        Before one attacker: of those who know a number of the records, the one who knows the largest share.
    """
    leaks = dict(_single(leaks))
    parts = tuple(leak.information for leak in leaks.values())
    for name, part in zip(leaks, parts, strict=True):
        if part.family is not None:
            raise UnansweredError(f"{name} was measured with clusters=, and outputs of clusters are not composed yet.")
    known = {part.attacker.words for part in parts}
    if len({(part.attacker.known > 0, part.attacker.covariates) for part in parts}) > 1:
        raise InputError(
            "Outputs are composed before one attacker, and these were measured before several: one who knows "
            f"{' and one who knows '.join(sorted(known))}. Measure all of them with the same known_records=."
        )
    _refuse_public(leaks)
    shared = _shared(leaks)
    matching = shared or match([leak.people for leak in leaks.values()], [part.count for part in parts], tuple(leaks))
    each = [part.printed if shared is None else cast(StoredMoves, part.printed.moves).gathered() for part in parts]
    outputs = tuple(Output(name, one, at) for name, one, at in zip(leaks, each, matching.rows, strict=True))
    stack = Stack(outputs).settled()
    if shared is None:
        _refuse_other_values(stack, parts)
    printed = stack.printed()
    share = max(part.attacker.known / max(part.attacker.others, 1) for part in parts)
    others = len(matching.rows[0]) - 1
    attacker = Attacker.of("covariates" if parts[0].attacker.covariates else int(np.ceil(share * others)), others)
    digits = Digits(
        np.concatenate([part.digits.steps for part in parts]),
        " or ".join(dict.fromkeys(part.digits.rule for part in parts)),
        any(part.digits.exact for part in parts),
    )
    categorical, units = _kinds(leaks)
    without_slope = [name for part in parts for name in part.attribute_names if name in part.without_slope]
    information = SeveralInformation(
        people=matching.people,
        base=parts[0].base,
        printed=printed,
        attacker=attacker,
        digits=digits,
        added=_added(parts),
        noise=None,
        attribute_names=tuple(dict.fromkeys([*printed.blocks, *without_slope])),
        without_slope=frozenset(without_slope),
        categorical=categorical,
        assumptions=(
            about(attacker),
            Assumption(
                "composition",
                "{releases} outputs about the same people, or some of the same, are read together; who is in which of "
                "them is known.",
                {"releases": public(len(parts), "g")},
            ),
            *(
                one.of_release(number)
                for number, part in enumerate(parts, 1)
                for one in part.assumptions
                if one.kind != "attacker"
            ),
        ),
        units=units,
        stack=stack,
        parts=parts,
    )
    return SeveralLeakage(information)


def _shared(leaks: Mapping[str, SamplingLeakage]) -> Shared | None:
    """Return the table in files that all outputs are about; None where all of them are in memory."""
    moves = {name: leak.information.printed.moves for name, leak in leaks.items()}
    stored = [name for name, leak in leaks.items() if leak.information.printed.each is not None]
    if not stored:
        return None
    held = [name for name in moves if name not in stored]
    if held:
        raise UnansweredError(
            f"{stored[0]} was measured over files and {held[0]} in memory: outputs are composed over one table, or in "
            "memory. Read the rows: seepage.measure(model, frame, y)."
        )
    return cast(StoredMoves, moves[stored[0]]).shared(moves)


def _single(leaks: Mapping[str, SamplingLeakage]) -> Iterator[tuple[str, SamplingLeakage]]:
    """Yield each output: who is in which of them is not known of outputs that were composed before."""
    for name, leak in leaks.items():
        information = leak.information
        if not isinstance(information, SeveralInformation):
            yield name, leak
            continue
        for output, part in zip(information.stack.outputs, information.parts, strict=True):
            yield f"{name}: {output.name}", SamplingLeakage(part.against(information._same))


def _larger(one: Array, other: Array) -> Array:
    """Return the larger of two answers: infinite where one is, and missing where one is not claimed."""
    return np.where(np.isinf(one) | np.isinf(other), np.inf, np.maximum(one, other))


def _refuse_public(leaks: Mapping[str, SamplingLeakage]) -> None:
    """Refuse an attribute that is private in one output and public in another, where what tells it was not counted."""
    private = dict.fromkeys(name for leak in leaks.values() for name in leak.information.printed.blocks)
    for output, leak in leaks.items():
        reaching = {
            *getattr(leak.information.base, "attribute_names", ()),
            *getattr(leak.information, "columns", ()),
            *getattr(leak.people, "others", ()),
        }
        for name in private:
            if name in reaching and name not in leak.information.printed.blocks and name != leak.people.grouping:
                raise InputError(
                    f"{output} was measured with {name!r} as public, which is private in another output: what it tells "
                    "was not counted. Measure all of them with the same attributes= and public_label=."
                )


def _refuse_other_values(stack: Stack, parts: tuple[SamplingInformation, ...]) -> None:
    """Refuse an attribute of which somebody has one value in one output and another in another."""
    for i, (one, first) in enumerate(zip(stack.outputs, parts, strict=True)):
        for other, second in zip(stack.outputs[:i], parts[:i], strict=True):
            both = np.flatnonzero((one.rows >= 0) & (other.rows >= 0))
            if not len(both):
                continue
            for name in set(first.attribute_names) & set(second.attribute_names):
                here, there = (
                    part._column(name)[0][output.rows[both]] for part, output in ((first, one), (second, other))
                )
                differ = (
                    np.asarray(here != there).reshape(len(both), -1).any(axis=1) if len(both) else np.zeros(0, bool)
                )
                if differ.any() and not (_missing(here[differ]) & _missing(there[differ])).all():
                    at = int(np.flatnonzero(differ)[0])
                    raise InputError(
                        f"{name!r} of somebody is {there[at]!r} in {other.name} and {here[at]!r} in {one.name}, so "
                        "that it is not one value. Give both in the same unit, or name them apart."
                    )


def _missing(values: Column) -> NDArray[np.bool_]:
    return np.asarray(np.asarray(values != values).reshape(len(values), -1).all(axis=1))


def _kinds(leaks: Mapping[str, SamplingLeakage]) -> tuple[frozenset[str], dict[str, str]]:
    """Return which attributes are categories and the units of the others; refuse an attribute that is not one thing."""
    kind: dict[str, tuple[str, bool]] = {}
    units: dict[str, str] = {}
    for name, leak in leaks.items():
        information = leak.information
        units = {**information.units, **units}
        for attribute in information.attribute_names:
            category = attribute in information.categorical
            other, before = kind.setdefault(attribute, (name, category))
            if before != category:
                one, two = ("a category", "a number") if before else ("a number", "a category")
                raise InputError(
                    f"{attribute!r} is {one} in {other} and {two} in {name}, so that they are not about the same "
                    "values. Measure both with it of one kind, or name them apart."
                )
    return frozenset(attribute for attribute, (_, category) in kind.items() if category), units


def _added(parts: tuple[SamplingInformation, ...]) -> Array | None:
    """Return the covariance of noise that was added to all numbers; none where none was."""
    if all(part.added is None for part in parts):
        return None
    sizes = [len(part.printed.values) for part in parts]
    found, first = np.zeros((sum(sizes), sum(sizes))), 0
    for part, size in zip(parts, sizes, strict=True):
        if part.added is not None:
            found[first : first + size, first : first + size] = part.added
        first += size
    return found
