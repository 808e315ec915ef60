"""What a reader with three minutes should know, in sentences."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from seepage.report.write import _words as words

_MOST_ATTRIBUTES = 4
_CERTAIN = 0.995


def findings(content: Mapping[str, Any], first: Collection[str]) -> list[str]:
    """Return the findings of a report: the attributes that the policy names first, then the most exposed ones."""
    told = [entry for entry in content["attributes"] if entry["values"]]
    told.sort(key=lambda entry: (entry["name"] not in first, -_exposure(entry)))
    return [
        *(_attribute(entry) for entry in told[: max(_MOST_ATTRIBUTES, min(len(first), 8))]),
        *_spread(content),
        *(sentence for grouping in content["groups"] for sentence in _groups(grouping)),
        *_estimates(content),
    ]


def _exposure(entry: Mapping[str, Any]) -> float:
    """Return how much is given away, from 0 to 1; 0 where there is nothing to compare with."""
    worst = entry["values"][-1]
    if entry["kind"] == "category":
        return float(2 * worst["success_rate"] - 1)
    return 0.0 if worst["variance_left"] is None else float(1 - worst["variance_left"])


def _attribute(entry: Mapping[str, Any]) -> str:
    return _category(entry) if entry["kind"] == "category" else _number(entry)


def _number(entry: Mapping[str, Any]) -> str:
    half, widest = entry["values"][0], entry["values"][-1]
    name, unit, known = words.name(entry["name"]), entry["unit"], entry["deviation"]
    if widest["floor"] is None:
        return f"The release says nothing about {name}."
    best = words.with_unit(widest["floor"], unit)
    if widest["share"] == 1:
        sentence = f"No unbiased guess of {name} is better than {best} for anyone"
    else:
        sentence = f"For {words.most(widest['share'])}, no unbiased guess of {name} is better than {best}"
    # An error beyond what anybody knows without the release is of no interest.
    if widest is not half and half["floor"] is not None and not (known and half["floor"] > 3 * known):
        sentence += f"; for half the people {words.with_unit(half['floor'], unit)}"
    if known is None:
        return f"{sentence}."
    sentence += f". Without the release a guess is off by {words.with_unit(known, unit)}"
    if widest["floor_with_prior"] < 0.9 * widest["floor"]:
        # Whoever knows how values are distributed and sees the release errs less than either alone.
        sentence += f"; with it, still by at least {words.with_unit(widest['floor_with_prior'], unit)}"
    return f"{sentence}."


def _category(entry: Mapping[str, Any]) -> str:
    half, widest = entry["values"][0], entry["values"][-1]
    name, share = words.name(entry["name"]), widest["share"]
    if half["success_rate"] >= _CERTAIN:
        return (
            f"An attacker who knows all else can tell {name} of half the people almost for certain from another value."
        )
    half_rate = f"for half the people at most {words.percent(half['success_rate'])} of the time, where a coin has 50%"
    if widest["success_rate"] >= _CERTAIN:
        return f"An attacker who knows all else can tell {name} of some people almost for certain; {half_rate}."
    rate = words.percent(widest["success_rate"])
    if share == 1:
        sentence = f"No attacker tells anyone's {name} from another value more than {rate} of the time"
    else:
        sentence = f"For {words.most(share)}, no attacker tells {name} from another value more than {rate} of the time"
    return f"{sentence}, where a coin has 50%." if widest is half else f"{sentence}; {half_rate}."


def _spread(content: Mapping[str, Any]) -> list[str]:
    everyone = content["everyone"]
    median, high, largest = everyone["median"], everyone["high"], everyone["largest"]
    if not median or high is None:
        return []
    times = words.number(_times(high, median))
    sentence = f"No more than one person in twenty is over {times} times as exposed as the median person"
    if largest is None:
        return [f"{sentence}."]
    return [f"{sentence}; the most exposed is {words.number(_times(largest, median))} times as exposed."]


def _times(value: float, unit: float) -> float:
    return float(f"{value / unit:.2g}")


def _groups(grouping: Mapping[str, Any]) -> list[str]:
    entries: Sequence[Mapping[str, Any]] = [e for e in grouping["groups"] if e["interval"] is not None]
    if len(entries) < 2:
        return []
    first, last, name = entries[0], entries[-1], words.name(grouping["name"])
    if first["interval"][0] <= last["interval"][1]:
        return [f"Groups by {name} are about equally exposed: differences of their medians are within chance."]
    times = words.number(_times(first["median"], last["median"]))
    return [
        f"By {name}, “{words.name(first['name'])}” is most exposed: its median eta is {times} times that of "
        f"“{words.name(last['name'])}”."
    ]


def _estimates(content: Mapping[str, Any]) -> list[str]:
    if content["assurance"] == "exact":
        return []
    error = content["standard_error"]
    known = "" if error is None else f" The standard error of dfil is {words.percent(error)} of it for half the people."
    return [f"These numbers are {content['assurance']}, not exact.{known}"]
