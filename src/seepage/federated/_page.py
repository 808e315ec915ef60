"""The page about the rounds of a federation: one file, no scripts, nothing from elsewhere."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from seepage.federated._report import WHOLE

Row = dict[str, Any]

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5d6b7a; --line: #d8dee5; --paper: #fff; --hue: 0, 114, 178;
        --alarm: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --soft: #9aa7b4; --line: #36414d; --paper: #14191f; --hue: 86, 180, 233; --alarm: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
       margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .25rem; }
p { margin: .25rem 0 .75rem; max-width: 44rem; } .note, li { color: var(--soft); } ul { padding-left: 1.1rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, td.words, th.words { text-align: left; } td.words { white-space: normal; }
thead th { color: var(--soft); font-weight: 600; } tr.whole td { border-top: 2px solid var(--line); font-weight: 600; }
.refused, .failed, .unmeasured { color: var(--alarm); font-weight: 600; }
"""

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
_NOTHING = "\N{EN DASH}"
_CHANGED = ("dropped", "noised")
_WHOLE_REPLY = ("refused", "failed", "unmeasured")


def page(rows: Sequence[Row], assumptions: Sequence[str]) -> str:
    """Return the page."""
    rounds = list(dict.fromkeys(row["round"] for row in rows))
    layers = list(dict.fromkeys(row["layer"] for row in rows if row["layer"]))
    parts = [f"<h1>What the rounds gave away</h1>\n<p>{_headline(rows, rounds)}</p>"]
    for column, title, note in _SECTIONS:
        shown = [layer for layer in layers if any(not _missing(_largest(rows, r, layer, column)) for r in rounds)]
        if shown:
            table = _by_layer(rows, rounds, shown, column)
            parts.append(f'<h2>{title}</h2>\n<p class="note">{note}</p>\n{table}')
    if rows:
        parts.append(f"<h2>What became of each update</h2>\n{_outcomes(rows)}")
    said = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in assumptions)
    parts.append(f"<h2>What this takes for granted</h2>\n<ul>\n{said}\n</ul>")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>What the rounds gave away</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _headline(rows: Sequence[Row], rounds: Sequence[int]) -> str:
    updates: dict[tuple[int, str], set[str]] = {}
    for row in rows:
        updates.setdefault((row["round"], row["client"]), set()).add(row["action"])
    clients = {client for _, client in updates}
    counted = f"{_count(len(rounds), 'round')}, {_count(len(clients), 'client')}, {_count(len(updates), 'update')}."
    words = {
        "refused": "Refused by the client",
        "dropped": "Sent without some layer",
        "noised": "Sent with noise added to some layer",
        "failed": "Failed",
        "unmeasured": "Not measured",
    }
    counts = {text: sum(key in actions for actions in updates.values()) for key, text in words.items()}
    told = [f"{text}: {number}." for text, number in counts.items() if number]
    return " ".join([counted, *told]) if told or not rows else f"{counted} All were within their limits."


def _by_layer(rows: Sequence[Row], rounds: Sequence[int], layers: Sequence[str], column: str) -> str:
    values = {(layer, r): _largest(rows, r, layer, column) for layer in layers for r in rounds}
    known = [math.log(v) for v in values.values() if 0 < v < math.inf]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    head = "".join(f"<th>round {r}</th>" for r in rounds)
    lines = []
    for layer in layers:
        cells = "".join(_cell(rows, r, layer, values[layer, r], low, high) for r in rounds)
        kind = ' class="whole"' if layer == WHOLE else ""
        lines.append(f"<tr{kind}><td>{escape(layer)}</td>{cells}</tr>")
    return _table(f"<th>layer</th>{head}", lines)


def _cell(rows: Sequence[Row], server_round: int, layer: str, value: float, low: float, high: float) -> str:
    if _missing(value):
        replies = {row["action"] for row in rows if row["round"] == server_round}
        gone = next((action for action in _WHOLE_REPLY if action in replies), "")
        return f'<td class="{gone}">{gone or _NOTHING}</td>'
    shade = 0.35 if math.isinf(value) else 0.0
    if 0 < value < math.inf and high > low:
        shade = 0.35 * (math.log(value) - low) / (high - low)
    actions = {row["action"] for row in rows if (row["round"], row["layer"]) == (server_round, layer)}
    mark = "".join(f" <small>{action}</small>" for action in _CHANGED if action in actions)
    return f'<td style="background: rgba(var(--hue), {shade:.2f})">{_number(value)}{mark}</td>'


def _outcomes(rows: Sequence[Row]) -> str:
    replies: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        replies.setdefault((row["round"], row["client"]), []).append(row)
    lines = []
    for (server_round, client), found in replies.items():
        first = found[0]
        whole = first["action"] if first["action"] in _WHOLE_REPLY else "sent"
        changed = [
            f"{row['layer']} {row['action']}" for row in found if row["layer"] != WHOLE and row["action"] in _CHANGED
        ]
        why = first["reason"] or ", ".join(changed)
        lines.append(
            f'<tr><td>{server_round}</td><td>{escape(client)}</td><td class="{whole}">{whole}</td>'
            f"<td>{_number(first['people'])}</td><td>{_number(first['training_seconds'])}</td>"
            f"<td>{_number(first['measuring_seconds'])}</td>"
            f'<td class="words">{escape(why)}</td></tr>'
        )
    names = ("round", "client", "update", "people guarded", "training, s", "measuring, s")
    head = "".join(f"<th>{name}</th>" for name in names)
    return _table(f'{head}<th class="words">why</th>', lines)


def _table(head: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def _largest(rows: Sequence[Row], server_round: int, layer: str, column: str) -> float:
    values = [row[column] for row in rows if (row["round"], row["layer"]) == (server_round, layer)]
    known = [value for value in values if not _missing(value)]
    return max(known) if known else math.nan


def _missing(value: float) -> bool:
    return math.isnan(value)


def _number(value: float) -> str:
    if _missing(value):
        return _NOTHING
    if value >= 1000:
        return "∞" if math.isinf(value) else f"{value:,.0f}"
    return f"{value:.3g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
