"""Who is in which outputs, and whom their differences leave."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError

# So many outputs are circles; more are rows of dots.
MOST_CIRCLES = 3
# Kinds of people beside each other, those who are left first.
_MOST_COLUMNS = 14


class Circle(NamedTuple):
    """One output."""

    name: str
    x: float
    y: float
    radius: float
    label: tuple[float, float]


class Region(NamedTuple):
    """People who are in the same outputs."""

    inside: tuple[str, ...]
    x: float
    y: float
    people: int
    broken: bool


@dataclass(eq=False)
class OverlapDisplay(Display):
    """Outputs as circles, and how many people are in which; red, with a star, where a target is missed.

    More than three outputs are rows of dots, with a column for each kind of people.

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
        """Take who is in which outputs.

        Parameters
        ----------
        outputs : sequence of str
            What they are called.
        patterns : mapping from tuple of str to int
            How many people are in some outputs, and in no others.
        broken : collection of tuple of str
            Those of these people of whom a target is missed.
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

    @property
    def are_circles(self) -> bool:
        """Whether there are few enough outputs for circles."""
        return len(self.outputs) <= MOST_CIRCLES

    def circles(self) -> list[Circle]:
        """Return where each output is drawn, within two units of the middle."""
        names = self.outputs
        if len(names) == 1:
            return [Circle(names[0], 0.0, 0.0, 1.0, (0.0, 1.2))]
        if len(names) == 2:
            outer = self._outer()
            if outer is not None:
                inner = next(name for name in names if name != outer)
                within = Circle(inner, 0.4, -0.1, 0.75, (0.4, 0.42))
                circles = {outer: Circle(outer, 0.0, 0.0, 1.4, (0.0, 1.6)), inner: within}
                return [circles[outer], circles[inner]]
            apart = 0.65 if names in self.patterns else 1.15
            return [
                Circle(names[0], -apart, 0.0, 1.0, (-apart, 1.2)),
                Circle(names[1], apart, 0.0, 1.0, (apart, 1.2)),
            ]
        return [
            Circle(names[0], -0.62, 0.45, 1.0, (-1.0, 1.6)),
            Circle(names[1], 0.62, 0.45, 1.0, (1.0, 1.6)),
            Circle(names[2], 0.0, -0.6, 1.0, (0.0, -1.8)),
        ]

    def regions(self) -> list[Region]:
        """Return where each number of people is written, and whether it is of those who are left."""
        return [
            Region(inside, *self._middle(inside), count, inside in self.broken)
            for inside, count in sorted(self.patterns.items(), key=lambda each: (len(each[0]), each[0]))
        ]

    def columns(self) -> list[tuple[tuple[str, ...], int, bool]]:
        """Return the kinds of people, those who are left first, then those who are most."""
        kinds = [(inside, count, inside in self.broken) for inside, count in self.patterns.items()]
        return sorted(kinds, key=lambda each: (not each[2], -each[1]))[:_MOST_COLUMNS]

    def _outer(self) -> str | None:
        """Return which of two outputs the other one is a part of."""
        one, other = self.outputs
        if (one, other) not in self.patterns:
            return None
        if (other,) not in self.patterns:
            return one
        return other if (one,) not in self.patterns else None

    def _middle(self, inside: tuple[str, ...]) -> tuple[float, float]:
        circles = {each.name: each for each in self.circles()}
        if len(self.outputs) == 2 and self._outer() is not None:
            return (0.4, -0.1) if len(inside) == 2 else (-0.85, 0.0)
        x = sum(circles[name].x for name in inside) / len(inside)
        y = sum(circles[name].y for name in inside) / len(inside)
        center = [sum(getattr(each, axis) for each in circles.values()) / len(circles) for axis in ("x", "y")]
        # Away from the others that these people are not in.
        push = 1.55 if len(inside) < len(self.outputs) else 1.0
        return center[0] + push * (x - center[0]), center[1] + push * (y - center[1])

    def _size(self) -> tuple[float, float]:
        if self.are_circles:
            return 4.8, 3.4 if len(self.outputs) < 3 else 4.0
        return 2.6 + 0.42 * len(self.columns()), 1.2 + 0.26 * len(self.outputs)

    def _draw(self, ax: "_drawing.Axes") -> None:
        if self.are_circles:
            self._draw_circles(ax)
        else:
            self._draw_dots(ax)

    def _draw_circles(self, ax: "_drawing.Axes") -> None:
        from matplotlib.patches import Circle as Patch

        for circle, (color, _, _) in zip(self.circles(), _drawing.SERIES, strict=False):
            ax.add_patch(
                Patch((circle.x, circle.y), circle.radius, facecolor=color, alpha=0.12, edgecolor="none", linewidth=0)
            )
            ax.add_patch(Patch((circle.x, circle.y), circle.radius, fill=False, edgecolor=color, linewidth=1.4))
            ax.text(*circle.label, _drawing.clipped(circle.name), ha="center", va="center", color=color, weight="bold")
        for region in self.regions():
            ax.text(region.x, region.y, self._number(region.people, region.broken), **_style(region.broken))
        ax.set_xlim(-2.3, 2.3)
        ax.set_ylim(-2.0 if len(self.outputs) > 2 else -1.55, 1.85)
        ax.set_aspect("equal")
        ax.set_axis_off()

    def _draw_dots(self, ax: "_drawing.Axes") -> None:
        columns, rows = self.columns(), {name: i for i, name in enumerate(self.outputs)}
        for x, (inside, count, broken) in enumerate(columns):
            color = _drawing.RED if broken else _drawing.BLUE
            ax.plot([x] * len(rows), list(rows.values()), "o", color="0.88", markersize=7, zorder=1)
            at = [rows[name] for name in inside]
            ax.plot([x, x], [min(at), max(at)], color=color, linewidth=1.6, zorder=2)
            ax.plot([x] * len(at), at, "s" if broken else "o", color=color, markersize=7, zorder=3)
            ax.text(x, -0.9, self._number(count, broken), **{**_style(broken), "va": "bottom", "rotation": 45})
        _drawing.listed(ax, [_drawing.clipped(name) for name in self.outputs])
        ax.set_ylim(len(rows) - 0.5, -2.6)
        ax.set_xlim(-0.7, len(columns) - 0.3)
        ax.set_xticks([])
        ax.spines[["left", "bottom"]].set_visible(False)
        rest = len(self.patterns) - len(columns)
        if rest > 0:
            ax.set_xlabel(f"and {rest} more kinds of people")

    @staticmethod
    def _number(count: int, broken: bool) -> str:
        return f"{count:,}*" if broken else f"{count:,}"


def _style(broken: bool) -> dict[str, Any]:
    color = _drawing.RED if broken else "0.15"
    return {"ha": "center", "va": "center", "color": color, "weight": "bold" if broken else "normal"}


def _in_order(outputs: Sequence[str], inside: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in outputs if name in inside)
