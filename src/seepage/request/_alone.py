"""Each output by itself."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from seepage._near import several
from seepage._where import equalities
from seepage.attackers import SamplingInformation, SamplingLeakage
from seepage.attackers.types import Known
from seepage.errors import InputError, MinimizerError, SeepageError, UnsupportedError
from seepage.inspection import Finding
from seepage.linear.written import MismatchError
from seepage.request._decided import Mend, MissedTarget, OutputVerdict, worst
from seepage.request._document import upper
from seepage.request._given import FOLDER, HandedIn, UnreadFile
from seepage.request._held import COVARIATES, POPULATION, Figure, HeldAttribute, ToldByFilter, held
from seepage.request._output import RequestOutput, output_of
from seepage.request._people import RequestPeople
from seepage.request._rules import answered
from seepage.request._targets import Targets
from seepage.request._trees import of_records

# How much noise is tried, in standard errors of each coefficient.
TRIED = (0.25, 0.5, 1.0, 2.0)
# The two ways in which a file is not what it should be.
OTHER_NUMBERS, UNKNOWN_FORM = "Not these people's numbers", "Not checked, form not known"


@dataclass(frozen=True, eq=False)
class Alone:
    """An output that was measured."""

    name: str
    what: str
    leak: SamplingLeakage
    targets: Targets
    output: RequestOutput | None = None
    """What it was made from, if it can be measured anew."""
    file: str = ""
    inside: tuple[Finding, ...] = ()
    """What was found in its file besides what it is said to be."""
    not_checked: tuple[str, ...] = ()
    """Cells and comments that were compared with nothing."""

    def holding(self, inside: tuple[Finding, ...]) -> "Alone":
        """Return it with the findings in its file."""
        return replace(self, inside=inside)

    @cached_property
    def held(self) -> tuple[HeldAttribute, ...]:
        """What becomes of each attribute, before both attackers."""
        information = self.leak.information
        inside = np.ones(information.count, dtype=bool)
        # A category of which the filter asks one value is known.
        told = {
            name: [ToldByFilter(information._column(name)[0][0], inside, False)]
            for name in self.told
            if name in information.categorical
        }
        return tuple(
            each
            for known in (POPULATION, COVARIATES)
            for each in held(before(self.leak, known), self.targets, known, told)
        )

    @property
    def told(self) -> dict[str, bool]:
        """The columns whose value its filter says of everybody in it; true where of the others too it is another."""
        return {} if self.output is None else equalities(self.output.where)

    def verdict(self) -> OutputVerdict:
        """Hold it against the targets."""
        found = replace(self._verdict(), file=self.file).holding(self.inside)
        if self.not_checked:
            parts = f"{UNKNOWN_FORM}: {several(self.not_checked)}. Read this yourself, or ask for the file without it."
            found = replace(found, word=worst((found.word, "review")), reasons=(*found.reasons, parts))
        if self.targets.appetite is None:
            return found
        return found.held_to(answered(self.targets.appetite, self.leak, self.output))

    def _verdict(self) -> OutputVerdict:
        remark = () if self.output is None or not self.output.remark else (self.output.remark,)
        findings = tuple(self._findings())
        figure = nearest(self.held)
        count = self.leak.information.count
        if findings:
            return OutputVerdict(self.name, self.what, "fail", True, count, figure, remark, findings)
        not_assessed = self._unclaimed()
        if not not_assessed:
            return OutputVerdict(self.name, self.what, "pass", True, count, figure, remark)
        mends = (Mend("digits", (self.name,)),) if self._digits_help() else ()
        return OutputVerdict(self.name, self.what, "review", True, count, figure, (*not_assessed, *remark), (), mends)

    def _findings(self) -> list[MissedTarget]:
        """Return whom it leaves without enough protection, those of one attribute and attacker together."""
        found = []
        for each in self.held:
            whom = each.broken
            if whom.any():
                ids = ids_of(self.leak, np.flatnonzero(whom))
                figure = each.figure(whom)
                mends = self._mends(each)
                output = self.output
                numbers = None if output is None else output.numbers
                cells = numbers.cells_of(each.attribute, output.rows[whom]) if output and numbers else ()
                cell = min(cells, default=(0, ""))[1]
                alone = ((self.name,), (), (each.attribute,), len(ids), ids, figure, (self.name,), mends, cell)
                found.append(MissedTarget(*alone))
        return found

    def _mends(self, missed: HeldAttribute) -> tuple[Mend, ...]:
        if self.output is None or not self.output.takes_noise:
            return (Mend("none", (self.name,)),)
        for amount in TRIED:
            try:
                noised = self.output.noised(amount)
                known = POPULATION if missed.attacker == "population" else COVARIATES
                again = [
                    each
                    for each in held(before(noised, known), self.targets, known)
                    if each.attribute == missed.attribute
                ]
            except SeepageError:
                break
            if again and not any(each.broken.any() or each.not_assessed.any() for each in again):
                return (Mend("noise", (self.name,), amount),)
        return (Mend("none", (self.name,)),)

    def _unclaimed(self) -> tuple[str, ...]:
        """Return why something is not claimed, most often first, in words."""
        silent = [each for each in self.held if each.not_assessed.any()]
        if not silent:
            return ()
        information = self.leak.information
        if words := information.silence():
            return (f"Nothing is claimed: {words}.",)
        reasons: Counter[str] = Counter()
        for name, why in information.not_assessed().items():
            if any(each.attribute == name for each in silent):
                reasons.update(str(each) for each in why if each)
        names = ", ".join(dict.fromkeys(each.attribute for each in silent))
        because = reasons.most_common(1)[0][0] if reasons else "the conditions of normal theory do not hold"
        return (f"Of some people's {names} nothing is claimed: {because}.",)

    def _digits_help(self) -> bool:
        """Return whether it would pass if its numbers were rounded."""
        if self.output is None or "digits" not in " ".join(self._unclaimed()):
            return False
        try:
            rounded = self.output.measured(rounded=True)
        except SeepageError:
            return False
        again = Alone(self.name, self.what, rounded, self.targets)
        return not any(each.broken.any() or each.not_assessed.any() for each in again.held)


def looked_at(given: HandedIn | UnreadFile, people: RequestPeople, targets: Targets) -> Alone | OutputVerdict:
    """Return an output that was measured, or what is decided about one that was not.

    Parameters
    ----------
    given : Given or Unread
    people : People
    targets : Targets
    """
    if isinstance(given, UnreadFile):
        return OutputVerdict(
            given.file, given.what, "review", False, reasons=(f"{upper(given.reason)}.",), unread=given.what != FOLDER
        )
    try:
        count = len(people.rows(given.says.get("where")))
        if count < 3:
            reason = f"It is about {_some(count)}: a number about so few gives their values away. Ask for more people."
            return _fails(given.name, f"output about {_some(count)}", (reason,), count)
        return of_records(given, people) or _measured(given, people, targets)
    except (MismatchError, MinimizerError) as reason:
        return _fails(given.name, "output", (f"{OTHER_NUMBERS}: {reason}",))
    except UnsupportedError as reason:
        return OutputVerdict(given.name, "output of another kind", "review", False, reasons=(str(reason),))
    except InputError as reason:
        return OutputVerdict(given.name, "output", "review", False, reasons=(f"{UNKNOWN_FORM}: {reason}",))


def _measured(given: HandedIn, people: RequestPeople, targets: Targets) -> Alone | OutputVerdict:
    output, reasons = output_of(given, people), list[str]()
    if output.contradictions:
        cells = "; ".join(output.contradictions[:2])
        reasons.append(f"{OTHER_NUMBERS}: {cells}. Ask which people it is about: where = ... in {given.name}.toml.")
    singles = [] if output.numbers is None else list(output.numbers.single_values())
    for name, holders in singles[:3]:
        reasons.append(
            f"The {name} rests on {_some(holders)}. Ask for its mean and sd, or for shares above thresholds."
        )
    leak = None if reasons or output.model is None else output.measured()
    output = output if leak is None else output.checked(leak)
    for text, name, count in people.single_values((*output.texts, *given.comments)):
        reasons.append(f"{text} is in it, and is the {name} of {_some(count)}. Ask for the file without it.")
    if reasons:
        return _fails(given.name, output.what, tuple(reasons), len(output.rows))
    comments = [f"a comment of {given.name}.toml" for _ in given.comments]
    if leak is None:
        reason = f"{UNKNOWN_FORM}: nothing in it could be recomputed from the people."
        return OutputVerdict(given.name, output.what, "review", False, reasons=(reason,))
    return Alone(output.name, output.what, leak, targets, output, not_checked=(*output.unread, *comments))


def _some(people: int) -> str:
    return "1 person" if people == 1 else f"{people:,} people"


def _fails(name: str, what: str, reasons: tuple[str, ...], people: int = 0) -> OutputVerdict:
    return OutputVerdict(name, what, "fail", True, people, None, reasons)


def before(leak: SamplingLeakage, known: Known) -> SamplingInformation:
    """Return a measurement before an attacker."""
    return leak.information if known == POPULATION else leak.against(known).information


def nearest(all_: Sequence[HeldAttribute]) -> Figure | None:
    """Return what comes nearest to a target, or is farthest beyond it."""
    found = [figure for each in all_ if (figure := each.figure()) is not None]
    return max(found, key=lambda each: each.near, default=None)


def ids_of(leak: SamplingLeakage, people: np.ndarray) -> tuple[object, ...]:
    """Return who some people are."""
    ids = leak.people.ids
    return tuple((people if ids is None else np.asarray(ids)[people]).tolist())
