"""A covariance that is made from the Hessian, and how it moves when the Hessian does.

In coordinates in which the Hessian is the identity and B is diagonal, B = diag(lambda^2), the covariance of eq. 2.18 is
Sigma = s^2 diag(lambda). A change dH of the Hessian changes it, in units of itself, by (eq. 2.19)

    E = Sigma^(-1/2) dSigma Sigma^(-1/2) = M o dH - sum_j F_j <G_j, dH>,

o being the product of entries, with

    M_ab = ((kappa + l_a l_b) / (l_a + l_b) - l_a - l_b) / sqrt(l_a l_b),     l = lambda,
    G_j  = T_j T_j^T,     F_j = (balance c_j / h_j G_j + (1 + balance) share / p c_j Id) o W,
    W_ab = 1 / ((l_a + l_b) sqrt(l_a l_b)).

For the inverse Hessian alone it is  E = -dH.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh

from seepage._facts import Assumption, given
from seepage._noise import GaussianNoise
from seepage._shapes import Balanced, InverseHessian, PerUnit, Shape
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.linear.columns import Affine, Curves, feature_names
from seepage.linear.information._preprocessing import columns_of, lacking
from seepage.linear.information._scales import Scales
from seepage.linear.objective import Minimizer, VectorLoss, derivatives
from seepage.linear.rows import Batch, Frame, Rows

Array = NDArray[np.float64]

# Up to this many parameters every entry of E is computed; of more, its length is bounded from above.
MOST_PARAMETERS = 40
# Numbers in the largest temporary.
_MOST_NUMBERS = 2**22
# Products of an operator with vectors, after which its length is known well enough to be doubled.
_POWER_STEPS = 6


@dataclass(frozen=True, eq=False)
class MovingShape:
    """How the covariance moves with the Hessian, and the Hessian with the fit."""

    axes: Array
    """From rows in the frame to coordinates in which H is the identity and B is diagonal, shape (q, q)."""
    roots: Array
    """lambda, shape (q,)."""
    factors: Array
    """M, shape (q, q)."""
    columns: Array
    """The T of all attributes that the shape is made for, side by side, shape (q, coordinates)."""
    starts: NDArray[np.intp]
    """The first coordinate of each attribute."""
    own: Array
    """balance c_j / h_j of each attribute."""
    shared: Array
    """(1 + balance) share / p c_j of each attribute."""
    third: Array | None
    """How H moves with the fit: sum a' x (x) x (x) x, shape (q, q, q); None where it does not, or where q is large."""
    length: float
    """Where `third` is not held, no less than the length of that change of H for a move of length 1."""
    pulled: Array
    """There, how t . dH t of each coordinate moves with the fit, shape (coordinates, q)."""
    outputs: int
    """How many outputs have a noise of this shape each."""
    filled: Array
    """How H moves with the mean that an imputer filled in, a unit of each of its features, shape (filled, q, q)."""
    floors: Array
    """Of each attribute that the shape is made for."""
    share: float
    balance: float

    @property
    def is_exact(self) -> bool:
        """Whether every entry of E is computed."""
        return len(self.roots) <= MOST_PARAMETERS

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The entries of a symmetric matrix, each once."""
        return np.triu_indices(len(self.roots))

    @cached_property
    def spread(self) -> Array:
        """W, shape (q, q)."""
        return np.asarray(1.0 / ((self.roots[:, None] + self.roots) * np.sqrt(np.outer(self.roots, self.roots))))

    @cached_property
    def _answers(self) -> tuple[Array, Array]:
        """G_j, for a sum over pairs, and F_j, each of shape (attributes, pairs)."""
        a, b = self.pairs
        each = self.columns[a] * self.columns[b]
        grams = np.add.reduceat(each, self.starts, axis=1).T if len(self.starts) else np.empty((0, len(a)))
        answers = self.own[:, None] * grams + self.shared[:, None] * (a == b)
        return grams * np.where(a == b, 1.0, 2.0), answers * self.spread[a, b]

    def moved(self, change: Array) -> Array:
        """Return E / sqrt(2) for entries of dH, both of shape (..., pairs): their squares add up to the information."""
        a, b = self.pairs
        grams, answers = self._answers
        # 1/2 tr E^2 counts entries beside the diagonal twice.
        weights = np.sqrt(self.outputs) * np.where(a == b, np.sqrt(0.5), 1.0)
        found = change * self.factors[a, b]
        if len(answers):
            found -= (change @ grams.T) @ answers
        return np.asarray(found * weights)

    def anew(self, change: Array) -> Array:
        """Return the covariance in units of the one that is, where H is Id + change: eq. 2.18, nothing linearized.

        Parameters
        ----------
        change : ndarray of shape (n, q, q)
        """
        q, columns = len(self.roots), self.columns
        inverse = np.linalg.inv(np.eye(q) + change)
        inverse = 0.5 * (inverse + inverse.transpose(0, 2, 1))
        if not columns.size:
            return np.asarray(inverse)
        # R R^T = H^-1, where H # B = R^-T (R^T B R)^(1/2) R^-1.
        root = np.linalg.cholesky(inverse)
        reached = root.transpose(0, 2, 1) @ columns
        size = np.add.reduceat(np.einsum("nac,nac->nc", reached, reached), self.starts, axis=1)
        weight = (size * self.floors**2) ** self.balance * self.floors**2
        kappa = self.share * np.einsum("nj,nj->n", weight, size) / q
        count = np.diff(np.append(self.starts, columns.shape[1]))
        weighted = reached * np.repeat(weight, count, axis=1)[:, None]
        values, turn = np.linalg.eigh(weighted @ reached.transpose(0, 2, 1))
        half = (root @ turn) * np.sqrt(np.sqrt(np.maximum(values, 0.0) + kappa[:, None]))[:, None]
        half /= np.sqrt(self.roots)[:, None]
        return np.asarray(half @ half.transpose(0, 2, 1))

    @cached_property
    def weights(self) -> Array:
        """Of each coordinate, what bounds the answer to t . dH t: eq. 2.21."""
        count = np.diff(np.append(self.starts, self.columns.shape[1]))
        return np.repeat(self.own * count, count)

    @cached_property
    def answer(self) -> float:
        """No less than the length of the answer to weighted changes of length 1, through attributes' own weights."""
        if not self.columns.size:
            return 0.0
        # W_ab <= 1 / (2 l_a l_b), entry by entry.
        near = self.columns / self.roots[:, None]
        return 0.5 * float(np.sqrt(np.linalg.norm((near.T @ near) ** 2, 2)))

    @cached_property
    def total(self) -> Array:
        """The sum of shared_j G_j: what moves the Hessian's share of B, shape (q, q)."""
        count = np.diff(np.append(self.starts, self.columns.shape[1]))
        return np.asarray((self.columns * np.repeat(self.shared, count)) @ self.columns.T)

    @cached_property
    def total_answer(self) -> float:
        """The length of the answer to a change of 1 in that."""
        return float(np.linalg.norm(self.spread.diagonal()))


@dataclass(frozen=True, eq=False)
class AddingThird:
    """Adds up  sum a' x (x) x (x) x, or its products with some vectors; holds no rows, so that it can travel."""

    loss: VectorLoss
    frame: Frame
    position: Array
    axes: Array
    squared: Array | None = None
    """Columns t: the sum of  a' (x . t)^2 x  of each, shape (q, columns)."""
    once: Array | None = None
    """A vector v: the sum of  a' (x . v) x x^T."""
    twice: Array | None = None
    """A matrix Y: the sum of  a' (x . Y x) x."""

    def __call__(self, batch: Batch) -> Array:
        q = self.axes.shape[1]
        rows = self.frame.rows(batch)
        x, bent = rows.project(self.axes), _third(rows, self.loss, self.position)
        if self.squared is not None:
            return np.asarray(((x @ self.squared) ** 2).T @ (x * bent[:, None]))
        if self.once is not None:
            return np.asarray(x.T @ (x * (bent * (x @ self.once))[:, None]))
        if self.twice is not None:
            return np.asarray(x.T @ (bent * np.einsum("na,na->n", x @ self.twice, x)))
        total = np.zeros((q, q * q))
        step = max(_MOST_NUMBERS // q**2, 1)
        for start in range(0, len(x), step):
            some = x[start : start + step]
            squares = (some[:, :, None] * some[:, None, :]).reshape(len(some), -1)
            total += (some * bent[start : start + step, None]).T @ squares
        return total.reshape(q, q, q)


@dataclass(frozen=True, eq=False)
class AddingFilledCurvature:
    """Adds up how the Hessian moves when what was filled into cells does; holds no rows, so that it can travel."""

    features: NDArray[np.intp]
    columns: tuple[tuple[int, ...], ...]
    """The raw columns that each is made of."""
    loss: VectorLoss
    frame: Frame
    position: Array
    theta: Array
    """Shape (features,)."""
    axes: Array

    def __call__(self, batch: Batch) -> Array:
        q = self.axes.shape[1]
        found = np.zeros((len(self.features), q, q))
        for i, lacks in enumerate(lacking(batch, self.columns).T):
            if not lacks.any():
                continue
            rows = self.frame.rows(batch.take(lacks))
            _, curvature, _ = derivatives(rows, self.loss, rows.margins(self.position))
            x, feature = rows.project(self.axes), self.features[i]
            own = self.axes[feature] if self.frame.axes is None else self.frame.axes[feature] @ self.axes
            along = np.outer(own, curvature[:, 0, 0] @ x)
            found[i] = along + along.T
            if not self.loss.quadratic:
                found[i] += self.theta[i] * (x.T @ (x * _third(rows, self.loss, self.position)[:, None]))
        return found


def _third(rows: Batch, loss: VectorLoss, position: Array) -> Array:
    """Return the third derivative of each row's loss, its weight included."""
    found = loss.bend(rows.margins(position), rows.labels, np.ones(1))[:, 0, 0]
    return found if rows.weights is None else found * rows.weights


@dataclass(frozen=True, eq=False)
class Shaping:
    """A fitted model with the rows that it was fitted on, as far as the shape of its noise depends on them."""

    loss: VectorLoss
    minimizer: Minimizer
    affine: Affine
    names: tuple[str, ...]
    """The raw columns."""
    intercept: bool
    outputs: int
    """How many are published."""
    rows: Rows
    scales: Scales | None
    """How a scaler that was fitted on the same rows moves."""
    fitted: tuple[str, ...]
    """What such steps are called."""
    _pulled: dict[tuple[str, ...], Array] = field(default_factory=dict, repr=False)
    """What was added up already, for some attributes."""

    def noise(self, noise: GaussianNoise) -> tuple[GaussianNoise, MovingShape | None]:
        """Return a noise with the covariance that its shape makes of the rows, and how that moves with them."""
        shape = noise.shape
        if isinstance(shape, PerUnit):
            features = feature_names(self.affine, self.names)
            covariance = shape.covariance(features, self.intercept, self.outputs)
            return replace(noise, covariance=covariance), None
        if shape is None or not shape.follows_rows:
            return noise, None
        self._check(shape)
        moving = self._hessian() if isinstance(shape, InverseHessian) else self._balanced(shape)
        matrix = self.minimizer.frame.matrix(len(self.minimizer.parameters))
        root = matrix @ moving.axes * np.sqrt(moving.roots)
        covariance = shape.scale**2 * (root @ root.T)
        each = 0.5 * (covariance + covariance.T)
        return replace(noise, covariance=np.kron(np.eye(self.outputs), each)), moving

    @property
    def _outputs_are_alike(self) -> bool:
        """Whether the Hessian is the same block for each output."""
        if not self.loss.quadratic or self.minimizer.free is not None:
            return False
        q, outputs = self.minimizer.position.shape
        blocks = self.minimizer.inverse.reshape(outputs, q, outputs, q)
        first = blocks[0, :, 0]
        return outputs == self.outputs and all(
            np.allclose(blocks[c, :, d], first if c == d else 0.0, rtol=1e-9, atol=1e-12 * np.abs(first).max())
            for c in range(outputs)
            for d in range(outputs)
        )

    @cached_property
    def _root(self) -> Array:
        """R with H^-1 = R R^T: rows times R have H = Id. Outputs of squared loss have the same."""
        q = len(self.minimizer.position)
        inverse = self.minimizer.inverse[:q, :q]
        return np.asarray(cholesky(0.5 * (inverse + inverse.T), lower=True))

    def _added(self, **what: Array) -> Array:
        adding = AddingThird(self.loss, self.minimizer.frame, self.minimizer.position, self._root, **what)
        return np.asarray(self.rows.total(adding))

    @cached_property
    def _third(self) -> Array | None:
        """Sum a' x (x) x (x) x  of rows times R."""
        if self.loss.quadratic or len(self._root) > MOST_PARAMETERS:
            return None
        return self._added()

    @cached_property
    def _length(self) -> float:
        """Where there are too many of those, no less than the length of dH for a move of the fit of length 1."""
        if self.loss.quadratic or len(self._root) <= MOST_PARAMETERS:
            return 0.0
        vector, largest = np.random.default_rng(0).normal(size=len(self._root)), 0.0
        for _ in range(_POWER_STEPS):
            vector = self._added(twice=self._added(once=vector / np.linalg.norm(vector)))
            largest = float(np.sqrt(np.linalg.norm(vector)))
            if not largest:
                break
        # Powers come near the largest from below.
        return 2.0 * largest

    @cached_property
    def _filled(self) -> Array:
        """How H moves with what was filled into cells, seen by rows times R, shape (filled, q, q)."""
        scales = self.scales
        if scales is None or not len(scales.filled):
            return np.empty((0, len(self._root), len(self._root)))
        found = self.minimizer
        columns, theta = columns_of(self.affine, scales.filled), found.parameters[scales.filled, 0]
        adding = AddingFilledCurvature(
            scales.filled, columns, self.loss, found.frame, found.position, theta, self._root
        )
        return np.asarray(self.rows.total(adding)) / scales.having[scales.filled][:, None, None]

    def _hessian(self) -> MovingShape:
        q = len(self._root)
        nothing, none = np.empty(0), np.empty((q, 0))
        return self._moving(np.eye(q), np.ones(q), -np.ones((q, q)), none, nothing.astype(np.intp), nothing, nothing)

    def _balanced(self, shape: Shape) -> MovingShape:
        assert isinstance(shape, Balanced)
        blocks, floors = self._columns(shape)
        q, count = len(self._root), np.array([each.shape[1] for each in blocks])
        starts = np.cumsum(count) - count
        columns = np.hstack(blocks)
        size = np.add.reduceat((columns**2).sum(axis=0), starts)
        weight = (size * floors**2) ** shape.balance * floors**2
        kappa = shape.share * float(weight @ size) / q
        values, turn = eigh((columns * np.repeat(weight, count)) @ columns.T)
        roots = np.sqrt(np.maximum(values, 0.0) + kappa)
        sums = roots[:, None] + roots
        factors = ((kappa + np.outer(roots, roots)) / sums - sums) / np.sqrt(np.outer(roots, roots))
        shared = (1 + shape.balance) * shape.share / q * weight
        return self._moving(
            turn, roots, factors, turn.T @ columns, starts, shape.balance * weight / size, shared, shape, floors
        )

    def _moving(
        self,
        turn: Array,
        roots: Array,
        factors: Array,
        columns: Array,
        starts: NDArray[np.intp],
        own: Array,
        shared: Array,
        shape: Balanced | None = None,
        floors: Array | None = None,
    ) -> MovingShape:
        """Return a shape, with all that was added up over the rows turned to where it is diagonal."""
        third, pulled = self._third, np.zeros((columns.shape[1], len(roots)))
        names = () if shape is None else tuple(shape.floors)
        if third is not None:
            third = np.asarray(np.einsum("abc,ai,bj,ck->ijk", third, turn, turn, turn, optimize=True))
        elif not self.loss.quadratic and columns.size:
            if names not in self._pulled:
                self._pulled[names] = self._added(squared=turn @ columns)
            pulled = self._pulled[names] @ turn
        filled = turn.T @ self._filled @ turn
        axes = self._root @ turn
        return MovingShape(
            axes,
            roots,
            factors,
            columns,
            starts,
            own,
            shared,
            third,
            self._length,
            pulled,
            self.outputs,
            filled,
            np.empty(0) if floors is None else floors,
            0.0 if shape is None else shape.share,
            0.0 if shape is None else shape.balance,
        )

    def _columns(self, shape: Balanced) -> tuple[list[Array], Array]:
        """Return T_j where H is the identity, for each attribute that reaches the model, and their floors."""
        found, floors, axes = [], [], self.minimizer.frame.axes
        for name, floor in shape.floors.items():
            cut = self.affine.of_columns([self.names.index(name)])
            bent = Curves.of(self.affine, cut.coordinates)
            if bent is not None and len(bent.chosen):
                raise UnsupportedError(
                    f"The noise's shape ({shape.called}) is made for {name!r}, which a step before this model bends: "
                    "how it reaches the features differs from row to row. Give shape='hessian', a scale, or a "
                    "covariance that was made from public rows (FromPublicRows of seepage.release)."
                )
            matrix = cut.matrix.toarray()
            if self.intercept:
                matrix = np.vstack([matrix, np.zeros((1, matrix.shape[1]))])
            if matrix.any():
                found.append(self._root.T @ (matrix if axes is None else axes.T @ matrix))
                floors.append(floor)
        if not found:
            raise InputError(f"None of {list(shape.floors)} reaches the model: there is nothing to hide from it.")
        return found, np.array(floors)

    def _check(self, shape: Shape) -> None:
        """Refuse what is not known how to count, and name the way out."""
        way_out = "Noise of one scale, or a covariance that was made from public rows, can be measured here."
        if self.loss.outputs > 1 and not self._outputs_are_alike:
            raise UnsupportedError(
                f"A noise that takes its shape from the rows ({shape.called}) is measured for models with one output, "
                "or with several that have one Hessian (squared loss and one penalty), and the outputs of this "
                f"{self.minimizer.estimator} share theirs or have different ones. {way_out}"
            )
        if self.minimizer.active is not None:
            raise UnsupportedError(
                f"A noise that takes its shape from the rows ({shape.called}) would have none for the coefficients "
                f"that the L1 penalty of this {self.minimizer.estimator} keeps at zero, and a zero without noise is a "
                f"release of its own. {way_out}"
            )
        if self.minimizer.undecided.size:
            raise UnsupportedError(
                "Several parameters fit this data equally well, so the Hessian has no inverse that could shape the "
                f"noise. Fit with a penalty, or drop one level of each category. {way_out}"
            )
        if self.scales is not None and self.scales.lean.any():
            raise UnsupportedError(
                f"This {self.minimizer.estimator} has a penalty on its intercept (liblinear has), behind steps that "
                "were fitted on the same rows: how their means enter the shape of the noise is not counted. Fit with "
                f'solver="lbfgs". {way_out}'
            )
        if len(self._root) > MOST_PARAMETERS and (self.scales is not None or self.affine.bends or self.outputs > 1):
            raise UnansweredError(
                f"What the shape of a noise ({shape.called}) tells is bounded for models of more than "
                f"{MOST_PARAMETERS} parameters, and this bound is for one output right behind affine columns; steps "
                f"that were fitted on the same rows: {list(self.fitted)}. {way_out}"
            )
        if isinstance(shape, Balanced):
            unknown = [name for name in shape.floors if name not in self.names]
            if unknown:
                raise InputError(f"The noise's shape names {unknown[0]!r}, which is no column: {list(self.names)} are.")


def noise_assumptions(noise: GaussianNoise, shape: MovingShape | None, estimator: str) -> tuple[Assumption, ...]:
    """Return what is published with what noise, and where its shape comes from."""
    published = "Only the parameters of this {estimator} are published, once, with Gaussian noise of"
    names = {"estimator": estimator}
    if noise.scale is not None:
        return (Assumption("release", f"{published} scale {{scale}}.", {"scale": given(noise.scale, "g")}, names),)
    if noise.shape is None:
        return (Assumption("release", f"{published} the given covariance.", names=names),)
    scale, rule = {"scale": given(noise.shape.scale, "g")}, {**names, "rule": noise.shape.rule()}
    release = Assumption("release", f"{published} scale {{scale}} and this shape: {{rule}}", scale, rule)
    if shape is None:
        return (release,)
    told = "counted" if shape.is_exact else "counted, rounded up to a bound"
    return release, Assumption(
        "shape",
        "The covariance of the noise is made from the rows. It is used, not printed, and what it tells about them is "
        f"{told}.",
    )
