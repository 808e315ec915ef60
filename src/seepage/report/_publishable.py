"""The publishable edition: the verdict, and what was given or is public.

No number of it is computed from the rows. That the policy is met is computed from them, and is not counted.
"""

from collections.abc import Mapping
from dataclasses import replace

from seepage._amounts import on_grid
from seepage._choices import check_choices, choices_in, publication_choice, scale_choice
from seepage._facts import Assumption, Origin
from seepage.errors import InputError
from seepage.leakage import Information, Leakage, check_names
from seepage.pages import Document, Section, counted, name
from seepage.report._about import assumption_sections, decided, meanings, noise_in_words, origin
from seepage.report._internal import ReportQuestion
from seepage.report._verdict import PolicyVerdict

HANDLING = (
    "Publishable edition: every number on this page was given or is public; what is said about the data is the verdict "
    "alone."
)
_MOST_NAMES = 40


def check_publishable(leak: Leakage, questions: Mapping[str, object], units: Mapping[str, str]) -> None:
    """Refuse releases with choices that are not counted, and questions about the rows."""
    check_choices(
        choices_in(leak.information.assumptions),
        'There is no publishable edition (the "internal" one there is): something that the rows decided would be '
        "published uncounted",
    )
    for called, value in questions.items():
        if value is not None:
            raise InputError(
                f"{called} asks for numbers about the rows, and the publishable edition holds verdicts alone. Leave "
                f'{called} out, or ask for the "internal" edition.'
            )
    check_names(leak.information, tuple(units))


def publishable_document(leak: Leakage, asked: ReportQuestion, verdict: PolicyVerdict, created: str) -> Document:
    """Return the page for everybody, without a number about the rows."""
    information = leak.information
    count = len(information.attribute_names)
    stated = noise_in_words(information.noise, on_grid)
    used = ["error_floor"] if any(each.target.kind == "error_floor" for each in verdict.judgments) else []
    sections = (
        verdict.section(is_personal=False),
        Section("In short", (*decided(asked.decision), *_published(information, stated))),
        meanings(used),
        *assumption_sections(_assumptions(information, judged=bool(verdict.judgments))),
        origin(information, created=created, noise=stated, policy=asked.policy),
    )
    about = f"{information.count:,} people, {counted(count, 'private attribute')}, {created[:10]}"
    shown = tuple(section for section in sections if not section.is_empty)
    return Document(asked.title, about, shown, "publishable", HANDLING)


def _published(information: Information, noise: str) -> tuple[str, ...]:
    """Return what is published, and what an outsider can still find out."""
    predicts = f", to predict {' and '.join(map(name, information.outcome))}" if information.outcome else ""
    more = ", …" if len(information.attribute_names) > _MOST_NAMES else ""
    names = ", ".join(map(name, information.attribute_names[:_MOST_NAMES]))
    return (
        f"Published: numbers fitted to the records of {information.count:,} people{predicts}. Noise: {noise}",
        f"Private: {names}{more}. An outsider can still guess these values from other knowledge, and from the release "
        "up to the targets above.",
    )


def _assumptions(information: Information, *, judged: bool) -> tuple[Assumption, ...]:
    """Return the assumptions, but for sentences about the rows: that they are there reveals something of the rows."""
    told = [_stated(each) for each in information.assumptions if all(one.may_leave for one in each.numbers.values())]
    choices = [publication_choice(judged=judged)]
    if information.noise is not None:
        choices.insert(0, scale_choice(without_data=False))
    return (*told, *(Assumption("choice", "{choice}", names={"choice": each.sentence()}) for each in choices))


def _stated(assumption: Assumption) -> Assumption:
    """Return an assumption without given numbers off the grid: such a scale may have been calibrated to one person."""
    off = {
        called for called, one in assumption.numbers.items() if one.origin is Origin.GIVEN and not on_grid(one.value)
    }
    numbers = {called: one for called, one in assumption.numbers.items() if called not in off}
    return replace(assumption, numbers=numbers, names={**assumption.names, **dict.fromkeys(off, "(withheld)")})
