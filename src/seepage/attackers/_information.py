"""What a release without noise, or with little, says to attackers who know less than everything."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._python import Self
from seepage._tables import Array, Column, which
from seepage.attackers._attacker import Attacker
from seepage.attackers._claims import (
    CLAIMED,
    JUMPS,
    LEVERAGE,
    MOST_SKEWED,
    REASONS,
    SKEWED,
    SMALL,
    TWICE,
    UNEVEN,
    Claims,
    is_even,
    surely_even,
)
from seepage.attackers._crowd import Crowd, Held, Moves, Seen, Unknown
from seepage.attackers._digits import Digits
from seepage.attackers._printed import Printed
from seepage.attackers._slopes import Formed, Slopes
from seepage.attackers.types import Known
from seepage.errors import UnansweredError
from seepage.leakage import Distances, GatheredInformation, People
from seepage.leakage.types import Assurance, Kind, Variance, Who
from seepage.meaning import EmpiricalPrior, GaussianPrior, Guarantee, unbiased_floor

Result = TypeVar("Result")
Watch = Callable[[int], None]
"""Called with the number of guesses that have been looked at since the last call."""

# People whose part of the noise is larger have the others looked at where the fit would be without them.
_LARGE = 0.2
# Of a normal prior, in deviations, and their weights.
POINTS = ((0.0, 2 / 3), (np.sqrt(3.0), 1 / 6), (-np.sqrt(3.0), 1 / 6))
# People whose evenness is looked at in one pass over everybody.
AT_A_TIME = 4096
# Numbers of the matrices of people who are looked at together: they stay in a core's cache.
_AT_ONCE = 2**19
# People whose value is changed at once: in files more of them, whose rows are read together.
_CHANGED, _CHANGED_IN_FILES = 2**10, 2**16
# Numbers in the largest temporary; influence without one person is kept if it has no more numbers.
_MOST_NUMBERS, _MOST_KEPT = 2**23, 2**18


@dataclass(frozen=True, eq=False)
class _Answers:
    """Squared eta, and why some are not claimed; infinite where nothing protects."""

    whole: Array
    trace: Array
    each: Array
    """Shape (people, attributes)."""
    whole_reason: NDArray[np.int8]
    reason: NDArray[np.int8]

    @classmethod
    def empty(cls, people: int, attributes: int) -> "_Answers":
        return cls(
            np.zeros(people),
            np.zeros(people),
            np.zeros((people, attributes)),
            np.zeros(people, dtype=np.int8),
            np.zeros((people, attributes), dtype=np.int8),
        )

    def larger(self, other: "_Answers") -> "_Answers":
        """Return the larger of two informations about the same; claimed where both are, or where one is infinite."""
        whole, each = np.maximum(self.whole, other.whole), np.maximum(self.each, other.each)
        of_whole = np.maximum(self.whole_reason, other.whole_reason)
        of_each = np.maximum(self.reason, other.reason)
        return _Answers(
            whole,
            np.maximum(self.trace, other.trace),
            each,
            np.where(np.isinf(whole), CLAIMED, of_whole).astype(np.int8),
            np.where(np.isinf(each), CLAIMED, of_each).astype(np.int8),
        )


class About(Protocol):
    """Whom a measurement is about."""

    @property
    def people(self) -> People:
        """Who they are."""
        ...

    @property
    def count(self) -> int:
        """How many they are."""
        ...

    @property
    def outcome(self) -> tuple[str, ...]:
        """The attributes that are predicted, if some are."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class SamplingInformation(GatheredInformation):
    """The information that printed numbers carry to an attacker who uses averages: the other people are the noise."""

    assurance: Assurance = "approximate"
    base: About
    """What is known of the people and their values, whoever attacks."""
    printed: Printed
    attacker: Attacker
    digits: Digits
    added: Array | None
    """The covariance of noise that is added to the numbers, if some is."""
    family: NDArray[np.intp] | None = None
    """Which people are not independent of each other, by place; None if all are."""
    crowds: dict[int | None, Crowd] = field(default_factory=dict, repr=False)
    """The other people as noise, without one person or with all, for attackers who know any number of them."""

    @property
    def count(self) -> int:
        return self.base.count

    @property
    def outcome(self) -> tuple[str, ...]:
        return tuple(name for name in self.base.outcome if name in self.attribute_names)

    @property
    def private_values(self) -> int:
        return sum(len(block) for block in self.printed.blocks.values())

    @cached_property
    def crowd(self) -> Crowd:
        """The people, or clusters, who are independent of each other."""
        if None not in self.crowds:
            self.crowds[None] = Crowd(self._together(self.printed.moves), self.added)
        return self.crowds[None]

    @property
    def held(self) -> Array:
        """What each of these moves, in memory."""
        if not isinstance(self.crowd.moves, Held):
            raise UnansweredError(
                "That is answered for people in memory, where everybody's part of the noise is looked at together. "
                "Read the rows: seepage.measure(model, frame, y)."
            )
        return self.crowd.moves.values

    def _together(self, moves: Moves) -> Moves:
        if self.family is None:
            return moves
        assert isinstance(moves, Held)
        found = np.zeros((int(self.family.max()) + 1, moves.values.shape[1]))
        np.add.at(found, self.family, moves.values)
        return Held(found)

    @cached_property
    def claims(self) -> Claims:
        """What must hold of the unknown people."""
        return Claims(self.printed, self.crowd, self.digits, self._bits)

    @property
    def _bits(self) -> float:
        """The entropy of what is not known of one person."""
        known = self.printed.outcomes if self.attacker.covariates else None
        return self.printed.record_bits if known is None else known[0]

    def against(self, known: Known) -> Self:
        """Return the same release before another attacker."""
        attacker = Attacker.of(known, self.crowd.count - 1)
        rest = tuple(one for one in self.assumptions if one.kind != "attacker")
        return replace(self, attacker=attacker, assumptions=(about(attacker), *rest))

    @property
    def _few(self) -> NDArray[np.bool_]:
        """Whose numbers rest on too few unknown people."""
        fewest = self.printed.fewest
        return np.zeros(self.count, dtype=bool) if fewest is None else self.attacker.unknown < fewest

    def silence(self) -> str:
        """Return why nothing at all is claimed, in words; empty if something is."""
        return self.claims.sentence(self.attacker.unknown)

    @cached_property
    def _answers(self) -> _Answers:
        if self.attacker.everybody and self.added is None:
            found = _Answers.empty(self.count, len(self.attribute_names))
            silent = ~self._moving
            found.each[:] = np.where(silent, 0.0, np.inf)
            found.whole[:] = np.where(silent.all(axis=1), 0.0, np.inf)
            found.trace[:] = found.whole
            return found
        return reduce(_Answers.larger, self._of_crowds())

    @cached_property
    def _crowds(self) -> list[tuple[Crowd, NDArray[np.intp]]]:
        """What the others may be as noise, and before whom: the largest information of these is answered."""
        everyone = np.arange(self.count)
        found = [(self.crowd, everyone)]
        return [*found, (self._outcomes, everyone)] if self.attacker.covariates else found

    def _crowd_without(self, person: int) -> Crowd:
        """Return the others as noise, looked at where the fit is without somebody."""
        assert self.printed.elsewhere is not None
        if person in self.crowds:
            return self.crowds[person]
        found = Crowd(self._together(self.printed.elsewhere(person)), self.added)
        if found.count * len(self.printed.names) <= _MOST_KEPT:
            self.crowds[person] = found
        return found

    @cached_property
    def _noises(self) -> list[tuple[Unknown, NDArray[np.intp]]]:
        """What so many unknown others are as noise, and before whom.

        Of everybody's scatter and that of outcomes neither is always the larger: where the model is wrong, everybody's
        counts its error. For people of large leverage the others are also looked at where the fit is without them.
        """
        count = self.attacker.unknown
        found = [(crowd.unknown(count), whom) for crowd, whom in self._crowds]
        if self.printed.elsewhere is not None and count:
            for person in np.flatnonzero(self._large(found[0][0])):
                found.append((self._crowd_without(int(person)).unknown(count), np.array([person])))
        return found

    def _large(self, unknown: Unknown) -> NDArray[np.bool_]:
        """Whose part of the noise is so large that it is another without them."""
        if not (unknown.largest > _LARGE).any():
            return np.zeros(self.count, dtype=bool)
        # How much of the noise in their own direction everybody in the crowd is.
        parts = unknown.crowd.moves.total(partial(_Listed.of, unknown=unknown.alone())).values
        return np.asarray(parts[self._place(np.arange(self.count))] > _LARGE)

    @cached_property
    def _outcomes(self) -> Crowd:
        """What everybody's outcomes may do, given their covariates."""
        if self.printed.outcomes is None:
            raise UnansweredError(
                "What an attacker learns who knows everybody's covariates is not answered for this model: how its "
                "outcome scatters, given the covariates, is not known. Ask known_records=0, or a number."
            )
        return Crowd(self.printed.outcomes[1], self.added, modeled=True)

    @cached_property
    def _moving(self) -> NDArray[np.bool_]:
        """Which attributes of whom move the numbers at all."""
        found = np.zeros((self.count, len(self.attribute_names)), dtype=bool)
        for people, moved in self._each(_largest_slopes, self.crowd):
            for i, block in enumerate(self._blocks):
                found[people, i] = (moved[:, block] > 0).any(axis=1)
        return found

    @property
    def _blocks(self) -> list[NDArray[np.intp]]:
        return [self.printed.blocks.get(name, np.empty(0, dtype=np.intp)) for name in self.attribute_names]

    def _chunks(self, whom: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """Yield a few people at a time."""
        return self._steps(whom, max(self.private_values, 1))

    def _steps(self, whom: NDArray[np.intp], each: int) -> Iterator[NDArray[np.intp]]:
        step = max(_AT_ONCE // (each * max(self.private_values, 1)), 16)
        for start in range(0, len(whom), step):
            yield whom[start : start + step]

    def _asking(self, unknown: Unknown) -> "_Asking":
        return _Asking.of(unknown, self._blocks)

    def _asking_of(self, without: Unknown) -> "_Asking":
        """Ask about somebody without whom the others were looked at."""
        return _Asking.of(without, self._blocks, np.inf)

    def _place(self, people: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where people stand in the crowd."""
        return people if self.family is None else self.family[people]

    def _seen(self, unknown: Unknown, people: NDArray[np.intp], slopes: Slopes) -> Seen:
        """Return how some people's values move the numbers, in units of the noise that the others are."""
        return unknown.without(unknown.crowd.moves.of(self._place(people)), slopes)

    def _each(
        self, of: Callable[[Array, Slopes], Result], crowd: Crowd, whom: NDArray[np.intp] | None = None
    ) -> Iterator[tuple[NDArray[np.intp], Result]]:
        """Yield a function of what people move, and of how the numbers move with their values, a few at a time."""
        if self.printed.each is not None:
            yield from ((people, found) for people, (found,) in self.printed.each(of, [None], crowd.moves))
            return
        for people in self._chunks(np.arange(self.count) if whom is None else whom):
            yield people, of(crowd.moves.of(self._place(people)), self.printed.jacobian(people))

    def _of_crowds(self) -> Iterator[_Answers]:
        """Yield what is answered with what the others may be as noise."""
        for crowd, whom in self._crowds:
            unknown = crowd.unknown(self.attacker.unknown)
            yield self._of_crowd(unknown, whom, self._each(self._asking(unknown), crowd, whom))

    def _of_crowd(
        self, unknown: Unknown, whom: NDArray[np.intp], parts: Iterable[tuple[NDArray[np.intp], "_Part"]]
    ) -> _Answers:
        found = _Answers.empty(self.count, len(self.attribute_names))
        waiting = list[tuple[NDArray[np.intp], _Part]]()
        for people, part in parts:
            self._put(found, people, part)
            if len(part.unsure):
                waiting.append((people, part))
            if sum(len(each.unsure) for _, each in waiting) >= AT_A_TIME:
                self._settle(found, waiting, unknown)
                waiting = []
        self._settle(found, waiting, unknown)
        if not unknown.crowd.modeled and self.attacker.unknown:
            for person in whom[self._large(unknown)[whom]]:
                self._alone(found, int(person), unknown)
        self._judge(found, unknown, whom)
        return found

    def _judge(self, found: _Answers, unknown: Unknown, whom: NDArray[np.intp]) -> None:
        """Put down what is not claimed of people whatever is asked."""
        common = self.claims.reason(self.attacker.unknown)
        whom_not = (SMALL, self._few), (TWICE, self.printed.twice), (common, np.full(self.count, common != CLAIMED))
        for reason, who in whom_not:
            found.reason[:] = np.where(who[:, None] & ~np.isinf(found.each), reason, found.reason)
            found.whole_reason[:] = np.where(who & ~np.isinf(found.whole), reason, found.whole_reason)

    def _met(self, unknown: Unknown, seen: Seen) -> NDArray[np.bool_]:
        """Return of which people one answer may be claimed, whatever it is."""
        return np.full(len(seen.own), self.claims.reason(self.attacker.unknown) == CLAIMED)

    def _alone(self, found: _Answers, person: int, unknown: Unknown) -> None:
        """Answer about somebody of large leverage: the others are looked at where the fit is without them."""
        at = np.array([person])
        if self.printed.elsewhere is None:
            found.reason[person] = np.where(np.isinf(found.each[person]), CLAIMED, LEVERAGE)
            found.whole_reason[person] = CLAIMED if np.isinf(found.whole[person]) else LEVERAGE
            return
        without = self._crowd_without(person).unknown(unknown.count)
        before = found.each[person].copy(), found.whole[person], found.trace[person]
        asking = self._asking_of(without)
        part = asking(without.crowd.moves.of(self._place(at)), self.printed.jacobian(at))
        self._put(found, at, part)
        self._settle(found, [(at, part)], without)
        found.each[person] = np.maximum(found.each[person], before[0])
        found.whole[person] = max(found.whole[person], before[1])
        found.trace[person] = max(found.trace[person], before[2])

    def _put(self, found: _Answers, people: NDArray[np.intp], part: "_Part") -> None:
        """Put down what is known of some people."""
        found.whole[people], found.trace[people], found.each[people] = part.whole, part.trace, part.each
        reason = np.where(part.skewed, SKEWED, CLAIMED).astype(np.int8)
        if part.uneven is not None:
            reason = np.where(part.uneven, UNEVEN, reason).astype(np.int8)
        self._reason(found, people, reason)

    def _reason(self, found: _Answers, people: NDArray[np.intp], reason: NDArray[np.int8]) -> None:
        """Put down why answers are not claimed; what tells nothing is, and what nothing protects."""
        whole, each = found.whole[people], found.each[people]
        found.reason[people] = np.where(np.isinf(each) | (each == 0.0), CLAIMED, reason[:, 1:])
        found.whole_reason[people] = np.where(np.isinf(whole) | (whole == 0.0), CLAIMED, reason[:, 0])

    def _settle(self, found: _Answers, waiting: list[tuple[NDArray[np.intp], "_Part"]], unknown: Unknown) -> None:
        """Look at everybody's part of the noise on guesses, where the cheap condition does not settle it."""
        waiting = [(people, part) for people, part in waiting if len(part.unsure)]
        if not waiting:
            return
        people = np.concatenate([people[part.unsure] for people, part in waiting])
        own, along = (np.concatenate([getattr(part, of) for _, part in waiting]) for of in ("own", "along"))
        before = np.column_stack([found.whole_reason[people], found.reason[people]])
        uneven = ~is_even(unknown, own, along, unknown.count)
        self._reason(found, people, np.where(uneven, UNEVEN, before).astype(np.int8))

    def examples(self) -> dict[str, Array]:
        return self._examples

    @cached_property
    def _examples(self) -> dict[str, Array]:
        found = self._answers
        claimed, every = found.whole_reason == CLAIMED, (found.reason == CLAIMED).all(axis=1)
        return {
            "eta": np.where(claimed, np.sqrt(found.whole), np.nan),
            "dfil": np.where(every | np.isinf(found.trace), np.sqrt(found.trace), np.nan),
        }

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        etas = np.where(self._reasons == CLAIMED, np.sqrt(self._answers.each), np.nan)
        return {name: etas[:, i].copy() for i, name in enumerate(self.attribute_names)}

    @property
    def _reasons(self) -> NDArray[np.int8]:
        """The reason for which each attribute of each person is not assessed, shape (people, attributes)."""
        jumps = np.isin(self.attribute_names, list(self.without_slope))
        return np.where(jumps & ~np.isinf(self._answers.each), JUMPS, self._answers.reason).astype(np.int8)

    def averaged(self, name: str, watch: Watch | None = None) -> Array:
        """Return eta of a number in the root mean square over what the person's other values let expect of it.

        An attacker with a prior does not know the value at which the release is looked at. Three points of a normal
        prior are exact where information is a parabola in the value, as for least squares.
        """
        at, total = self.attribute_names.index(name), np.zeros(self.count)
        noises = () if self.attacker.everybody else self._noises
        if watch is not None:
            # What was done once so far says nothing about the time left.
            watch(0)
        for unknown, whom in noises:
            total[whom] = np.maximum(total[whom], self._mean(name, unknown, whom, watch if len(whom) > 1 else None))
        own = self._answers.each[:, at]
        claimed = self._answers.reason[:, at] == CLAIMED
        return np.where(np.isinf(own), np.inf, np.where(claimed, np.sqrt(total), np.nan))

    def error_of(self, name: str, watch: Watch | None = None) -> Array:
        """Return the error of a guess of a number by somebody who knows the person's other values beforehand."""
        deviation = self.printed.deviations[name]
        with np.errstate(divide="ignore"):
            errors = np.asarray(unbiased_floor(np.sqrt(self.averaged(name, watch) ** 2 + 1 / deviation**2)))
        return np.where(deviation == 0, 0.0, errors)

    @cached_property
    def errors(self) -> dict[str, Array]:
        """The errors of guesses of all attributes that are numbers."""
        # Imported here: the engines bring pyarrow.
        from seepage.execution.storage import followed

        with followed("errors of guesses", self.guesses) as watch:
            return self.watched_errors(watch)

    def watched_errors(self, watch: Watch) -> dict[str, Array]:
        """Return the same, with progress."""
        return {name: self.error_of(name, watch) for name in self._numbers}

    @property
    def guesses(self) -> int:
        """The number of guesses: of each person and number, for each crowd."""
        return len(self._numbers) * sum(len(whom) for _, whom in self._crowds) if self._numbers else 0

    def _mean(self, name: str, unknown: Unknown, whom: NDArray[np.intp], watch: Watch | None = None) -> Array:
        """Return the mean information about a number of some people, over what their other values let expect."""
        if self.printed.each is not None and len(whom) == self.count:
            return self._means[id(unknown)][:, self._numbers.index(name)]
        total = np.zeros(self.count)
        # Of one attribute there is one number a person, whatever the others are.
        for chunk in self._steps(whom, min(len(self.printed.names), max(self.private_values, 1))):
            for point, weight in POINTS:
                moved = self.printed.shifted_to(point, chunk, name)
                total[chunk] += weight * self._seen(unknown, chunk, moved).matrices()[:, 0, 0]
            if watch is not None:
                watch(len(chunk))
        return np.asarray(total[whom])

    @property
    def _numbers(self) -> list[str]:
        return [name for name in self.printed.deviations if name in self.attribute_names]

    @cached_property
    def _means(self) -> dict[int, Array]:
        """The mean information about each number of people in files, before each noise: a pass for all numbers."""
        assert self.printed.each is not None
        names, weights = self._numbers, np.array([weight for _, weight in POINTS])
        places = [(name, float(point)) for name in names for point, _ in POINTS]
        means = {}
        for unknown, whom in self._noises:
            if len(whom) != self.count:
                continue
            _ = unknown.crowd.scatter, unknown.bent
            means[id(unknown)] = total = np.zeros((self.count, len(names)))
            for people, found in self.printed.each(_Single(unknown.alone()), places, unknown.crowd.moves):
                total[people] = np.stack(found, axis=1).reshape(len(people), len(names), len(weights)) @ weights
        return means

    def not_assessed(self) -> Mapping[str, Column]:
        """Return why an answer is not claimed, for each person and attribute; empty where it is."""
        words = np.array(REASONS, dtype=object)
        return {name: words[self._reasons[:, i]] for i, name in enumerate(self.attribute_names)}

    def endless(self) -> Iterator[str]:
        """Say who is alone with what."""
        for name, eta in self.attributes().items():
            count = int(np.isinf(eta).sum())
            if count:
                who = "1 person" if count == 1 else f"{count:,} people"
                yield f"Nothing protects {name} of {who}: nobody else is like them in it."

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        if self.added is None:
            raise UnansweredError("No noise is added that could be larger. Measure with noise_scale=.")
        louder = replace(self, added=self.added * factor**2, crowds={})
        return (louder.examples() if kind == "examples" else louder.attributes())[name]

    def check_slope(self, attribute: str | None) -> None:
        """Refuse an attribute with which the numbers do not move smoothly."""
        if attribute in self.without_slope:
            raise UnansweredError(
                f"{attribute!r} is {REASONS[JUMPS]}. Measure with noise_scale=, where the model is refitted with other "
                "values."
            )

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        self.check_slope(attribute)
        held = self.held
        mask = self.people.mask(who, self.count)  # type: ignore[attr-defined]
        people = np.arange(self.count) if mask is None else np.flatnonzero(mask)
        place = np.unique(self._place(people))
        rest = np.setdiff1d(np.arange(self.crowd.count), place)
        left = self.attacker.unknown - len(place) + 1
        if self.claims.reason(left) != CLAIMED:
            raise UnansweredError(
                f"About {len(people):,} people together nothing is claimed: {self.claims.sentence(left)}."
            )
        return max(self._joint(people, attribute, unknown) for unknown in self._rest(held, rest, left))

    def _rest(self, held: Array, rest: NDArray[np.intp], left: int) -> Iterator[Unknown]:
        """Yield what some of the crowd are as noise, so many of whom are unknown."""
        yield Crowd(Held(held[rest]), self.added).unknown(left)

    def _joint(self, people: NDArray[np.intp], attribute: str | None, unknown: Unknown) -> float:
        total = np.zeros((unknown.white.shape[1],) * 2)
        for start in range(0, len(people), 256):
            jacobian = self.printed.jacobian(people[start : start + 256])
            if attribute is not None:
                jacobian = jacobian.of(self.printed.blocks[attribute])
            slopes = jacobian.turned(unknown.whitened)
            if unknown._escaped(jacobian, slopes).any():
                return float("inf")
            moved = slopes.formed()
            flat = moved.transpose(1, 0, 2).reshape(len(total), -1)
            total += flat @ flat.T
        return float(np.sqrt(max(np.linalg.eigvalsh(unknown.bent @ total @ unknown.bent)[-1], 0.0)))

    def distances(self, attribute: str, values: Sequence[Hashable] | None) -> Distances:
        self.check_slope(attribute)
        column, one = self._column(attribute)
        if column.ndim > 1:
            raise UnansweredError(
                f"{attribute!r} is several numbers at once; success rates are for one value at a time."
            )
        if values is None:
            self._check_category(attribute)
            values = np.unique(column).tolist()
        asked = tuple(values)
        truth = np.where(one, which(asked, column), -1)
        distance = np.zeros((self.count, len(asked)))
        # Whoever has several values has none that could be told from another.
        distance[~one] = np.nan
        step = _CHANGED if self.printed.each is None else _CHANGED_IN_FILES
        for unknown, whom in self._noises:
            for j, value in enumerate(asked):
                people = whom[(truth[whom] != j) & one[whom]]
                for start in range(0, len(people), step):
                    part = people[start : start + step]
                    moved = self.printed.changed(part, attribute, value)[:, :, None]
                    found = np.stack([distance[part, j], self._apart(unknown, part, moved)])
                    distance[part, j] = np.where(np.isinf(found).any(axis=0), np.inf, found.max(axis=0))
        return Distances(asked, truth, distance)

    def _apart(self, unknown: Unknown, people: NDArray[np.intp], moved: Array) -> Array:
        """Return how far apart two releases are in units of the noise; NaN where nothing is claimed."""
        if self.attacker.everybody and self.added is None:
            return np.where(np.abs(moved).max(axis=(1, 2)) > 0, np.inf, 0.0)
        seen = self._seen(unknown, people, Formed(moved))
        square = seen.matrices()[:, 0, 0]
        met = self._met(unknown, seen)
        if not met.any():
            square = np.full_like(square, np.nan)
        else:
            # The cheap condition first, which is enough: everybody else is looked at for nobody whom it settles.
            normal = met & surely_even(seen, unknown.count)
            rest = np.flatnonzero(met & ~normal)
            along = seen.take(rest).along(np.ones((len(rest), 1, 1)))
            normal[rest] = is_even(unknown, seen.own[rest], along, unknown.count)[:, 0]
            normal &= seen.skewness()[:, 0] <= MOST_SKEWED
            unsure = (self.printed.twice | self._few)[people]
            if self.printed.elsewhere is None:
                unsure = unsure | self._large(unknown)[people]
            square = np.where((normal | (square == 0.0)) & ~unsure, square, np.nan)
        return np.where(seen.endless[:, 0], np.inf, np.sqrt(square))

    def _column(self, attribute: str) -> tuple[Column, NDArray[np.bool_]]:
        """Return each person's value of an attribute, and whether all of their rows have that one."""
        if self.printed.each is not None:
            # Over files each person has one row.
            return self.people.labels(attribute), np.ones(self.count, dtype=bool)
        base: Any = self.base
        column, person = base._column(attribute), getattr(self.people, "person", None)
        if person is None:
            return column, np.ones(self.count, dtype=bool)
        first = np.unique(person, return_index=True)[1]
        differ = (column != column[first[person]]).reshape(len(person), -1).any(axis=1)
        return column[first], np.bincount(person, differ, minlength=self.count) == 0

    def variances(self) -> Mapping[str, Variance]:
        """Return the variance that is left of each attribute, given the person's other values."""
        return {
            name: self.printed.baseline[name] ** 2
            for name in self.attribute_names
            if name not in self.categorical and name in self.printed.deviations
        }

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        return (GaussianPrior(self.printed.baseline[attribute] ** 2),)  # type: ignore[return-value]

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        raise UnansweredError(
            "Differential privacy is about attackers who know everybody else, and nothing of it follows from what "
            'others do not know. Measure with noise_scale=, which is known_records="all".'
        )

    def intervals(self) -> dict[str, Array]:
        """Return how wide an interval printed digits leave somebody who knows everything else, to first order."""
        printed = self.digits.printed(self.printed.values) - self.printed.values
        low, high = printed - 0.5 * self.digits.steps, printed + 0.5 * self.digits.steps
        blocks = dict(zip(self.attribute_names, self._blocks, strict=True))
        names = [name for name in self.attribute_names if name not in self.categorical]
        # Of several numbers at once it is not said what digits leave.
        found = {name: np.full(self.count, np.nan) for name in names}
        single = {name: int(blocks[name][0]) for name in names if len(blocks[name]) == 1}
        for people, widths in self._each(_Widths(low, high, tuple(single.values())), self.crowd):
            for name, width in zip(single, widths.T, strict=True):
                found[name][people] = width
        return found


@dataclass(frozen=True, eq=False)
class _Part:
    """What is known of some people."""

    whole: Array
    trace: Array
    each: Array
    skewed: NDArray[np.bool_]
    """Whether the noise on guesses of all values, and of each attribute, is too skewed."""
    unsure: NDArray[np.intp]
    """Of whom it is not settled whether a few people are most of it."""
    own: Array
    along: Array
    """What moves are worth in the noise on their guesses."""
    uneven: NDArray[np.bool_] | None = None
    """Whether a few people are most of the noise on each guess, once that is settled."""


@dataclass(frozen=True, eq=False)
class _Asking:
    """Asks about people wherever they are."""

    unknown: Unknown
    blocks: list[NDArray[np.intp]]
    large: float
    """Whose part of the noise is larger is not looked at for its evenness; below 0, nobody is."""

    @classmethod
    def of(cls, unknown: Unknown, blocks: list[NDArray[np.intp]], large: float = _LARGE) -> "_Asking":
        # All that needs everybody is known before this travels.
        _ = unknown.crowd.scatter, unknown.skewed, unknown.bent
        if large >= 0:
            _ = unknown.largest
        return cls(unknown.alone(), blocks, large)

    def __call__(self, moves: Array, slopes: Slopes) -> _Part:
        seen = self.unknown.without(moves, slopes)
        matrices, endless, blocks = seen.matrices(), seen.endless, self.blocks
        whole = np.where(endless.any(axis=1), np.inf, _largest(matrices))
        squares = np.where(endless, np.inf, np.maximum(np.einsum("kvv->kv", matrices), 0.0))
        trace = np.einsum("kvv->k", matrices) / max(matrices.shape[1], 1)
        each = np.zeros((len(seen.own), len(blocks)))
        single = [i for i, block in enumerate(blocks) if len(block) == 1]
        each[:, single] = squares[:, [blocks[i][0] for i in single]]
        for i, block in enumerate(blocks):
            if len(block) > 1:
                top = _largest(matrices[:, block][:, :, block])
                each[:, i] = np.where(endless[:, block].any(axis=1), np.inf, top)
        unsure = np.zeros(0, dtype=np.intp)
        if self.large >= 0:
            unsure = np.flatnonzero(~surely_even(seen, seen.unknown.count) & (seen.part <= self.large))
        # Whatever is guessed, no noise that is nearly normal is more skewed than in its most skewed direction.
        most = 1.0 + np.linalg.eigvalsh(seen.unknown.skewed).max(initial=0.0)
        skewed = np.zeros((len(each), 1 + len(blocks)), dtype=bool)
        if most > MOST_SKEWED:
            skewed = np.einsum("kv,kvm->km", seen.skewness(), self._directions(matrices) ** 2) > MOST_SKEWED
        along = seen.take(unsure).along(self._directions(matrices[unsure]))
        trace = np.where(endless.any(axis=1), np.inf, trace)
        return _Part(whole, trace, each, skewed, unsure, seen.own[unsure], along)

    def _directions(self, matrices: Array) -> Array:
        """Return what is guessed best of all values together, and of each attribute, shape (k, values, 1 + m)."""
        found = np.zeros((*matrices.shape[:2], 1 + len(self.blocks)))
        if matrices.shape[1]:
            found[:, :, 0] = np.linalg.eigh(matrices)[1][:, :, -1]
        for i, block in enumerate(self.blocks):
            if len(block):
                found[:, block, i + 1] = np.linalg.eigh(matrices[:, block][:, :, block])[1][:, :, -1]
        return found


def _largest_slopes(moves: Array, slopes: Slopes) -> Array:
    """Return how fast some number moves with each value, shape (k, values)."""
    return np.asarray(np.abs(slopes.formed()).max(axis=1))


@dataclass(frozen=True, eq=False)
class _Widths:
    """The widths of the intervals that printed digits leave, shape (k, chosen)."""

    low: Array
    high: Array
    chosen: tuple[int, ...]

    def __call__(self, moves: Array, slopes: Slopes) -> Array:
        jacobian, found = slopes.formed(), np.empty((len(slopes), len(self.chosen)))
        for i, at in enumerate(self.chosen):
            slope = jacobian[:, :, at]
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.stack([self.low / slope, self.high / slope])
            ends = np.where(slope == 0.0, np.array([-np.inf, np.inf])[:, None, None], np.sort(ends, axis=0))
            found[:, i] = np.maximum(ends[1].min(axis=1) - ends[0].max(axis=1), 0.0)
        return found


@dataclass(frozen=True, eq=False)
class _Listed:
    """Parts of the noise, in the order of the people."""

    values: Array

    @classmethod
    def of(cls, moves: Array, *, unknown: Unknown) -> "_Listed":
        return cls(unknown.own(moves))

    def __add__(self, other: "_Listed") -> "_Listed":
        return _Listed(np.concatenate([self.values, other.values]))


@dataclass(frozen=True, eq=False)
class _Single:
    """The information about one value."""

    unknown: Unknown

    def __call__(self, moves: Array, slopes: Slopes) -> Array:
        return np.asarray(self.unknown.without(moves, slopes).matrices()[:, 0, 0])


def _largest(matrices: Array) -> Array:
    """Return the largest eigenvalue of each matrix."""
    # Compiled code is loaded when it is needed.
    from seepage.core.eigenvalues import tops_of_matrices

    if not matrices.shape[1]:
        return np.zeros(len(matrices))
    return np.maximum(tops_of_matrices(matrices), 0.0)


def about(attacker: Attacker) -> Assumption:
    """Say who attacks."""
    return Assumption(
        "attacker",
        "The attacker uses averages, knows everything about the person but one value, and {known}.",
        names={"known": attacker.words},
    )


def described(what: Iterable[str], digits: Digits) -> tuple[Assumption, ...]:
    """Say what is printed, to which digits, and what an answer is.

    Parameters
    ----------
    what : iterable of str
        What is printed, in words.
    digits : Digits
        How it is rounded.
    """
    return (
        Assumption(
            "release", "Printed are {what}, and nothing else about these people.", names={"what": ", ".join(what)}
        ),
        Assumption("digits", "Every number is {rule}.", names={"rule": digits.rule}),
        Assumption(
            "averages",
            "This describes an attacker who uses averages; it is no bound, and nothing is claimed where it is missing.",
        ),
    )
