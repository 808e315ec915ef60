"""The shape of a noise, and the smallest scale of it that meets every target."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from seepage._amounts import up_to_grid
from seepage._noise import GaussianNoise, one_standard_error
from seepage._shapes import Balanced, FromPublicRows, PerUnit, Shape
from seepage._tables import Array, Data, Listed, Table, column_values
from seepage.errors import InputError, PolicyError, SeepageError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage
from seepage.linear import measure
from seepage.linear.columns import learns, single_steps, split
from seepage.linear.information import ExactInformation, Noised, PublishedParameters
from seepage.meaning import Target
from seepage.release._policy import Policy
from seepage.release._program import best_shape

Named = Literal["isotropic", "standard errors", "best"]
_NAMED = ", ".join(f'"{name}"' for name in get_args(Named))
Wanted = Named | Shape | Mapping[str, float] | tuple[Data, Listed]
"""A shape by its name, a rule, the units of columns, or public rows with their labels."""

# What may leave has this rule, or noise of one scale where that costs less: which of many rules is cheapest tells, of
# few people, as much as some digits of the scale.
FIXED = (1.0, 0.5)
# For experiments all of these are tried.
_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_BALANCES = (1.0, 0.5, 0.0, -0.5)
# The moves of the people who are seen best, of whom the bound on every shape is made.
_MOST_MOVES = 400
# Fewer have no halves of which one could serve the other.
_FEWEST_PUBLIC = 4
# Of more, the bound is made without Newton's steps, which would take longer than everything else.
_FEW_PARAMETERS = 40


def least_noise(leak: Leakage, policy: Policy, *, exact: bool) -> GaussianNoise:
    """Return the noise that meets a policy at the least cost: of one scale where no other is counted."""
    information = cast(Noised, leak.information)
    counted = information.unshaped is None
    if counted:
        try:
            for noise in _candidates(cast(ExactInformation, information), policy, "best", exact=False):
                information.with_noise(noise)
        except (UnsupportedError, UnansweredError):
            counted = False
    return shaped_noise(leak, policy, "best" if counted else "isotropic", exact=exact)


def shaped_noise(leak: Leakage, policy: Policy, shape: Wanted, *, exact: bool) -> GaussianNoise:
    """Return noise of a shape that meets a policy at the least cost to the fit, with how near that is to the best."""
    if leak.information.noise is None:
        raise UnansweredError("The noise of this measurement was spent while training: it has no shape to choose.")
    information = cast(Noised, leak.information)
    if information.unshaped is not None:
        return _given(information, policy, shape, information.unshaped, exact=exact)
    candidates = _candidates(cast(ExactInformation, information), policy, shape, exact=exact)
    best = min((_met(_with(information, noise), policy, exact=exact) for noise in candidates), key=lambda met: met.cost)
    if best.never:
        raise PolicyError("\n".join([*(each.sentence() for each in best.never), best.never[0].missing(inf)]), inf)
    return replace(best.noise, gap=_gap(best, policy))


def _given(information: Noised, policy: Policy, shape: Wanted, called: str, *, exact: bool) -> GaussianNoise:
    """Return noise of a shape that does not follow the rows, at the smallest scale that meets a policy."""
    if isinstance(shape, Mapping):
        noise = GaussianNoise(shape=PerUnit(scale=1.0, units=shape))
    elif isinstance(shape, Shape) and not shape.follows_rows:
        noise = GaussianNoise(shape=shape)
    elif isinstance(shape, str) and shape == "isotropic":
        noise = GaussianNoise(scale=1.0)
    else:
        raise UnansweredError(
            f"Shapes that follow the rows are not counted for {called} yet. Give units of columns, such as "
            'shape={"age": 10.0}, or a covariance that was made from public rows (FromPublicRows of seepage.release).'
        )
    met = _met(_with(information, noise), policy, exact=exact)
    if met.never:
        raise PolicyError("\n".join([*(each.sentence() for each in met.never), met.never[0].missing(inf)]), inf)
    return met.noise


def _with(information: Noised, noise: GaussianNoise) -> Noised:
    """Return what a release tells with a noise of some scale; nothing is measured twice where it has such a noise."""
    held = noise.scale is not None and information.noise.scale is not None
    return information if held else information.with_noise(noise)


@dataclass(frozen=True, eq=False)
class _Met:
    """A noise at the smallest scale that meets a policy."""

    information: Noised
    """What it tells at some other scale."""
    factor: float
    """From that scale to the smallest."""
    never: tuple[Target, ...]
    """The targets that no scale meets."""
    scale: float
    """Which scale that is, to its last digit."""

    @property
    def noise(self) -> GaussianNoise:
        if self.information.noise.scale is not None:
            return GaussianNoise(scale=self.scale)
        return self.information.noise.scaled(self.factor)

    @property
    def cost(self) -> float:
        """The excess loss."""
        return inf if self.never else self.information.excess_loss() * self.factor**2


def _candidates(
    information: ExactInformation, policy: Policy, shape: Wanted, *, exact: bool
) -> Iterator[GaussianNoise]:
    """Yield the noises to choose from, at any scale: by the rows, if that need not leave."""
    isotropic = GaussianNoise(scale=1.0)
    if not isinstance(shape, tuple | Shape | Mapping | str):
        # Rows are not quoted: there may be many, and somebody's.
        raise InputError(
            f"shape must be {_NAMED}, a rule of seepage.release, units of columns "
            'such as {"age": 10}, or public rows with their labels, (X_public, y_public), not of type '
            f"{type(shape).__name__}."
        )
    if isinstance(shape, tuple):
        # Which is never worse than the same noise everywhere.
        yield isotropic
        if _floors(information, policy):
            yield _from_public_rows(information, policy, shape)
    elif isinstance(shape, Shape):
        yield GaussianNoise(shape=shape)
    elif isinstance(shape, Mapping):
        yield GaussianNoise(shape=PerUnit(scale=1.0, units=shape))
    elif shape == "isotropic":
        yield isotropic
    elif shape == "standard errors":
        yield one_standard_error(information.noise)
    elif shape == "best":
        yield isotropic
        if not policy.success_rate:
            yield from (GaussianNoise(shape=each) for each in rules(information, policy, every=exact))
    else:
        raise InputError(
            f'shape must be {_NAMED}, units of columns such as {{"age": 10}}, or public rows with their labels, '
            f"(X_public, y_public), not {shape!r}."
        )


def rules(information: ExactInformation, policy: Policy, *, every: bool) -> Iterator[Shape]:
    """Yield the rules by which a noise can take its shape from the rows: every one, or the one that is fixed."""
    floors = _floors(information, policy)
    if not floors:
        return
    if not every:
        share, balance = FIXED
        yield Balanced(scale=1.0, floors=floors, share=share, balance=balance)
        return
    for share, balance in product(_SHARES, _BALANCES):
        yield Balanced(scale=1.0, floors=floors, share=share, balance=balance)


def _floors(information: ExactInformation, policy: Policy) -> dict[str, float]:
    """Return the floor of each column that a policy has something to say about."""
    found = dict.fromkeys(information.attribute_names, 1.0 / policy.eta) if policy.eta is not None else {}
    for name, floor in policy.error_floor.items():
        found[name] = max(floor, found.get(name, 0.0))
    return {
        name: floor
        for name, floor in found.items()
        if not information.is_label(name) and name in information.attribute_names and information.reaches(name)
    }


def _met(measured: Noised, policy: Policy, *, exact: bool) -> _Met:
    """Return a noise at the smallest scale that meets a policy, or on the next step of the grid.

    Parameters
    ----------
    measured : Noised
        A release with that noise, at any scale.
    policy : Policy
        What is asked for.
    exact : bool
        Whether to leave the scale as it is.
    """
    factors = policy.factors(Leakage(measured))
    never = tuple(target for target, factor in factors.items() if factor == inf)
    factor = max(factors.values())
    if factor == 0:
        raise InputError("Nobody leaks anything about these targets: any noise scale meets them.")
    scale = _scale(measured.noise)
    wanted = scale * factor
    if not exact and not never:
        wanted = up_to_grid(wanted)
        factor = wanted / scale
    return _Met(measured, factor, never, wanted)


def _scale(noise: GaussianNoise) -> float:
    if noise.scale is not None:
        return noise.scale
    return 1.0 if noise.shape is None else noise.shape.scale


def _gap(met: _Met, policy: Policy) -> float | None:
    """Return how many times the cost of the best of all shapes a noise has at most, what shapes tell aside."""
    information: Any = met.information.held
    if information is None or policy.success_rate or policy.quantile < 1:
        return None
    outputs: PublishedParameters = information.outputs
    if information.count != outputs.rows.count or outputs.rows.missing or outputs.loss.outputs > 1 or outputs.bends:
        return None
    moves = _most_exposed(information, policy, met.factor)
    if not len(moves):
        return None
    # In units of the noise that was chosen; what it costs is what H costs there.
    hessian = outputs.loss_in_noise_units() * met.factor**2
    values, p = np.linalg.eigvalsh(hessian), len(hessian)
    if values[0] < -1e-12 * np.abs(values).max():
        # A loss that is not convex may bend down where the penalty holds the fit: noise would pay there.
        return None
    hessian += 1e-12 * np.trace(hessian) / p * np.eye(p)
    bound = best_shape(moves, hessian, tolerance=0.01, rounds=3 if p <= _FEW_PARAMETERS else 0).bound
    return float(np.trace(hessian) / bound)


def _most_exposed(information: Any, policy: Policy, factor: float) -> Array:
    """Return Jacobians of the people whose values are exposed most, in units of the noise and of their floors."""
    found: list[Array] = []
    floors, jacobians = policy.error_floor, information.without_shape.jacobians
    if floors:
        etas = np.stack([information.column_at("attributes", name, factor) * floor for name, floor in floors.items()])
        most = np.argsort(-etas, axis=None)[:_MOST_MOVES]
        which, people = np.unravel_index(most, etas.shape)
        rows, place = np.unique(people, return_inverse=True)
        moved, blocks = jacobians(rows)
        at = np.array([blocks[name][0] for name in floors])
        found.append(moved[place.ravel(), :, at[which]] * np.array(list(floors.values()))[which, None])
    if policy.eta is not None:
        rows = np.argsort(-information.column_at("examples", "eta", factor))[:_MOST_MOVES]
        left, sizes, _ = np.linalg.svd(jacobians(rows).moved, full_matrices=False)
        found.append(left[:, :, 0] * sizes[:, :1] / policy.eta)
    return np.concatenate(found) / factor if found else np.empty((0, 0))


def _from_public_rows(information: ExactInformation, policy: Policy, given: tuple[Data, Listed]) -> GaussianNoise:
    """Return a shape that was made from rows which are nobody's secret.

    Its sharpness is what serves public rows best that it was not made from.
    """
    held = information.held
    if held is None:
        raise UnansweredError("A shape from public rows needs the private ones in memory: measure them as a frame.")
    if len(given) != 2:
        raise InputError("Public rows come with their labels: shape=(X_public, y_public).")
    outputs: PublishedParameters = held.outputs
    if outputs.loss.outputs > 1 or outputs.bends:
        raise UnsupportedError(
            "A shape is made of public rows for models with one output, behind affine preprocessing. For this one, "
            "make a covariance of them yourself: shape=FromPublicRows(scale=1.0, base=covariance) of seepage.release."
        )
    given = _alike(outputs.rows.table, *given)
    whole = _public(held, *given)
    count = whole.count
    halves = np.random.default_rng(0).permutation(count)
    parts = [_public(held, *_some(given, rows)) for rows in (halves[: count // 2], halves[count // 2 :])]
    shapes: list[Shape] = list(rules(whole, policy, every=True))
    costs = np.zeros(len(shapes))
    for own, other in (parts, parts[::-1]):
        for i, each in enumerate(shapes):
            made = own.shaping.covariance(each)
            costs[i] += _met(other.with_noise(GaussianNoise(covariance=made)), policy, exact=True).cost
    base = whole.shaping.covariance(shapes[int(costs.argmin())])
    return GaussianNoise(shape=FromPublicRows(scale=1.0, base=base))


def _alike(private: Table, X: Data, y: Listed) -> tuple[Data, Listed]:
    """Return public rows with the columns of the private ones, in their order: so are the parameters."""
    table = Table.of(X)
    if table.is_frame != private.is_frame:
        kind = "a frame with its columns by name" if private.is_frame else "an array, without names"
        raise InputError(
            f"The private rows came as {kind}: give the public ones alike. Columns: {list(private.names)}."
        )
    missing = [name for name in private.names if name not in table.names]
    if missing:
        raise InputError(f"The public rows have no column {missing[0]!r}: {list(private.names)} are needed.")
    if len(table) < _FEWEST_PUBLIC:
        raise InputError(
            f"There are {len(table)} public rows: at least {_FEWEST_PUBLIC} are needed to make a shape of."
        )
    return Table.of(X, private.names if private.is_frame else None).native, y


def _public(information: ExactInformation, X: Data, y: Listed) -> ExactInformation:
    """Measure the same model, fitted on public rows alone."""
    try:
        return _measured(information, X, y)
    except (SeepageError, ValueError) as reason:
        raise InputError(f"The model cannot be fitted on the public rows, or on half of them: {reason}") from reason


def _measured(information: ExactInformation, X: Data, y: Listed) -> ExactInformation:
    outputs = information.held.outputs
    preprocess, model = outputs.rows.reading.preprocess, clone(outputs.estimator)
    if preprocess is not None:
        before = clone(preprocess)
        steps = before.steps if isinstance(before, Pipeline) else [("before", before)]
        model = Pipeline([*steps, ("last", model)])
    fitted = model.fit(X, column_values(y))
    before = single_steps(split(fitted)[0])
    columns = [name for name in information.attribute_names if not information.is_label(name)]
    leak = measure(
        fitted,
        X,
        y,
        noise_scale=1.0,
        public_label=not information.outcome,
        attributes=columns,
        numbers=[name for name in columns if name not in information.categorical],
        public_preprocessing=[path for path, step in before.items() if learns(step)],
    )
    found = cast(ExactInformation, leak.information)
    if found.penalty.shape != information.penalty.shape:
        raise InputError(
            f"Fitted on the public rows the model has {len(found.penalty)} parameters, on the private ones "
            f"{len(information.penalty)}: give its encoders their categories, so that both have the same."
        )
    # Whatever the public labels are called, they are those that targets name.
    return replace(found, attribute_names=information.attribute_names, categorical=information.categorical)


def _some(given: tuple[Data, Listed], rows: NDArray[np.intp]) -> tuple[Data, Listed]:
    X, y = given
    return Table.of(X).picked(rows), column_values(y)[rows]
