"""Protected at every value of one's own: verdicts and scales that do not hang on what anybody's value is.

Whether a noise is enough follows the rows, and most of all those of whoever is most exposed. Within public ranges every
person is asked about at every value that they could have, all else as it is: by the exact refit with that value, and
what is known of them there. Of a person's own value nothing decides then, and through the others it does little.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray

from seepage.errors import InputError, PolicyError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage
from seepage.linear.information import LinearInformation
from seepage.release._anew import Change, Changed, Remeasured
from seepage.release._policy import Policy

Array = NDArray[np.float64]

# Values of each range, the ends among them, if so many vary together.
_VALUES = {1: 9, 2: 5, 3: 3, 4: 2, 5: 2}
# Refits; the sizes decide, so that a refusal tells nothing.
_MOST_REFITS = 300_000
# Of the most exposed, how the noise that they need moves with everybody else.
_LEADERS = 3
_NEAR = 0.01


@dataclass(frozen=True, eq=False)
class Ranged:
    """What everybody could be exposed to within the ranges of a policy, at the noise of a measurement."""

    information: LinearInformation
    policy: Policy

    @classmethod
    def of(cls, leak: Leakage, policy: Policy) -> "Ranged":
        """Check that a release can be judged at every value of everybody's own."""
        information: LinearInformation | None = leak.information.held
        if information is None:
            raise UnsupportedError("Ranges are counted for linear models in memory. Leave ranges out of the policy.")
        if information.owners is not None:
            raise UnsupportedError(
                "Ranges are counted for one row a person, and some people have several. Leave ranges out of the policy."
            )
        if information.geometry.shape is not None:
            raise UnsupportedError(
                "With another value the noise would have another shape, so that ranges are counted for shapes that do "
                'not follow the rows alone: one scale (shape="isotropic"), units of columns, or public rows.'
            )
        if policy.success_rate:
            raise UnsupportedError(
                "Ranges are about numbers, and what success rates of categories would be at every value is not counted "
                "yet. Set error floors or eta, or leave ranges out of the policy."
            )
        numbers = [name for name in information.attribute_names if name not in information.categorical]
        wanted = [*policy.error_floor, *(numbers if policy.eta is not None else [])]
        lacking = [name for name in dict.fromkeys(wanted) if name not in policy.ranges]
        if lacking:
            raise InputError(
                f"The policy states ranges, and none for {', '.join(lacking)}, which it has a target for. State one "
                f"for each: ranges={{{lacking[0]!r}: (low, high)}}."
            )
        found = cls(information, policy)
        for name in policy.ranges:
            found._check(name)
        count = information.count * len(found.points)
        if count > _MOST_REFITS:
            raise UnsupportedError(
                f"To judge {information.count:,} people at {len(found.points)} values each takes more than "
                f"{_MOST_REFITS:,} refits. State fewer ranges, or leave them out of the policy."
            )
        return found

    def _check(self, name: str) -> None:
        information = self.information
        if name not in information.attribute_names:
            raise InputError(
                f"The policy states a range for {name!r}; the private attributes are "
                f"{list(information.attribute_names)}."
            )
        if name in information.categorical or not information.is_one_number(name):
            raise InputError(f"The policy states a range for {name!r}, which is no number here.")
        low, high = self.policy.ranges[name]
        values = self._values(name)
        if (values < low).any() or (values > high).any():
            raise InputError(
                f"The range of {name!r}, {low:g} to {high:g}, does not hold everybody. A range is a public limit that "
                "nobody can be outside of: state a wider one."
            )

    def _values(self, name: str) -> Array:
        column = None if self.information.is_label(name) else name
        return np.asarray(self.information.rows.column(column), dtype=np.float64)

    @cached_property
    def points(self) -> tuple[dict[str, float], ...]:
        """The values that everybody is asked about: all ends of the ranges together, and a grid between them."""
        ranges = self.policy.ranges
        if len(ranges) > max(_VALUES) or (len(ranges) > 1 and self.information.geometry.curves is not None):
            most = 1 if self.information.geometry.curves is not None else max(_VALUES)
            raise UnsupportedError(
                f"Ranges of up to {most} attributes are counted together here, and the policy states {len(ranges)}."
            )
        each = [np.linspace(low, high, _VALUES[len(ranges)]).tolist() for low, high in ranges.values()]
        return tuple(dict(zip(ranges, values, strict=True)) for values in product(*each))

    @cached_property
    def _limits(self) -> Array:
        """One over the squared eta that each target allows: the floors', in order, then that of everything."""
        found = [floor**2 for floor in self.policy.error_floor.values()]
        return np.array(found if self.policy.eta is None else [*found, self.policy.eta**-2.0])

    @cached_property
    def needed(self) -> Array:
        """The factor on the noise that each person needs at each point, and as they are, shape (n, points + 1)."""
        people, count = range(self.information.count), len(self.points)
        known = np.isfinite(sum(self._values(name) for name in self.policy.ranges))
        changes = [{person: point} for person in people if known[person] for point in self.points]
        found = np.full((self.information.count, count + 1), np.nan)
        found[known, :count] = self._needed(changes).reshape(-1, count)
        found[:, count] = self._as_they_are()
        return found

    def _as_they_are(self) -> Array:
        def of(factor: float) -> Array:
            table = [self.information.column_at("attributes", name, factor) for name in self.policy.error_floor]
            if self.policy.eta is not None:
                table.append(self.information.column_at("examples", "eta", factor))
            return np.stack(table, axis=1) ** 2

        return self._factors(of(1.0), of(inf) if self.information.stays else None)

    def _needed(self, changes: Sequence[Change]) -> Array:
        """Return the factor on the noise that the first person of each change needs there."""
        now = self._known(self.information, changes)
        if not self.information.stays:
            return self._factors(now, None)
        endless = replace(self.information, geometry=self.information.geometry.at(inf))
        return self._factors(now, self._known(endless, changes))

    def _known(self, information: LinearInformation, changes: Sequence[Change]) -> Array:
        """Return the information about the first person of each change, target by target."""
        names = tuple(self.policy.error_floor)
        anew = Remeasured(information, names, with_eta=self.policy.eta is not None, everybody=False)

        def of(_: Change, other: Changed) -> Array:
            if np.isnan(other.distance):
                raise UnansweredError(
                    "With another value in its range somebody's record decides whether the coefficients are finite: "
                    "fit with a stronger penalty, or leave ranges out of the policy."
                )
            return other.information[0] if other.eta is None else np.append(other.information[0], other.eta**2)

        return np.array(anew.each(changes, of)).reshape(len(changes), -1)

    def _factors(self, now: Array, stays: Array | None) -> Array:
        """Return by what the noise must grow, for the hardest target of each row."""
        left = 0.0 if stays is None else np.nan_to_num(stays)
        moved, room = np.maximum(np.nan_to_num(now) - left, 0.0), 1.0 / self._limits - left
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.where(moved > 0, np.sqrt(moved / np.maximum(room, 0.0)), np.where(room < 0, inf, 0.0))
        return np.asarray(factors.max(axis=1))

    @property
    def factor(self) -> float:
        """The factor on the noise that is enough for the stated share of people at every value of their own."""
        worst = np.sort(np.nanmax(self.needed, axis=1))
        return float(worst[int(np.ceil(self.policy.quantile * len(worst) * (1 - 1e-12))) - 1])

    def check(self) -> None:
        """Refuse a release that would miss a target if somebody had another value in the ranges."""
        factor = self.factor
        if factor > 1 + 1e-9:
            raise PolicyError(
                "This release would miss its policy if one person had another value in the ranges that it states, so "
                "nothing was published: whoever sees that it was would know that it is not so. Take the next step of "
                'the grid of noise scales (1, 2, 5, 10, ...), or noise_scale="calibrated".',
                factor,
            )

    def slopes(self) -> Array:
        """Return how fast the logarithm of the noise that is needed moves with everybody's values at most.

        Of the people who need most noise, each at the value where they need it, it is seen how that moves with one
        value of somebody else: to both ends of its range, and by a little. Nobody's own value moves their need, as they
        are asked at every value. The largest of many moves no faster than the fastest of them.

        Returns
        -------
        ndarray of shape (n, ranges)
        """
        worst = np.nanmax(self.needed, axis=1)
        found = np.zeros((self.information.count, len(self.policy.ranges)))
        for leader in np.argsort(-worst, kind="stable")[:_LEADERS].tolist():
            at = int(np.nanargmax(self.needed[leader]))
            values = {name: float(self._values(name)[leader]) for name in self.policy.ranges}
            point = self.points[at] if at < len(self.points) else values
            for i, name in enumerate(self.policy.ranges):
                steps = list(self._steps(leader, name))
                changes = [{leader: point, person: {name: value}} for person, value, _ in steps]
                moved = np.log(self._needed(changes) / worst[leader])
                lengths = np.array([length for *_, length in steps])
                np.maximum.at(found[:, i], [person for person, *_ in steps], np.abs(moved / lengths))
        return found

    def _steps(self, leader: int, name: str) -> Iterator[tuple[int, float, float]]:
        """Yield everybody else, a value that they could have, and how far that is from theirs."""
        low, high = self.policy.ranges[name]
        little = _NEAR * (high - low)
        for person, own in enumerate(self._values(name).tolist()):
            if person == leader or np.isnan(own):
                continue
            for value in (low, high, own + (little if own + little <= high else -little)):
                if abs(value - own) > 1e-9 * (high - low):
                    yield person, value, value - own
