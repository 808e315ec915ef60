"""The page about the rounds of a federation. Names and reasons in it come from remote clients."""

import math
from collections.abc import Sequence

from seepage import pages
from seepage.federated._report import FLAGS, OVERALL, WHOLE, Row
from seepage.pages import NOTHING, Content, Html, bullets, name, section, sentence, table, tag

_TITLE = "What the rounds gave away"
_SECTIONS = (
    (
        "dfil_worst_ten",
        "dFIL of the ten most exposed people",
        "Mean over ten people, of the client where it is largest. No unbiased guess of a person's input values from "
        "this layer has a mean squared error per value below 1/dFIL² of that person.",
    ),
    (
        "susceptibility_worst_ten",
        "Susceptibility of the ten most susceptible people",
        "How fast a person's privacy loss answers to their input values. Mean over ten people, of the client where it "
        "is largest.",
    ),
    (
        "sensitivity",
        "Sensitivity of gradients",
        "How much the layer's gradient moves with the label, unless clients chose the output or the input (Mo et al. "
        "2021). Mean over people, of the client where it is largest.",
    ),
)
_HEADLINES = {
    "refused": "Refused by the client",
    "dropped": "Sent without some layer",
    "noised": "Sent with noise added to some layer",
    "failed": "Failed",
    "unmeasured": "Not measured",
}
_WHOLE_REPLY = ("refused", "failed", "unmeasured")
_DARKEST = 5


def page(rows: Sequence[Row], assumptions: Sequence[str]) -> str:
    """Return the page."""
    rounds = list(dict.fromkeys(row.round for row in rows))
    parts = [_by_layer(rows, rounds, *each) for each in _SECTIONS]
    body = pages.article(
        tag("header", tag("h1", _TITLE), tag("p", _headline(rows, rounds), class_="about")),
        parts,
        section("What became of each update", _outcomes(rows)) if rows else None,
        section("What this takes for granted", bullets(assumptions)),
    )
    return pages.page(_TITLE, body)


def _headline(rows: Sequence[Row], rounds: Sequence[int]) -> str:
    updates: dict[tuple[int, str], set[str]] = {}
    for row in rows:
        updates.setdefault((row.round, row.client), set()).add(row.action)
    clients = {client for _, client in updates}
    counted = f"{_count(len(rounds), 'round')}, {_count(len(clients), 'client')}, {_count(len(updates), 'update')}."
    counts = {text: sum(key in actions for actions in updates.values()) for key, text in _HEADLINES.items()}
    told = [f"{text}: {number}." for text, number in counts.items() if number]
    return " ".join([counted, *told]) if told or not rows else f"{counted} All were within their limits."


def _by_layer(rows: Sequence[Row], rounds: Sequence[int], column: str, title: str, note: str) -> Html | None:
    layers = list(dict.fromkeys(row.layer for row in rows if row.layer))
    values = {(layer, each): _largest(rows, each, layer, column) for layer in layers for each in rounds}
    shown = [layer for layer in layers if not all(math.isnan(values[layer, each]) for each in rounds)]
    if not shown:
        return None
    known = [math.log(value) for value in values.values() if 0 < value < math.inf]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    lines = [
        [tag("bdi", name(layer)), *(_cell(rows, each, layer, values[layer, each], low, high) for each in rounds)]
        for layer in shown
    ]
    heads = ["layer", *(f"round {each}" for each in rounds)]
    return section(title, table(note, heads, lines))


def _cell(rows: Sequence[Row], server_round: int, layer: str, value: float, low: float, high: float) -> Content:
    if math.isnan(value):
        replies = {row.action for row in rows if row.round == server_round}
        gone = next((action for action in _WHOLE_REPLY if action in replies), None)
        return NOTHING if gone is None else tag("span", gone, class_="missed")
    shade = _DARKEST if math.isinf(value) else 0
    if 0 < value < math.inf and high > low:
        shade = round(_DARKEST * (math.log(value) - low) / (high - low))
    actions = {row.action for row in rows if (row.round, row.layer) == (server_round, layer)}
    marks = [f" {action}" for action in FLAGS if action in actions]
    return tag("span", _number(value), class_=f"heat heat-{shade}"), tag(
        "span", marks, class_="small"
    ) if marks else None


def _outcomes(rows: Sequence[Row]) -> Html:
    replies: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        replies.setdefault((row.round, row.client), []).append(row)
    lines: list[list[Content]] = []
    for (server_round, client), found in replies.items():
        first = found[0]
        whole = first.action in _WHOLE_REPLY
        changed = [f"{row.layer} {row.action}" for row in found if row.layer != WHOLE and row.action in FLAGS]
        why = first.reason or ", ".join(changed)
        lines.append(
            [
                tag("bdi", name(client)),
                f"{server_round}",
                tag("span", first.action, class_="missed") if whole else "sent",
                *(_number(first.number(column)) for column in OVERALL),
                tag("span", sentence(why), class_="words") if why else None,
            ]
        )
    heads = ["client", "round", "update", "people guarded", "training, s", "measuring, s", "why"]
    return table("Each client's update in each round", heads, lines)


def _largest(rows: Sequence[Row], server_round: int, layer: str, column: str) -> float:
    values = [row.number(column) for row in rows if (row.round, row.layer) == (server_round, layer)]
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _number(value: float) -> str:
    if math.isnan(value):
        return NOTHING
    if value >= 1000:
        return "∞" if math.isinf(value) else f"{value:,.0f}"
    return f"{value:.3g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
