"""The most exposed people, under pseudonyms that only the owner can resolve."""

import hmac
from collections.abc import Iterable, Mapping

from seepage.errors import SeepageError
from seepage.leakage import Information, Through, ToldCategory, exposed_through
from seepage.pages import NOTHING, Grid, Item, Section, name
from seepage.report._rounding import down, error, near, plain, rate, up, up_to_percent

_MOST_EXPOSED = 10
_HEADS = ("pseudonym", "eta", "times the median", "exposed most through", "best guess", "baseline")


def pseudonyms(key: bytes, people: Iterable[object]) -> list[str]:
    """Return names that are the same for the same person under the same key, and say nothing without it."""
    return [_pseudonym(key, str(each)) for each in people]


def _pseudonym(key: bytes, person: str) -> str:
    digest = hmac.new(key, person.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
    return "-".join((digest[:4], digest[4:8], digest[8:12]))


def people_section(
    information: Information,
    key: bytes,
    *,
    median: float,
    units: Mapping[str, str],
    categories: Mapping[str, ToldCategory],
) -> Section:
    """Return the people with the largest eta, each with the attribute through which they are exposed most."""
    head = "The most exposed people"
    try:
        found = information.top(_MOST_EXPOSED)
        names = pseudonyms(key, found.rows.tolist() if found.people.ids is None else found.people.ids)
        through = exposed_through(information, found.rows, categories)
    except SeepageError as reason:
        return Section(head, (f"They are left out. {reason}",), is_personal=True)
    rows = []
    for called, eta, channel in zip(names, found.columns["eta"].tolist(), through, strict=True):
        times = plain(round(eta / median, 1)) if median > 0 else Item(NOTHING)
        rows.append([called, plain(up(eta)), times, *_channel(channel, units)])
    table = Grid.of(f"The {len(rows)} people with the largest eta", _HEADS, rows)
    return Section(head, tables=(table,) if rows else (), is_personal=True)


def _channel(through: Through | None, units: Mapping[str, str]) -> list[str | Item]:
    """Return the attribute, the error or rate of the best guess, and that of a guess without the release."""
    if through is None:
        return [Item(NOTHING)] * 3
    called = name(through.attribute)
    if through.success_rate is not None:
        return [called, rate(up_to_percent(through.success_rate), "right "), "right 50%"]
    if through.floor is None or through.baseline is None:
        return [called, "not refitted", "right 50%"]
    unit = f" {name(units[through.attribute])}" if through.attribute in units else ""
    cells = error(down(through.floor)), error(near(through.baseline))
    return [called, *(Item(f"{cell.text}{unit}", cell.value) for cell in cells)]
