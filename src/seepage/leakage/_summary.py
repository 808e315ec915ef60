"""A few lines that a person can read."""

import textwrap

import numpy as np

from seepage.leakage._distribution import Distribution
from seepage.leakage._information import Information

_WIDTH = 88
_MOST_ATTRIBUTES = 12


def summarize(information: Information) -> str:
    """Return the summary of a measurement as text."""
    examples, attributes = information.distributions("examples"), information.distributions("attributes")
    eta = examples["eta"]
    lines = [
        f"{information.count} people, {len(information.attribute_names)} private attributes ({information.assurance})",
        "",
        f"{'':24}{'median':>12}{'95th pct':>12}{'largest':>12}",
    ]
    for name, values in examples.items():
        lines.append(f"{name:24}" + "".join(f"{v:12.4g}" for v in _spread(values)))
    lines += ["", "Smallest error of any unbiased guess, in the attribute's own unit"]
    lines.append(f"{'':24}{'median':>12}{'5th pct':>12}{'smallest':>12}")
    units = [name for name in attributes if name not in information.categorical]
    with np.errstate(divide="ignore"):
        for name in units[:_MOST_ATTRIBUTES]:
            floors = (1.0 / v for v in _spread(attributes[name]))
            lines.append(f"{_short(name):24}" + "".join(f"{'+-' + format(floor, '.4g'):>12}" for floor in floors))
    if len(units) > _MOST_ATTRIBUTES:
        lines.append(f"... and {len(units) - _MOST_ATTRIBUTES} more attributes (see error_floor())")
    if information.categorical:
        lines.append(
            f"Categories, which have no unit: {_short(', '.join(sorted(information.categorical)), _WIDTH - 34)}"
        )
    median, _, largest = _spread(eta)
    who = int(information.top(1).rows[0])
    lines += ["", f"Most exposed: person in row {who}, {largest / median:.1f} times the median eta."]
    if eta.relative_error:
        lines.append(f"Medians and percentiles are within {eta.relative_error:.1%}.")
    lines += ["", "Assumptions:"]
    for assumption in information.assumptions:
        lines += textwrap.wrap(assumption.sentence(), _WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _spread(values: Distribution) -> tuple[float, float, float]:
    return values.quantile(0.5), values.quantile(0.95), values.largest


def _short(text: str, width: int = 23) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
