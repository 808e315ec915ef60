"""What a reader with three minutes should know, in sentences."""

from seepage._facts import Number
from seepage.pages import most, name, number, percent
from seepage.report._document import CategoryAttribute, Contrast, Document, Findings, NumberAttribute
from seepage.report.write._amounts import floor

_CERTAIN = 0.995


def finding_sentences(document: Document) -> list[str]:
    """Return the findings of a report."""
    found, known = document.findings, {entry.name: entry for entry in document.attributes}
    return [
        *(_attribute(known[each]) for each in found.attributes if each in known),
        *_spread(found),
        *(_contrast(each) for each in found.contrasts),
        *_estimates(document),
    ]


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
        # Whoever knows how values are distributed and sees the release errs less than either alone. It is not said to
        # be a bound: where the information is another at other values it is an approximation.
        sentence += f"; with it, still by {_error(widest.floor_with_prior, entry)}"
    return f"{sentence}."


def _error(value: Number, entry: NumberAttribute) -> str:
    """Return an error with its unit, such as "± 6 years"."""
    return f"{floor(value)}{f' {name(entry.unit)}' if entry.unit else ''}"


def _category(entry: CategoryAttribute) -> str:
    called = name(entry.name)
    if not entry.rates:
        return f"Nothing can be said about {called}."
    half, widest = entry.rates[0], entry.rates[-1]
    if half.success_rate.value >= _CERTAIN:
        return f"An attacker who knows all else can tell “{called}” of half the people almost for certain."
    about = "at most" if half.exact else "about"
    half_rate = f"for half the people {about} {percent(half.success_rate.value)} of the time, where a coin has 50%"
    if widest.success_rate.value >= _CERTAIN:
        return f"An attacker who knows all else can tell “{called}” of some people almost for certain; {half_rate}."
    rate = percent(widest.success_rate.value)
    says = "no attacker can tell {} more than {}" if widest.exact else "the best attacker tells {} up to about {}"
    everyone = widest.share.value == 1
    whom = "At" if everyone else f"For {most(widest.share.value)}, at"
    which = f"anyone's “{called}”" if everyone else f"“{called}”"
    sentence = f"{whom} equal odds, {says.format(which, rate)} of the time"
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
