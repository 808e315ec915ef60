"""Outputs together: whom their differences leave, which pair does it, and the smallest mend."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from seepage.attackers import SamplingLeakage, SeveralLeakage, several
from seepage.attackers.types import Known
from seepage.errors import SeepageError
from seepage.request._alone import TRIED, Alone, ids_of
from seepage.request._decided import Mend, MissedTarget, Stage, Word
from seepage.request._held import COVARIATES, POPULATION, Figure, HeldAttribute, ToldByFilter, held

# Pairs that are tried for a finding, those with the fewest people between them first.
_PAIRS = 6


@dataclass(frozen=True, eq=False)
class Together:
    """Some outputs, read as one."""

    alone: Mapping[str, Alone]
    known: Known

    @cached_property
    def leak(self) -> SeveralLeakage:
        """What they give away together."""
        return several({name: self._before(each.leak) for name, each in self.alone.items()})

    def _before(self, leak: SamplingLeakage) -> SamplingLeakage:
        return leak if self.known == POPULATION else leak.against(self.known)

    @cached_property
    def held(self) -> tuple[HeldAttribute, ...]:
        """What becomes of each attribute."""
        targets = next(iter(self.alone.values())).targets
        return tuple(held(self.leak.information, targets, self.known, self._told))

    @cached_property
    def _told(self) -> dict[str, list[ToldByFilter]]:
        """What filters tell of attributes."""
        information, found = self.leak.information, dict[str, list[ToldByFilter]]()
        for output, one in zip(information.stack.outputs, self.alone.values(), strict=True):
            inside = output.rows >= 0
            for name, alone in one.told.items():
                if name in information.attribute_names:
                    column, _ = information._column(name)
                    found.setdefault(name, []).append(ToldByFilter(column[inside][0], inside, alone))
        return found

    @cached_property
    def _before_alone(self) -> dict[str, NDArray[np.bool_]]:
        """Of whom each attribute is left by some output alone."""
        stack, found = self.leak.information.stack, dict[str, NDArray[np.bool_]]()
        for output, one in zip(stack.outputs, self.alone.values(), strict=True):
            for each in one.held:
                if each.attacker == _called(self.known):
                    whom = found.setdefault(each.attribute, np.zeros(len(output.rows), dtype=bool))
                    whom |= output.spread(each.broken)
        return found

    @cached_property
    def broken(self) -> dict[str, NDArray[np.bool_]]:
        """Of whom each attribute is left by all of them, and by none alone."""
        nobody = np.zeros(self.leak.information.count, dtype=bool)
        found = {each.attribute: each.broken & ~self._before_alone.get(each.attribute, nobody) for each in self.held}
        return {name: whom for name, whom in found.items() if whom.any()}

    @property
    def not_assessed(self) -> tuple[str, ...]:
        """The attributes of which nothing is claimed of somebody, and of each output alone something is."""
        stack, found = self.leak.information.stack, []
        for each in self.held:
            # Of whoever is in no output with this attribute nothing is asked.
            claimed = np.zeros(len(each.values), dtype=bool)
            silent = np.zeros(len(each.values), dtype=bool)
            for output, one in zip(stack.outputs, self.alone.values(), strict=True):
                for own in one.held:
                    if (own.attribute, own.attacker) == (each.attribute, each.attacker):
                        claimed |= output.spread(~own.not_assessed)
                        silent |= output.spread(own.not_assessed)
            if (each.not_assessed & claimed & ~silent).any():
                found.append(each.attribute)
        return tuple(found)

    @property
    def place(self) -> dict[str, NDArray[np.bool_]]:
        """Who is in each output."""
        return {output.name: output.rows >= 0 for output in self.leak.information.stack.outputs}

    def findings(self) -> list[MissedTarget]:
        """Return whom they leave, by the outputs that these people are in."""
        names, found = tuple(self.alone), []
        for pattern in self.leak.information.patterns.all:
            inside = np.zeros(self.leak.information.count, dtype=bool)
            inside[pattern.people] = True
            hit = {name: whom & inside for name, whom in self.broken.items() if (whom & inside).any()}
            if not hit:
                continue
            whom = np.any(list(hit.values()), axis=0)
            figures = [each.figure(hit[each.attribute]) for each in self.held if each.attribute in hit]
            figure: Figure | None = max((one for one in figures if one), key=lambda one: one.near, default=None)
            ids = ids_of(self.leak, np.flatnonzero(whom))
            into = tuple(names[i] for i in pattern.outputs)
            rest = tuple(name for name in names if name not in into)
            found.append(MissedTarget(into, rest, tuple(hit), len(ids), ids, figure))
        return found

    def of(self, names: Iterable[str]) -> "Together":
        """Return some of them."""
        return replace(self, alone={name: self.alone[name] for name in self.alone if name in set(names)})

    def breaks(self, finding: MissedTarget) -> bool:
        """Return whether the same people lose the same attributes to these outputs."""
        whom = np.isin(np.asarray(self.leak.people.ids), np.array(finding.people))
        return any((self.broken[name] & whom).any() for name in finding.attributes if name in self.broken)

    def protects(self, finding: MissedTarget) -> bool:
        """Return whether the same people's attributes are claimed to be protected."""
        whom = np.isin(np.asarray(self.leak.people.ids), np.array(finding.people))
        asked = [each for each in self.held if each.attribute in finding.attributes]
        return bool(asked) and not any(((each.broken | each.not_assessed) & whom).any() for each in asked)


def stage(name: str, alone: Mapping[str, Alone], earlier: Sequence[str], silent: Sequence[str] = ()) -> Stage:
    """Return what outputs are together, before both attackers.

    Parameters
    ----------
    name : str
        What this is called.
    alone : mapping from name to Alone
    earlier : sequence of str
        Those that are out already, and cannot be left out.
    silent : sequence of str
        What else is out, and is not read with them: why, in sentences.
    """
    findings: list[MissedTarget] = []
    reasons = [*silent]
    not_assessed: dict[str, None] = {}
    patterns: tuple[tuple[tuple[str, ...], int], ...] = ()
    for known, names in _readings(alone):
        all_ = Together({each: alone[each] for each in names}, known)
        try:
            all_.held  # noqa: B018
        except SeepageError as reason:
            reasons.append(f"{_named(names)} are not read together: {reason}")
            continue
        if known == POPULATION:
            patterns = tuple(
                (tuple(names[i] for i in each.outputs), len(each)) for each in all_.leak.information.patterns.all
            )
        # What somebody learns who knows nobody is not told once more of one who knows the covariates.
        found = [each for each in all_.findings() if not any(_holds(other, each) for other in findings)]
        if found:
            findings += _mended(all_, alone, found, set(earlier))
        not_assessed |= dict.fromkeys(all_.not_assessed)
    if not_assessed:
        some = ", ".join(not_assessed)
        reasons.append(f"Together nothing is claimed of some people's {some}, though each output claims it.")
    word: Word = "fail" if findings else "review" if reasons else "pass"
    return Stage(name, word, tuple(alone), tuple(findings), tuple(reasons), patterns)


def _readings(alone: Mapping[str, Alone]) -> Iterable[tuple[Known, list[str]]]:
    """Yield who reads which outputs together: all of them, and those of one outcome."""
    if overlapping(alone):
        yield POPULATION, list(alone)
    outcomes: dict[tuple[str, ...], list[str]] = {}
    for name, each in alone.items():
        if any(one.attacker == _called(COVARIATES) for one in each.held):
            outcomes.setdefault(each.leak.information.outcome, []).append(name)
    for names in outcomes.values():
        if overlapping({name: alone[name] for name in names}):
            yield COVARIATES, names


def overlapping(alone: Mapping[str, Alone]) -> bool:
    """Return whether several outputs say anything about the same people."""
    ids = [np.asarray(each.leak.people.ids) for each in alone.values()]
    return len(alone) > 1 and len(np.unique(np.concatenate(ids))) < sum(map(len, ids))


def _mended(
    all_: Together, alone: Mapping[str, Alone], findings: list[MissedTarget], earlier: set[str]
) -> list[MissedTarget]:
    """Return findings with the pair of outputs that makes each, and ways out that were tried."""
    tried: dict[frozenset[str], Together] = {}
    paired = [replace(each, pair=_pair(all_, each, tried)) for each in findings]
    without = _leave_out(alone, paired, earlier)
    found = []
    for each in paired:
        mends = [] if without is None else [Mend("leave out", without)]
        if len(each.pair) == 2 and each.pair[1] not in each.inside:
            fewest = max(all_.alone[name].leak.information.claims.fewest for name in each.pair)
            if np.isfinite(fewest):
                mends.append(Mend("more people", each.pair, float(np.ceil(fewest))))
            mends += _noise(all_, each, earlier)
        found.append(replace(each, mends=tuple(mends or [Mend("none")])))
    return found


def _pair(all_: Together, finding: MissedTarget, tried: dict[frozenset[str], Together]) -> tuple[str, ...]:
    """Return two outputs that are enough to lose these people's values; the ones with the fewest between them."""
    if len(all_.alone) == 2:
        first, *_ = finding.inside
        return first, next(name for name in all_.alone if name != first)
    place = all_.place
    between = {
        (one, other): int((place[one] & ~place[other]).sum()) or len(place[one])
        for one in finding.inside
        for other in all_.alone
        # Two without anybody in common say nothing together.
        if one != other and (place[one] & place[other]).any()
    }
    asked = 0
    # Of pairs with as few between them, the outputs that were filed first.
    for one, other in sorted(between, key=lambda pair: between[pair]):
        key = frozenset((one, other))
        if key not in tried:
            if asked == _PAIRS:
                break
            asked += 1
            tried[key] = all_.of(key)
        if tried[key].breaks(finding):
            return one, other
    return ()


def _leave_out(
    alone: Mapping[str, Alone], findings: Sequence[MissedTarget], earlier: set[str]
) -> tuple[str, ...] | None:
    """Return the fewest outputs, of those tried, without which no target is missed; None if none was found."""
    blamed = [set(each.pair or alone) - earlier for each in findings]
    counts = {name: each.leak.information.count for name, each in alone.items()}
    # Outputs that most findings name come first, and of those the ones about fewer people.
    free = sorted(set().union(*blamed), key=lambda name: (-sum(name in each for each in blamed), counts[name], name))
    for count in (1, 2):
        sets = [each for each in combinations(free, count) if all(set(each) & one for one in blamed)]
        for names in sets[:_PAIRS]:
            rest = {name: each for name, each in alone.items() if name not in names}
            if not any(Together({name: rest[name] for name in some}, known).broken for known, some in _readings(rest)):
                return names
    return None


def _noise(all_: Together, finding: MissedTarget, earlier: set[str]) -> list[Mend]:
    """Return the least noise on one of a pair, of those that were tried, that protects these people."""
    for name in finding.pair:
        one = all_.alone[name]
        if name in earlier or one.output is None or not one.output.takes_noise:
            continue
        for amount in TRIED:
            try:
                louder = Alone(name, one.what, one.output.noised(amount), one.targets)
                again = replace(all_.of(finding.pair), alone={**all_.of(finding.pair).alone, name: louder})
                if again.protects(finding):
                    return [Mend("noise", (name,), amount)]
            except SeepageError:
                break
    return []


def _holds(one: MissedTarget, other: MissedTarget) -> bool:
    return set(other.people) <= set(one.people) and set(other.attributes) <= set(one.attributes)


def _named(outputs: Sequence[str]) -> str:
    return " and ".join(outputs) if len(outputs) < 3 else f"These {len(outputs)} outputs"


def _called(known: Known) -> str:
    return "population" if known == POPULATION else str(known)
