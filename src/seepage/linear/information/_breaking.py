"""How far a person's value may move before other coefficients of a model with an L1 penalty are zero.

Inside its active set A the minimizer moves smoothly. A unit of one value of row i pulls the gradient by v, which moves
the coefficients of A by J = -H_AA^-1 v_A and the gradient outside by w = v_m + H_mA J. To first order the set is
another one (eq. 2.27) as soon as

    theta_k + t J_k = 0  for an active k,     or     G_m + t w_m = +-(L_m + t dL_m)  for an inactive m.

dL is zero unless a scaler that was fitted on the same rows moves with the value, and the penalty in raw units with it.
For squared loss and features that are affine in the value the distance is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, personal, public
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._information import LinearInformation
from seepage.linear.information._preprocessing import AddingFilled, columns_of
from seepage.linear.objective import ActiveSet, derivatives
from seepage.linear.rows import Batch, Frame

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Breaking:
    """The distance to the nearest kink along each value of each row. Holds no rows.

    What is zero at a kink is counted as a share of what it is now: theta_k, and G_m less either of its bounds. One over
    the distance is then the largest of their rates.
    """

    geometry: Geometry
    blocks: tuple[int, ...]
    """Which attributes are numbers of one coordinate each."""
    label: bool
    """Whether the label is asked for, as the last."""
    filled: Array
    """What filled cells add to v for a unit of each feature, shape (p, p); without rows where none were filled."""

    @property
    def _active(self) -> ActiveSet:
        assert self.geometry.minimizer.active is not None
        return self.geometry.minimizer.active

    @cached_property
    def _kinks(self) -> tuple[NDArray[np.intp], Array]:
        """Which coefficient each of the kinks belongs to, and how far it is from it."""
        active, theta = self._active, self.geometry.parameters[:, 0]
        held, out = np.flatnonzero(active.signs), active.inactive
        bound, gradient = active.absolute[out], active.gradient[out]
        return np.concatenate([held, out, out]), np.concatenate([theta[held], gradient - bound, gradient + bound])

    @cached_property
    def _through(self) -> Array:
        """From v_A to J on the active set and to what it adds to w outside, shape (A, p)."""
        active = self._active
        inverse = self.geometry.hessian_inverse[np.ix_(active.indices, active.indices)]
        found = np.empty((len(active.indices), len(active.signs)))
        found[:, active.indices] = -inverse
        found[:, active.inactive] = -inverse @ active.hessian[np.ix_(active.indices, active.inactive)]
        return found

    def _rates(self, pulls: Array) -> Array:
        """Return the rates that pulls v on the gradient, shape (n, p), move all kinks at, shape (n, kinks)."""
        active, (at, start) = self._active, self._kinks
        moved = pulls[:, active.indices] @ self._through
        moved[:, active.inactive] += pulls[:, active.inactive]
        return np.asarray(moved[:, at] / start)

    @cached_property
    def _of_features(self) -> Array:
        """The rates for a unit pull at each parameter, shape (p, kinks)."""
        return self._rates(np.eye(len(self._active.signs)))

    @cached_property
    def _of_filled(self) -> Array:
        """Those of filled cells, for a unit of each feature."""
        return self._rates(self.filled) if len(self.filled) else np.zeros_like(self._of_features)

    def __call__(self, batch: Batch) -> Array:
        """Return the distances of some rows, shape (n, numbers), in the unit of each attribute."""
        seen = _Seen.of(batch, self)
        straight = self.geometry.loss.quadratic and self.geometry.scales is None and self.geometry.curves is None
        along = self._exact if straight else self._to_first_order
        found = [along(batch, seen, block) for block in self.blocks]
        if self.label:
            found.append(np.abs(seen.label_slope) * np.abs(seen.rates).max(axis=1, initial=0.0))
        with np.errstate(divide="ignore"):
            return 1.0 / np.column_stack(found) if found else np.empty((len(batch), 0))

    def _to_first_order(self, batch: Batch, seen: "_Seen", block: int) -> Array:
        """Return one over the distance along the tangent (eq. 2.27)."""
        geometry, theta, (at, start) = self.geometry, self.geometry.parameters[:, 0], self._kinks
        found, bent = np.zeros_like(seen.rates), np.zeros(len(batch))
        for feature, read in self._reading(batch, block):
            own = seen.slope
            if seen.deviation is not None:
                assert geometry.scales is not None
                own = (
                    own
                    + geometry.scales.pull(theta[[feature], None], np.array([feature]))[0, 0]
                    * (seen.deviation[:, feature])
                )
                # The bound that a gradient comes to moves along, and is on the far side of where it starts.
                mine = np.flatnonzero((at == feature) & (self._active.signs[at] == 0))
                bound = np.sign(start[mine]) * self._active.absolute[feature] / start[mine]
                found[:, mine] += np.outer(read * seen.deviation[:, feature], bound)
            found += np.outer(read * own, self._of_features[feature])
            if len(self.filled):
                found += np.outer(read, self._of_filled[feature])
            bent += read * theta[feature]
        return np.asarray(_fastest(found, seen.curvature * bent, seen.rates))

    def _exact(self, batch: Batch, seen: "_Seen", block: int) -> Array:
        """Return one over the distance for squared loss, where what moves is a ratio of two quadratics (eq. 2.28).

        With d = T_j, p = H_AA^-1 d_A, q = H_AA^-1 x_A and the residual rho, a row of weight omega that moves by t makes
        what is c at the beginning, theta_k or G_m -+ L_m, into

            c + omega t (d' N_rho + x' N_tau) / D,     d' = -p_k or d_m - H_mA p,     x' = -q_k or x_m - H_mA q.
        """
        active, omega = self._active, seen.curvature
        d = self.geometry.reading[:, self.geometry.blocks[block]].toarray()[:, 0]
        own = active.indices
        rates = self._rates(d[None])[0]
        if not d[own].any():
            # Nothing moves but the gradient outside, and that in proportion.
            return np.asarray(np.abs(seen.slope) * np.abs(rates).max(initial=0.0))
        tau, moved = float(d @ self.geometry.parameters[:, 0]), d[own] @ self._through[:, own]
        alpha, beta = -float(d[own] @ moved), -seen.rows[:, own] @ moved
        rho = np.divide(seen.slope, omega, out=np.zeros_like(omega), where=omega != 0)
        free = 1 - omega * seen.leverage
        found = _fastest_of_ratios(
            np.column_stack([2 * omega * beta, (omega * beta) ** 2 + omega * alpha * free]),
            np.column_stack([omega * rho, omega * (omega * beta * rho + free * tau)]),
            np.column_stack([omega * tau, omega * (omega * beta * tau - omega * alpha * rho)]),
            rates,
            seen.rates,
        )
        return np.asarray(found)

    def _reading(self, batch: Batch, block: int) -> Iterator[tuple[int, Array]]:
        """Yield the features that an attribute moves, and by how much in each row."""
        geometry, (coordinate,) = self.geometry, self.geometry.blocks[block]
        straight = geometry.reading[:, [coordinate]].tocoo()
        for feature, value in zip(straight.coords[0].tolist(), straight.data.tolist(), strict=True):
            yield feature, np.full(len(batch), value)
        curves = geometry.curves
        if curves is not None:
            assert batch.bent is not None
            entries = curves.at(batch.bent)
            for i in np.flatnonzero(curves.coordinates == coordinate).tolist():
                yield int(curves.features[i]), entries[:, i]


@dataclass(frozen=True, eq=False)
class _Seen:
    """Some rows, and what the loss and the scaler have to say of them."""

    rows: Array
    slope: Array
    curvature: Array
    label_slope: Array
    deviation: Array | None
    """ds / s for a unit of each feature, if a scaler moves along."""
    leverage: Array
    """x_A^T H_AA^-1 x_A."""
    rates: Array
    """Of a pull by the row itself, shape (n, kinks)."""

    @classmethod
    def of(cls, batch: Batch, breaking: Breaking) -> "_Seen":
        geometry, rows, own = breaking.geometry, batch.augmented(), breaking._active.indices
        found = derivatives(batch, geometry.loss, batch.margins(geometry.parameters))
        slope, curvature, label_slope = (np.asarray(each).reshape(len(batch), -1)[:, 0] for each in found)
        scales = geometry.scales
        deviation = None if scales is None else scales.moves(batch, np.arange(len(scales.share)))[0]
        inside = rows[:, own]
        leverage = -np.einsum("na,ab,nb->n", inside, breaking._through[:, own], inside, optimize=True)
        return cls(rows, slope, curvature, label_slope, deviation, leverage, breaking._rates(rows))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _fastest(straight, factors, rates):  # type: ignore[no-untyped-def]
    """Return the largest |straight + factor rate| of each row."""
    n, kinks = rates.shape
    found = np.zeros(n)
    for i in range(n):
        largest, factor = 0.0, factors[i]
        for c in range(kinks):
            largest = max(largest, abs(straight[i, c] + factor * rates[i, c]))
        found[i] = largest
    return found


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _fastest_of_ratios(denominator, by_rho, by_tau, moved, rates):  # type: ignore[no-untyped-def]
    """Return the largest |u| with  u^2 + b u + a = 0  over all kinks of each row, u = 1 / t; 0 where there is none.

    Each argument has the factors of t and of t^2 in D, in omega t N_rho and in omega t N_tau; b is what they make of t,
    and a of t^2.
    """
    n, kinks = rates.shape
    found = np.zeros(n)
    for i in range(n):
        largest = 0.0
        d1, d2 = denominator[i, 0], denominator[i, 1]
        r1, r2, s1, s2 = by_rho[i, 0], by_rho[i, 1], by_tau[i, 0], by_tau[i, 1]
        for c in range(kinks):
            b = abs(d1 + r1 * moved[c] + s1 * rates[i, c])
            a = d2 + r2 * moved[c] + s2 * rates[i, c]
            # |b| + sqrt(b^2 - 4 a) is larger only if one of these holds, which is seldom; without a real root this kink
            # is never reached.
            if b > largest or largest * (largest - 2.0 * b) + 4.0 * a < 0.0:
                inside = b * b - 4.0 * a
                if inside >= 0.0:
                    largest = max(largest, b + np.sqrt(inside))
        found[i] = 0.5 * largest
    return found


def with_kinks(information: LinearInformation) -> LinearInformation:
    """Return what was measured with how far that goes, if the model has an L1 penalty; any other as it is."""
    if information.geometry.minimizer.active is None:
        return information
    found = replace(information, breaking=_distances(information))
    return replace(found, assumptions=(*found.assumptions, *_assumptions(found)))


def _distances(information: LinearInformation) -> dict[str, Array]:
    """Return the distance to the nearest kink of each person, along each attribute that is a number.

    Of somebody with several rows it is the nearest of theirs, and unknown for a value that they repeat.
    """
    names = [
        name
        for name in information.attribute_names
        if name not in information.categorical and information.is_one_number(name)
    ]
    blocks = tuple(information.attribute_names.index(name) for name in names if not information.is_label(name))
    breaking = Breaking(information.geometry, blocks, len(blocks) < len(names), _filled(information))
    found = np.empty((information.rows.count, len(names)))
    for span, part in information.rows.each(breaking):
        found[span] = part
    for i, name in enumerate(names):
        found[~information.has(name), i] = np.nan
    owners = information.owners
    if owners is not None:
        every, found = found, np.full((information.count, len(names)), np.nan)
        np.fmin.at(found, owners.person, every)
        # How far a value can go that moves in several rows at once is not computed.
        found[information.repeats[:, [information.attribute_names.index(name) for name in names]] > 0] = np.nan
    return dict(zip(names, found.T, strict=True))


def _filled(information: LinearInformation) -> Array:
    """Return what cells that were filled in with a mean add to v for a unit of each feature."""
    rows, geometry = information.rows, information.geometry
    scales, theta = geometry.scales, geometry.parameters
    if scales is None or not len(scales.filled):
        return np.empty((0, len(theta)))
    columns = columns_of(rows.reading.affine, scales.filled)
    pulls = rows.total(AddingFilled(scales.filled, columns, geometry.loss, Frame(), theta, theta))
    found = np.zeros((len(theta), len(theta)))
    for feature, those, pull in zip(scales.filled.tolist(), columns, pulls, strict=True):
        lacks = np.zeros(rows.count, dtype=bool)
        for column in those:
            lacks |= rows.missing.get(column, False)
        found[feature] = pull[0] / (rows.count - lacks.sum())
    return found


def _assumptions(information: LinearInformation) -> tuple[Assumption, ...]:
    """Return what an L1 penalty means for the numbers, and for how many people they are local."""
    active = information.geometry.minimizer.active
    assert active is not None
    eta = information.attributes()
    local = np.zeros(information.count, dtype=bool)
    assert information.breaking is not None
    for name, reach in information.breaking.items():
        with np.errstate(divide="ignore", invalid="ignore"):
            local |= (reach * eta[name] < 1) | (np.isnan(reach) & ~np.isnan(eta[name]))
    found = [
        Assumption(
            "active set",
            "The L1 penalty keeps {zeros} of {count} parameters at zero. Noise is on these as on all others: a zero "
            "without noise would be a release of its own. Eta, dfil, floors and joint information are exact as long as "
            "the same coefficients are zero, and breaking_distance() says how far each value may move until then; "
            "success rates are of refits that go past it.",
            {"zeros": personal(len(active.inactive), "d"), "count": public(len(active.signs), "d")},
        ),
        Assumption(
            "local",
            "For {local} of {people} people the numbers are local: other coefficients are zero before some value has "
            "moved by its error floor, and beyond that nothing is promised.",
            {"local": personal(int(local.sum()), "d"), "people": public(information.count, "d")},
        ),
    ]
    if information.without_slope:
        found.append(
            Assumption(
                "without slope",
                "Attributes whose coefficients are all zero move nothing until they move everything: eta of {unmoved} "
                "of them is unanswered, not zero. Success rates between two of their values are answered.",
                {"unmoved": personal(len(information.without_slope), "d")},
            )
        )
    if active.differing:
        found.append(
            Assumption(
                "support",
                "At the exact minimizer {differing} coefficients are zero that are not in the model, or the other way "
                "round: its solver stopped before they were decided.",
                {"differing": personal(active.differing, "d")},
            )
        )
    return tuple(found)
