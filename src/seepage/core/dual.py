"""Forward-mode derivatives of functions that are written in NumPy.

A `Dual` is an array and its derivative along one direction. Functions of NumPy and ``scipy.special`` that have a rule
below accept duals in the place of arrays, and return duals. Duals nest, so derivatives can be differentiated again. A
function without a rule is refused by name.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from seepage.errors import UnsupportedError

_levels = itertools.count(1)


class Dual(np.lib.mixins.NDArrayOperatorsMixin):
    """An array and its derivative along one direction.

    Attributes
    ----------
    value, tangent : array or Dual
        Of the same shape. They are duals themselves where derivatives nest.
    level : int
        Number of the call of `derivative_along` that made the dual; the innermost call has the largest.
    """

    def __init__(self, value: Any, tangent: Any, level: int) -> None:
        self.value, self.tangent, self.level = value, tangent, level

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def T(self) -> "Dual":  # noqa: N802 - NumPy's name
        return self.linear(np.transpose)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> "Dual":
        return self.linear(lambda array: array[index])

    def reshape(self, *shape: Any) -> "Dual":
        return self.linear(lambda array: array.reshape(*shape))

    def sum(self, axis: Any = None, keepdims: bool = False) -> "Dual":
        return self.linear(lambda array: array.sum(axis=axis, keepdims=keepdims))

    def mean(self, axis: Any = None) -> "Dual":
        return self.linear(lambda array: array.mean(axis=axis))

    def linear(self, function: Callable[[Any], Any]) -> "Dual":
        """Apply a linear function."""
        return Dual(function(self.value), function(self.tangent), self.level)

    def __array_ufunc__(self, ufunc: Any, method: str, *arguments: Any, **options: Any) -> "Dual":
        if method != "__call__" or ufunc not in SLOPES:
            name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            raise UnsupportedError(f"{name} has no rule for derivatives. Write the formula with other functions.")
        level = _innermost(arguments)
        values = [_value(argument, level) for argument in arguments]
        value = ufunc(*values, **options)
        tangents = [
            rule(argument.tangent, value, *values)
            for argument, rule in zip(arguments, SLOPES[ufunc], strict=True)
            if _is_dual(argument, level)
        ]
        tangent = tangents[0] if len(tangents) == 1 else tangents[0] + tangents[1]
        return Dual(
            value, tangent if np.shape(tangent) == np.shape(value) else tangent + np.zeros(np.shape(value)), level
        )

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function in LINEAR:
            return arguments[0].linear(lambda array: function(array, *arguments[1:], **options))
        if function in RULES:
            return RULES[function](*arguments, **options)
        raise UnsupportedError(
            f"{function.__name__} has no rule for derivatives. Write the formula with other functions."
        )


def derivative_along(function: Callable[..., Any], arguments: Sequence[Any], directions: Sequence[Any]) -> Any:
    """Return a function's value, and its derivative along one direction.

    Parameters
    ----------
    function : callable
    arguments : sequence of array
    directions : sequence of array or None
        One for each argument, of its shape; None where the argument is constant.
    """
    level = next(_levels)
    result = function(
        *(
            argument if direction is None else Dual(argument, direction, level)
            for argument, direction in zip(arguments, directions, strict=True)
        )
    )
    if _is_dual(result, level):
        return result.value, result.tangent
    return result, np.zeros(np.shape(result))


def slope(function: Callable[..., Any], position: int = 0) -> Callable[..., Any]:
    """Return the derivative of an elementwise function in one of its arguments, as a function."""

    def derivative(*arguments: Any) -> Any:
        directions: list[Any] = [None] * len(arguments)
        directions[position] = np.ones(np.shape(arguments[position]))
        return derivative_along(function, arguments, directions)[1]

    return derivative


def jacobian(function: Callable[[Any], Any], at: Any) -> Any:
    """Return the derivatives of a function's values, flattened, in each entry of its argument: a matrix."""
    at = np.asarray(at, dtype=float)
    columns = []
    for direction in np.eye(at.size):
        _, tangent = derivative_along(function, (at,), (direction.reshape(at.shape),))
        columns.append(np.reshape(tangent, (-1,)))
    return np.stack(columns, axis=1)


def _is_dual(argument: Any, level: int) -> bool:
    return isinstance(argument, Dual) and argument.level == level


def _innermost(arguments: Sequence[Any]) -> int:
    return max(argument.level for argument in arguments if isinstance(argument, Dual))


def _value(argument: Any, level: int) -> Any:
    return argument.value if _is_dual(argument, level) else argument


def _tangent(argument: Any, level: int) -> Any:
    return argument.tangent if _is_dual(argument, level) else np.zeros(np.shape(argument))


def _multilinear(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the product rule of a function that is linear in each of its array arguments."""

    def rule(*arguments: Any, **options: Any) -> Dual:
        level = _innermost(arguments)
        values = [_value(argument, level) for argument in arguments]
        tangents = [
            function(*values[:place], argument.tangent, *values[place + 1 :], **options)
            for place, argument in enumerate(arguments)
            if _is_dual(argument, level)
        ]
        return Dual(function(*values, **options), sum(tangents), level)

    return rule


def _joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a function that is linear in a list of arrays."""

    def rule(arrays: Sequence[Any], *arguments: Any, **options: Any) -> Dual:
        level = _innermost(arrays)
        values = [_value(array, level) for array in arrays]
        tangents = [_tangent(array, level) for array in arrays]
        return Dual(function(values, *arguments, **options), function(tangents, *arguments, **options), level)

    return rule


def _where(condition: Any, first: Any, second: Any) -> Dual:
    level = _innermost((first, second))
    value = np.where(condition, _value(first, level), _value(second, level))
    return Dual(value, np.where(condition, _tangent(first, level), _tangent(second, level)), level)


def _inverse(matrix: Dual) -> Dual:
    inverse = np.linalg.inv(matrix.value)
    return Dual(inverse, -inverse @ matrix.tangent @ inverse, matrix.level)


def _solve(matrix: Any, right: Any) -> Dual:
    level = _innermost((matrix, right))
    solution = np.linalg.solve(_value(matrix, level), _value(right, level))
    moved = _tangent(right, level) - _tangent(matrix, level) @ solution
    return Dual(solution, np.linalg.solve(_value(matrix, level), moved), level)


def _density(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def _polygamma(order: int, x: Any) -> Any:
    if isinstance(x, Dual):
        return Dual(_polygamma(order, x.value), _polygamma(order + 1, x.value) * x.tangent, x.level)
    # The function of SciPy computes psi besides.
    return (-1.0) ** (order + 1) * special.factorial(order) * special.zeta(order + 1, x)


def _chain(derivative: Callable[[Any], Any]) -> tuple[Callable[..., Any]]:
    return (lambda tangent, value, x: tangent * derivative(x),)


SLOPES: dict[Any, tuple[Callable[..., Any], ...]] = {
    # One function for each argument of a ufunc: of the argument's tangent, the ufunc's value, and all arguments.
    np.add: (lambda d, v, a, b: d, lambda d, v, a, b: d),
    np.subtract: (lambda d, v, a, b: d, lambda d, v, a, b: -d),
    np.multiply: (lambda d, v, a, b: d * b, lambda d, v, a, b: a * d),
    np.divide: (lambda d, v, a, b: d / b, lambda d, v, a, b: -v * d / b),
    np.matmul: (lambda d, v, a, b: d @ b, lambda d, v, a, b: a @ d),
    np.power: (lambda d, v, a, b: d * b * a ** (b - 1), lambda d, v, a, b: d * np.log(a) * v),
    np.logaddexp: (lambda d, v, a, b: d * special.expit(a - b), lambda d, v, a, b: d * special.expit(b - a)),
    np.arctan2: (lambda d, v, a, b: d * b / (a * a + b * b), lambda d, v, a, b: -d * a / (a * a + b * b)),
    np.negative: (lambda d, v, a: -d,),
    np.exp: (lambda d, v, x: d * v,),
    np.expm1: _chain(np.exp),
    np.log: _chain(lambda x: 1 / x),
    np.log2: _chain(lambda x: 1 / (x * np.log(2.0))),
    np.log10: _chain(lambda x: 1 / (x * np.log(10.0))),
    np.log1p: _chain(lambda x: 1 / (1 + x)),
    np.sqrt: (lambda d, v, x: 0.5 * d / v,),
    np.square: _chain(lambda x: 2 * x),
    np.reciprocal: (lambda d, v, x: -d * v * v,),
    np.sin: _chain(np.cos),
    np.cos: _chain(lambda x: -np.sin(x)),
    np.arctan: _chain(lambda x: 1 / (1 + x * x)),
    np.tanh: (lambda d, v, x: d * (1 - v * v),),
    special.expit: (lambda d, v, x: d * v * special.expit(-x),),
    special.log_expit: _chain(lambda x: special.expit(-x)),
    special.ndtr: _chain(_density),
    special.log_ndtr: (lambda d, v, x: d * np.exp(-0.5 * x * x - v) / np.sqrt(2 * np.pi),),
    special.gammaln: _chain(special.psi),
    special.psi: _chain(lambda x: _polygamma(1, x)),
}

LINEAR = {
    np.broadcast_to,
    np.cumsum,
    np.diag,
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.mean,
    np.ravel,
    np.repeat,
    np.reshape,
    np.squeeze,
    np.sum,
    np.swapaxes,
    np.take,
    np.tile,
    np.trace,
    np.transpose,
}

RULES: dict[Any, Callable[..., Any]] = {
    np.concatenate: _joined(np.concatenate),
    np.column_stack: _joined(np.column_stack),
    np.hstack: _joined(np.hstack),
    np.stack: _joined(np.stack),
    np.vstack: _joined(np.vstack),
    np.dot: _multilinear(np.dot),
    np.einsum: lambda formula, *arrays: _multilinear(lambda *operands: np.einsum(formula, *operands))(*arrays),
    np.kron: _multilinear(np.kron),
    np.outer: _multilinear(np.outer),
    np.linalg.inv: _inverse,
    np.linalg.solve: _solve,
    np.shape: lambda array: array.shape,
    np.where: _where,
}
