"""What a reader with three minutes should know, in sentences."""

from seepage._facts import Number
from seepage.pages import most, name, number, percent
from seepage.report._document import CategoryAttribute, Contrast, Document, Findings, NumberAttribute
from seepage.report.write._amounts import floor

_CERTAIN = 0.995
_FEW = (
    "This page holds the verdict alone: numbers about the data are told of {fewest:,} people or more; of fewer they "
    "would say too much about one."
)
_CATEGORY = (
    "This page holds the verdict alone: a target is about a category, and what numbers about the data would tell of "
    "categories is not counted."
)
_NO_COUNT = (
    "This page holds the verdict alone: what numbers about the data would tell is counted of models that are linear in "
    "their label, fitted to one row a person and measured in memory, and not of this release."
)
_BEHIND_STEPS = (
    "This page holds the verdict alone: cells were filled in, or the intercept is penalized or missing, and behind a "
    "scaler that learned from the same rows what numbers about the data would tell is then not counted."
)
# From how many people on numbers are told, and for how many of the smallest groups; as `count` has it.
_FEWEST, _GROUPS = 1000, 20
# What is assumed of steps behind which numbers are not counted.
_NOT_COUNTED = {"refits", "means", "imputation"}


def finding_sentences(document: Document) -> list[str]:
    """Return the findings of a report."""
    found, known = document.findings, {entry.name: entry for entry in document.attributes}
    if document.is_public and not document.numbers_told:
        return [_why_alone(document)]
    return [
        *(_attribute(known[each]) for each in found.attributes if each in known),
        *_spread(found),
        *(_contrast(each) for each in found.contrasts),
        *_estimates(document),
        *(each.sentence() for each in document.assumptions if each.kind == "local"),
    ]


def _why_alone(document: Document) -> str:
    """Return the first reason that there is for telling no number."""
    kinds = {each.kind for each in document.assumptions}
    smallest = 0.0 if document.smallest_group is None else document.smallest_group.value
    fewest = int(max(_FEWEST, _GROUPS * smallest))
    if document.people.value < fewest:
        return _FEW.format(fewest=fewest)
    if any(each.target.kind == "success_rate" for each in document.verdict.judgments):
        return _CATEGORY
    return _BEHIND_STEPS if "raw units" in kinds and kinds & _NOT_COUNTED else _NO_COUNT


def _attribute(entry: NumberAttribute | CategoryAttribute) -> str:
    return _category(entry) if isinstance(entry, CategoryAttribute) else _number(entry)


def _number(entry: NumberAttribute) -> str:
    called, known = name(entry.name), entry.deviation
    if not entry.floors or entry.floors[-1].floor is None:
        return f"The release says nothing about {called}."
    half, widest = entry.floors[0], entry.floors[-1]
    lowest, best = entry.floors[-1].floor, _error(entry.floors[-1].floor, entry)
    if widest.share.value == 1:
        sentence = f"No unbiased guess of {called} is better than {best} for anyone"
    else:
        sentence = f"For {most(widest.share.value)}, no unbiased guess of {called} is better than {best}"
    # An error beyond what anybody knows without the release is of no interest.
    if widest is not half and half.floor is not None and not (known is not None and half.floor.value > 3 * known.value):
        sentence += f"; for half the people {_error(half.floor, entry)}"
    if known is None:
        return f"{sentence}."
    sentence += f". Without the release a guess is off by {_error(known, entry)}"
    if widest.floor_with_prior is not None and widest.floor_with_prior.value < 0.9 * lowest.value:
        # Whoever knows how values are distributed and sees the release errs less than either alone. That is no bound
        # where the information is another at other values, and not worded as one.
        sentence += f"; with it, still by {_error(widest.floor_with_prior, entry)}"
    return f"{sentence}."


def _error(value: Number, entry: NumberAttribute) -> str:
    """Return "± 6 years", or "about ± 5 years" if it carries noise."""
    return f"{floor(value)}{f' {name(entry.unit)}' if entry.unit else ''}"


def _category(entry: CategoryAttribute) -> str:
    called = name(entry.name)
    if not entry.rates:
        return f"Nothing can be said about {called}."
    half, widest = entry.rates[0], entry.rates[-1]
    if half.success_rate.value >= _CERTAIN:
        return f"An attacker who knows all else can tell “{called}” of half the people almost for certain."
    half_rate = f"for half the people at most {percent(half.success_rate.value)} of the time, where a coin has 50%"
    if widest.success_rate.value >= _CERTAIN:
        return f"An attacker who knows all else can tell “{called}” of some people almost for certain; {half_rate}."
    rate = percent(widest.success_rate.value)
    if widest.share.value == 1:
        sentence = f"At equal odds, no attacker can tell anyone's “{called}” more than {rate} of the time"
    else:
        whom = most(widest.share.value)
        sentence = f"For {whom}, at equal odds, no attacker can tell “{called}” more than {rate} of the time"
    return f"{sentence}, where a coin has 50%." if widest is half else f"{sentence}; {half_rate}."


def _spread(found: Findings) -> list[str]:
    if found.high is None:
        return []
    times = number(found.high.value)
    sentence = f"No more than one person in twenty is over {times} times as exposed as the median person"
    if found.largest is None:
        return [f"{sentence}."]
    return [f"{sentence}; the most exposed is {number(found.largest.value)} times as exposed."]


def _contrast(found: Contrast) -> str:
    by = name(found.grouping)
    if found.times is None:
        return f"Groups by {by} are about equally exposed: differences of their medians are within chance."
    return (
        f"By {by}, “{name(found.most)}” is most exposed: its median eta is {number(found.times.value)} times that of "
        f"“{name(found.least)}”."
    )


def _estimates(document: Document) -> list[str]:
    if document.assurance == "exact":
        return []
    error = document.standard_error
    known = "" if error is None else f" The standard error of dfil is {percent(error.value)} of it for half the people."
    return [f"These numbers are {document.assurance}, not exact.{known}"]
