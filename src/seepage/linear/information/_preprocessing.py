"""Which steps before the model were fitted on the rows at hand, and what follows for what is published."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.impute import SimpleImputer

from seepage._noise import GaussianNoise
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns import Claim, Features, Step, is_called, learns, single_steps, walk, what_was_learned
from seepage.linear.information._scales import Scales
from seepage.linear.objective import ActiveSet, Additive, Loss, derivatives
from seepage.linear.rows import Batch, Frame

Array = NDArray[np.float64]

# Means and deviations of features that were made to be zero and one: further off they are of other rows.
_SAME = 1e-6
# Constants of other people of the same kind are about a standard error away, half of them more than 0.67 of one; those
# of n people and e others are about sqrt(e / n) of one away: a few in a thousand are noticed.
_NEAR = 0.08
# A direction of the parameters that a feature has so little of does without it.
_NOTHING = 1e-9


Filling: TypeAlias = Callable[[NDArray[np.intp], tuple[tuple[int, ...], ...]], Array]


@dataclass(frozen=True, eq=False)
class SolvedSteps:
    """What the equations of the steps need to know of those behind them."""

    estimator: str
    parameters: Array
    """Theta, shape (p, outputs), the intercept last."""
    penalty: Array
    """The factor on half of each squared parameter, in the units of the features, shape (p, outputs)."""
    intercept: bool
    published: int
    """How many outputs with coefficients leave."""
    undecided: Array
    """Directions of the parameters that nothing decides, shape (p, r)."""
    active: ActiveSet | None
    filled: Filling
    """How the gradient moves with what was filled into the cells of some features, given their raw columns, added up
    over the rows, in the coordinates of the fit; shape (features, outputs * q)."""


@dataclass(frozen=True)
class Learned:
    """What a step before the model learned from rows.

    Attributes
    ----------
    step : str
        Where the step stands, and what it is if that does not say so.
    what : str
        What it learned, in words.
    stated : bool
        Whether the user stated that it is public.
    """

    step: str
    what: str
    stated: bool


@dataclass(frozen=True)
class Preprocessing:
    """The steps before the model that learned something from rows.

    Attributes
    ----------
    fitted : tuple of Learned
        From the rows at hand: what is published moves with it.
    public : tuple of Learned
        Taken as known to the attacker, stated or not.
    filled : tuple of str
        The columns whose missing cells are filled with a constant that was given.
    without_intercept : bool
        Whether a mean that was taken away has no intercept to go to, and so would be published without noise.
    held : bool
        Whether refits hold something that moves: means in a penalty on the intercept.
    measured : frozenset of str
        Where the steps stand all of whose constants are of the rows at hand, and counted so.
    """

    fitted: tuple[Learned, ...] = ()
    public: tuple[Learned, ...] = ()
    filled: tuple[str, ...] = ()
    without_intercept: bool = False
    held: bool = False
    measured: frozenset[str] = frozenset()


class _FeatureSums(NamedTuple):
    """How many rows there are, what they weigh, and the moments of each feature."""

    number: Array
    mean: Array
    variance: Array


@dataclass(frozen=True, eq=False)
class Moments(Additive):
    """Numbers of rows, and sums and squares of features less an origin."""

    sums: Array
    """Shape (without weights or with them, given cells or filled ones, powers 0 to 2, features)."""

    @property
    def count(self) -> Array:
        return np.asarray(self.sums[0, 0, 0])

    @property
    def lacking(self) -> Array:
        return np.asarray(self.sums[0, 1, 0])

    def of(self, *, weighted: bool, everyone: bool) -> _FeatureSums:
        """Return number, mean and variance over those who have a value, or over everyone; weighted or not."""
        count, total, squares = self.sums[int(weighted), : 1 + everyone].sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / count
            return _FeatureSums(count, mean, squares / count - mean**2)


def lacking(batch: Batch, columns: Sequence[tuple[int, ...]]) -> NDArray[np.bool_]:
    """Return which rows lack a value of each of some features, given the raw columns that each is made of."""
    found = np.zeros((len(batch), len(columns)), dtype=bool)
    for i, each in enumerate(columns):
        for column in each:
            found[:, i] |= batch.missing.get(column, False)
    return found


def with_filled_moved(batch: Batch, affine: Features, features: NDArray[np.intp], by: Array) -> Batch:
    """Return rows in which the cells of some features that were filled in have moved by so much."""
    rows, at = np.nonzero(lacking(batch, columns_of(affine, features)))
    more = sparse.csr_array((by[at], (rows, features[at])), shape=batch.features.shape)
    return replace(batch, features=batch.features + more)


@dataclass(frozen=True, eq=False)
class AddingMoments:
    """Adds moments of some features up over a batch; holds no rows, so that it can travel."""

    features: NDArray[np.intp]
    columns: tuple[tuple[int, ...], ...]
    """The raw columns that each is made of."""
    origin: Array

    def __call__(self, batch: Batch) -> Moments:
        dense = batch.columns(self.features) - self.origin
        weights = np.ones(len(batch)) if batch.sample_weights is None else batch.sample_weights
        lacks = lacking(batch, self.columns).astype(np.float64)
        powers = np.stack([np.ones_like(dense), dense, dense**2])
        cells = np.stack([powers * (1.0 - lacks), powers * lacks])
        return Moments(np.stack([cells.sum(axis=2), (cells * weights[:, None]).sum(axis=2)]))


@dataclass(frozen=True, eq=False)
class AddingFilled:
    """Adds up how the gradient moves when what was filled into cells does (the sums in eq. 2.16)."""

    features: NDArray[np.intp]
    columns: tuple[tuple[int, ...], ...]
    loss: Loss
    frame: Frame
    position: Array
    theta: Array

    def __call__(self, batch: Batch) -> Array:
        q, outputs = self.position.shape
        found = np.zeros((len(self.features), outputs, q))
        every = lacking(batch, self.columns)
        for i, (feature, lacks) in enumerate(zip(self.features, every.T, strict=True)):
            if not lacks.any():
                continue
            rows = self.frame.rows(batch.take(lacks))
            slope, curvature, _ = derivatives(rows, self.loss, rows.margins(self.position))
            own = np.eye(q)[feature] if self.frame.axes is None else self.frame.axes[feature]
            found[i] = np.outer(slope.sum(axis=0), own) + rows.total(curvature @ self.theta[feature]).T
        return found


@dataclass(frozen=True, eq=False)
class _Standing:
    """What one feature's claims came to."""

    scaler: Claim | None = None
    weighted: bool = False
    filled: Claim | None = None
    halves: tuple[Claim, ...] = ()
    """The steps that the scaler is made of: itself, or one that centers and one that scales."""


def preprocessing_of(
    fit: Any, solved: SolvedSteps, noise: GaussianNoise, public: Sequence[str]
) -> tuple[Preprocessing, Scales | None]:
    """Return which steps were fitted on the rows at hand, and how what is published moves with them.

    Parameters
    ----------
    public : sequence of str
        Steps that are known to the attacker, by name or by their class in small letters.
    """
    every = single_steps(fit.preprocess)
    named, steps = steps_named(every, public), {path: step for path, step in every.items() if learns(step)}
    claims = {f: _undeclared(each, named) for f, each in fit.affine.claims.items()}
    features = np.array(
        sorted(f for f, each in claims.items() if any(c.step not in named for c in each)), dtype=np.intp
    )
    nothing = Preprocessing(public=_public(fit, steps, named), filled=_filled(fit))
    if not len(features):
        return nothing, None
    columns = columns_of(fit.affine, features)
    few = fit.rows.few()
    some = few.features[:, features]
    origin = np.asarray(some.mean(axis=0)).ravel() if isinstance(some, np.ndarray) else np.zeros(len(features))
    moments: Moments = fit.rows.total(AddingMoments(features, columns, origin))
    weighted = few.sample_weights is not None
    rounding = _rounding(some) * np.nan_to_num(np.abs(fit.affine.offset[features]))
    found = [
        _standing(claims[int(f)], moments, origin, i, weighted, rounding=float(rounding[i]))
        for i, f in enumerate(features)
    ]
    _refuse_near(steps, [claims[int(f)] for f in features], found, moments, origin, weighted)
    if _ties(solved.undecided, features, found):
        # Among models that fit equally well the one of least norm was chosen, by a norm that a scaler sets.
        return nothing, None
    _refuse_constants(features, claims, moments, origin, weighted, rounding)
    fitted = {claim.step for each in found for claim in (*each.halves, each.filled) if claim is not None}
    if not fitted:
        return nothing, None
    offset = not solved.intercept and any(
        each.scaler is not None and (each.scaler.centers or each.scaler.shift) for each in found
    )
    scales = _scales(fit.affine.count, solved, noise, features, columns, origin, moments, found)
    # A step is public as far as it made something of other rows.
    rest = {
        claim.step
        for i, (f, each) in enumerate(zip(features, found, strict=True))
        for position, claim in enumerate(claims[int(f)])
        if not _settled(claims[int(f)], position, each, moments.lacking[i] > 0)
    }
    settled = {claim.step for f in features for claim in claims[int(f)]} - rest - named
    counted = _learned(fit, {path: step for path, step in steps.items() if path in fitted}, named)
    public_steps = _public(fit, {path: step for path, step in steps.items() if path not in settled}, named)
    held = bool(scales.lean.any())
    measured = frozenset(fitted & settled)
    return Preprocessing(counted, public_steps, nothing.filled, offset, held, measured), scales


def steps_named(steps: dict[str, object], public: Sequence[str]) -> set[str]:
    """Return where the steps stand that were declared public."""
    if isinstance(public, str):
        raise InputError(f"public_preprocessing must be a list of steps; write public_preprocessing=[{public!r}].")
    if not isinstance(public, Iterable):
        raise InputError(f"public_preprocessing must be a list of steps, of {sorted(steps)}, not {public!r}.")
    found = set()
    for name in public:
        called = {path for path, step in steps.items() if is_called(step, path, name)}
        if not called:
            raise InputError(
                f"public_preprocessing names {name!r}, which is no step before the model: {sorted(steps)} are."
            )
        found |= called
    return found


def _public(fit: Any, steps: dict[str, object], named: set[str]) -> tuple[Learned, ...]:
    """Return what steps learned that are taken as public: of imputers, those that filled something in."""
    idle = {c.step for each in fit.affine.claims.values() for c in each if c.fills} if not fit.rows.missing else set()
    return _learned(fit, {path: step for path, step in steps.items() if path not in idle}, named)


def _learned(fit: Any, steps: dict[str, object], named: set[str]) -> tuple[Learned, ...]:
    """Return what some steps learned, and of which columns: of imputers, of those that lack a value."""
    names, found = fit.table.names, []
    for at in _walked(fit) if steps else ():
        if at.name in steps:
            columns = [c for c in at.columns() if c in fit.rows.missing or not isinstance(at.step, SimpleImputer)]
            what = what_was_learned(at, [names[column] for column in columns])
            found.append(Learned(_called(at.name, at.step), what, at.name in named))
    return tuple(found)


def _filled(fit: Any) -> tuple[str, ...]:
    """Return the columns whose missing cells are filled with a constant that was given."""
    if not fit.rows.missing:
        return ()
    given = [at for at in _walked(fit) if isinstance(at.step, SimpleImputer) and at.step.strategy == "constant"]
    filled = {column for at in given for column in at.columns() if column in fit.rows.missing}
    return tuple(name for column, name in enumerate(fit.table.names) if column in filled)


def _walked(fit: Any) -> list[Step]:
    return list(walk(fit.preprocess, Features.raw(len(fit.table.names)), lambda: fit.table.native))


def _called(path: str, step: object) -> str:
    """Return where a step stands, and what it is if that does not say so."""
    name = type(step).__name__
    return path if path.rpartition(".")[2].startswith(name.lower()) else f"{path} ({name})"


def columns_of(affine: Features, features: NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    """Return the raw columns that each of some features is made of."""
    found, reach = [], affine.reach()
    for feature in features:
        reached = reach[[int(feature)]].tocoo().col
        found.append(tuple(sorted({affine.coordinates[int(i)].column for i in reached})))
    return tuple(found)


def _rounding(features: object) -> float:
    """Return how far a feature may be from what its step meant, next to the constant that was taken off."""
    if not isinstance(features, np.ndarray) or (features != features.astype(np.float32)).any():
        return 0.0
    # Steps compute in the precision of the rows: the mean that is taken off is rounded to it, and so is what is left.
    return float(np.finfo(np.float32).eps)


def _standing(
    claims: tuple[Claim, ...], moments: Moments, origin: Array, i: int, weighted: bool, *, rounding: float
) -> _Standing:
    """Return the last scaler that was fitted on these rows, in one step or two, and the imputer that was."""
    filled = None
    lacking = moments.lacking[i]
    if lacking:
        has = moments.of(weighted=False, everyone=False)
        gap = abs(moments.sums[0, 1, 1, i] / lacking - has.mean[i])
        if gap <= _SAME * np.sqrt(max(has.variance[i], 0.0)):
            filled = next((claim for claim in claims if claim.with_mean), None)
    of_these = partial(_of_these, moments=moments, origin=origin, i=i, weighted=weighted, rounding=rounding)
    standing = [(claim, took) for claim in reversed(claims) if (took := of_these(claim)) is not None]
    if not standing:
        return _Standing(filled=filled)
    last, by_weight = standing[0]
    for before, took in standing[1:]:
        whole = _joined(before, last)
        if whole is not None and by_weight == took == of_these(whole):
            return _Standing(whole, by_weight, filled, (before, last))
    return _Standing(last, by_weight, filled, (last,))


def _joined(before: Claim, last: Claim) -> Claim | None:
    """Return the one scaler that two are which do half of it each; None if they are not."""
    if (last.centers and last.scales) or before.after_filling != last.after_filling:
        return None
    if last.scales and before.centers:
        # It has a mean of zero only where nothing was added in between.
        return replace(last, centers=True)
    return replace(before, centers=True, shift=last.shift) if last.centers and before.scales else None


def _of_these(claim: Claim, moments: Moments, origin: Array, i: int, weighted: bool, *, rounding: float) -> bool | None:
    """Return whether a scaler that was fitted on these rows took their weights; None for any other step."""
    if not (claim.centers or claim.scales):
        return None
    for by_weight in (False, True) if weighted else (False,):
        seen = moments.of(weighted=by_weight, everyone=claim.after_filling)
        mean = (seen.mean[i] + origin[i] - claim.shift) / claim.factor
        variance = seen.variance[i] / claim.factor**2
        same = _SAME + rounding / claim.factor
        # A column of one value has nothing to divide by, and is left as it is.
        constant = variance <= _SAME**2
        if (not claim.centers or abs(mean) <= same) and (
            not claim.scales or abs(variance - 1) <= same or (claim.centers and constant)
        ):
            return by_weight
    return None


def _undeclared(claims: tuple[Claim, ...], named: set[str]) -> tuple[Claim, ...]:
    """Return what steps claim that were not declared public; what these fill in is a constant."""
    kept = (c if c.step not in named else replace(c, with_mean=False, with_constant=True) for c in claims)
    return tuple(c for c in kept if c.step not in named or c.fills)


def _refuse_constants(
    features: NDArray[np.intp],
    claims: dict[int, tuple[Claim, ...]],
    moments: Moments,
    origin: Array,
    weighted: bool,
    rounding: Array,
) -> None:
    """Refuse a constant that is filled in behind a scaler of these rows: in the column's unit it moves with them."""
    for i, f in enumerate(features):
        each = claims[int(f)]
        at = next((k for k, claim in enumerate(each) if claim.fills), None)
        if at is None or not moments.lacking[i] or not each[at].with_constant:
            continue
        for claim in each[:at]:
            if _of_these(claim, moments, origin, i, weighted, rounding=float(rounding[i])) is None:
                continue
            raise UnsupportedError(
                f"The step {each[at].step!r} fills missing cells with a constant, given or declared public, behind "
                f"{claim.step!r}, which was fitted on the same rows: in the unit of a column that constant moves with "
                "everybody's value, and this is not counted. Way out: the imputer before the scaler, with a constant "
                "in the column's own unit; or the mean in its place, SimpleImputer(), which is the same model where "
                "the constant is 0; or, if what the scaler learned is known to the attacker, "
                f"public_preprocessing=[{claim.step.rpartition('.')[2]!r}] (on the command line, "
                "--public-preprocessing)."
            )


def _refuse_near(
    steps: dict[str, object],
    claims: Sequence[tuple[Claim, ...]],
    found: Sequence[_Standing],
    moments: Moments,
    origin: Array,
    weighted: bool,
) -> None:
    """Refuse constants that are nearly those of these rows: they are of these people, and a few more or less."""
    for by_weight in (False, True) if weighted else (False,):
        gaps: dict[str, list[float]] = {}
        for i, (each, standing) in enumerate(zip(claims, found, strict=True)):
            for claim in each:
                if claim.fills and claim.with_mean and standing.filled is None and moments.lacking[i]:
                    has = moments.of(weighted=by_weight, everyone=False)
                    gap = moments.sums[0, 1, 1, i] / moments.lacking[i] - has.mean[i]
                    spread = np.sqrt(max(has.variance[i], 0.0) / has.number[i])
                    gaps.setdefault(claim.step, []).append(abs(gap) / max(spread, 1e-300))
                if standing.scaler is None and (claim.centers or claim.scales):
                    seen = moments.of(weighted=by_weight, everyone=claim.after_filling)
                    variance = seen.variance[i] / claim.factor**2
                    if claim.centers:
                        mean = (seen.mean[i] + origin[i] - claim.shift) / claim.factor
                        gaps.setdefault(claim.step, []).append(abs(mean) * np.sqrt(moments.count[i]))
                    elif variance > _SAME**2:
                        # Beside means it says little more, and of two values that are equally frequent nothing.
                        gaps.setdefault(claim.step, []).append(abs(variance - 1) * np.sqrt(moments.count[i] / 2))
        for path, each_gap in gaps.items():
            if path in steps and np.median(each_gap) < _NEAR:
                raise InputError(
                    f"The constants of the step {_called(path, steps[path])} are nearly, and not exactly, those of "
                    "these rows: it was fitted on these people and a few others, or a few of its people are missing "
                    "here. Pass the rows that it was fitted on; or fit all steps and the model on these; or, if its "
                    f"constants are of other people and known to everybody, say so: "
                    f"public_preprocessing=[{path.rpartition('.')[2]!r}] (on the command line, --public-preprocessing)."
                )


def _settled(claims: tuple[Claim, ...], position: int, found: _Standing, lacking: bool) -> bool:
    """Return whether a claim is counted, or makes no difference to what is."""
    claim, scaler = claims[position], found.scaler
    if claim.fills:
        return claim is found.filled or not lacking
    if scaler is None:
        return False
    # Whatever came before is undone by a step that centers and scales anew.
    undone = scaler.centers and scaler.scales and position < claims.index(found.halves[-1])
    return undone or any(claim is half for half in found.halves)


def _ties(undecided: Array, features: NDArray[np.intp], found: Sequence[_Standing]) -> bool:
    """Return whether a feature that these rows scaled is part of a direction that nothing decides."""
    if not undecided.size:
        return False
    part = np.abs(undecided / np.linalg.norm(undecided, axis=0)).max(axis=1)
    return any(each.scaler is not None and part[f] > _NOTHING for f, each in zip(features, found, strict=True))


def _scales(
    width: int,
    solved: SolvedSteps,
    noise: GaussianNoise,
    features: NDArray[np.intp],
    columns: tuple[tuple[int, ...], ...],
    origin: Array,
    moments: Moments,
    found: Sequence[_Standing],
) -> Scales:
    deviates, centered, by_weight = np.zeros(width, bool), np.zeros(width, bool), np.zeros(width, bool)
    share, factor, shift, center = np.zeros(width), np.ones(width), np.zeros(width), np.zeros(width)
    filled_deviation, filled_mean, having = np.zeros(width), np.zeros(width), np.ones(width)
    having[features] = moments.count
    for i, (f, each) in enumerate(zip(features, found, strict=True)):
        claim = each.scaler
        if claim is None:
            continue
        seen = moments.of(weighted=each.weighted, everyone=claim.after_filling)
        deviates[f] = claim.scales and seen.variance[i] > _SAME**2 * claim.factor**2
        centered[f] = claim.centers and solved.intercept
        by_weight[f], share[f], factor[f] = each.weighted, 1.0 / seen.number[i], claim.factor
        shift[f] = claim.shift
        center[f] = 0.0 if claim.centers else (seen.mean[i] + origin[i] - claim.shift) / claim.factor
        if each.filled is not None and claim.after_filling:
            weight = moments.sums[int(each.weighted), 1, 0, i]
            z = (moments.sums[0, 1, 1, i] / moments.lacking[i] + origin[i] - claim.shift) / claim.factor - center[f]
            filled_deviation[f], filled_mean[f] = weight * z / moments.count[i], weight / moments.count[i]
    at = [i for i, each in enumerate(found) if each.filled is not None]
    filled, outputs = features[at], solved.parameters.shape[1]
    pulls = np.zeros((0, solved.parameters.size))
    if at:
        pulls = solved.filled(filled, tuple(columns[i] for i in at)) / moments.count[at][:, None]
    penalty, active = solved.penalty, solved.active
    if active is not None and solved.intercept and active.absolute[-1] > 0:
        raise UnsupportedError(
            f"This {solved.estimator} has an L1 penalty on its intercept (liblinear has), behind a scaler or an "
            "imputer that was fitted on the same rows: whether the intercept is zero depends on their means. Fit with "
            'solver="saga"; or, if their constants are known to the attacker, name them in public_preprocessing=[...].'
        )
    return Scales(
        deviates=deviates,
        centered=centered,
        weighted=by_weight,
        share=share,
        factor=factor,
        shift=shift,
        center=center,
        filled_deviation=filled_deviation,
        filled_mean=filled_mean,
        penalty=np.array(penalty[:width]),
        push=np.zeros((width, outputs)) if active is None else (active.absolute * active.signs)[:width, None],
        lean=np.array(penalty[-1]) if solved.intercept else np.zeros(outputs),
        filled=filled,
        having=having,
        filled_pull=pulls,
        published=solved.published,
        intercept=solved.intercept,
        covariance=None if noise.covariance is None else np.asarray(noise.covariance),
    )
