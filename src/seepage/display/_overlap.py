"""People by the outputs that contain them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError

# Kinds of people next to each other, those with a missed target first.
_MOST_COLUMNS = 14


class Region(NamedTuple):
    """People who are in the same outputs."""

    inside: tuple[str, ...]
    people: int
    broken: bool


@dataclass(eq=False)
class OverlapDisplay(Display):
    """The number of people in each combination of outputs: red, with a star, where a target is missed.

    Outputs are rows of dots, with a column for each kind of people.

    Examples
    --------
    >>> from seepage.display import OverlapDisplay
    >>> shown = OverlapDisplay.from_patterns(
    ...     ["May", "June"], {("May", "June"): 441, ("June",): 1}, broken=[("June",)]
    ... )
    >>> [(region.inside, region.people, region.broken) for region in shown.regions()]
    [(('June',), 1, True), (('May', 'June'), 441, False)]
    """

    outputs: tuple[str, ...]
    patterns: dict[tuple[str, ...], int]
    broken: frozenset[tuple[str, ...]]

    @classmethod
    def from_patterns(
        cls,
        outputs: Sequence[str],
        patterns: Mapping[tuple[str, ...], int],
        *,
        broken: Collection[tuple[str, ...]] = (),
    ) -> "OverlapDisplay":
        """Take the number of people in each combination of outputs.

        Parameters
        ----------
        outputs : sequence of str
            Their names.
        patterns : mapping from tuple of str to int
            The number of people who are in these outputs, and in no others.
        broken : collection of tuple of str
            The combinations for which a target is missed.
        """
        for inside in (*patterns, *broken):
            unknown = [name for name in inside if name not in outputs]
            if unknown or not inside:
                raise InputError(
                    f"A pattern names some of the outputs {list(outputs)}; {inside!r} is none: it names "
                    f"{unknown or 'nothing'}."
                )
        ordered = {_in_order(outputs, inside): count for inside, count in patterns.items() if count}
        return cls(tuple(outputs), ordered, frozenset(_in_order(outputs, inside) for inside in broken))

    def regions(self) -> list[Region]:
        """Return the kinds of people, those with a missed target first, then the largest."""
        kinds = [Region(inside, count, inside in self.broken) for inside, count in self.patterns.items()]
        return sorted(kinds, key=lambda region: (not region.broken, -region.people))[:_MOST_COLUMNS]

    def _size(self) -> tuple[float, float]:
        return 4.4 + 0.42 * len(self.regions()), 1.4 + 0.26 * len(self.outputs)

    def _draw(self, ax: "_drawing.Axes") -> None:
        columns, rows = self.regions(), {name: i for i, name in enumerate(self.outputs)}
        for x, region in enumerate(columns):
            color = _drawing.RED if region.broken else _drawing.BLUE
            ax.plot([x] * len(rows), list(rows.values()), "o", color="0.88", markersize=7, zorder=1)
            at = [rows[name] for name in region.inside]
            ax.plot([x, x], [min(at), max(at)], color=color, linewidth=1.6, zorder=2)
            ax.plot([x] * len(at), at, "s" if region.broken else "o", color=color, markersize=7, zorder=3)
            words = f"{region.people:,}*" if region.broken else f"{region.people:,}"
            ax.text(x, -0.9, words, ha="center", va="bottom", rotation=45, weight="bold" if region.broken else "normal")
        _drawing.listed(ax, [_drawing.clipped(name) for name in self.outputs])
        ax.set_ylim(len(rows) - 0.5, -2.6)
        ax.set_xlim(-0.7, len(columns) - 0.3)
        ax.set_xticks([])
        ax.spines[["left", "bottom"]].set_visible(False)
        rest = len(self.patterns) - len(columns)
        remarks = ["people in each combination of outputs", "* a target is missed" if self.broken else ""]
        ax.set_xlabel("\n".join(filter(None, [*remarks, f"and {rest} more combinations" if rest > 0 else ""])))


def _in_order(outputs: Sequence[str], inside: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in outputs if name in inside)
