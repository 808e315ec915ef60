"""Derivatives of NumPy functions, against finite differences and closed forms."""

import numpy as np
import pytest
from scipy import special

from seepage.core import derivative_along, jacobian, slope
from seepage.core.dual import LINEAR, RULES, SLOPES
from seepage.errors import UnsupportedError

random = np.random.default_rng(0)
X, Y = random.uniform(0.3, 0.9, (2, 3, 3))
DX, DY = random.normal(size=(2, 3, 3))

STRUCTURAL = {
    np.broadcast_to: lambda x: np.broadcast_to(x, (2, 3, 3)),
    np.cumsum: lambda x: np.cumsum(x, axis=1),
    np.diag: np.diag,
    np.diagonal: np.diagonal,
    np.expand_dims: lambda x: np.expand_dims(x, 1),
    np.flip: lambda x: np.flip(x, axis=0),
    np.mean: lambda x: np.mean(x, axis=0),
    np.ravel: np.ravel,
    np.repeat: lambda x: np.repeat(x, 2, axis=0),
    np.reshape: lambda x: np.reshape(x, (9, 1)),
    np.squeeze: lambda x: np.squeeze(x[None]),
    np.sum: lambda x: np.sum(x, axis=1, keepdims=True),
    np.swapaxes: lambda x: np.swapaxes(x, 0, 1),
    np.take: lambda x: np.take(x, [2, 0], axis=1),
    np.tile: lambda x: np.tile(x, (2, 1)),
    np.trace: np.trace,
    np.transpose: np.transpose,
    np.concatenate: lambda x: np.concatenate([x, Y, x * x], axis=1),
    np.column_stack: lambda x: np.column_stack([x, np.ones(3)]),
    np.hstack: lambda x: np.hstack([x, Y]),
    np.stack: lambda x: np.stack([x, Y], axis=1),
    np.vstack: lambda x: np.vstack([Y, x]),
    np.dot: lambda x: np.dot(x, np.dot(Y, x)),
    np.einsum: lambda x: np.einsum("ij,jk,ik->ik", x, Y, x),
    np.kron: lambda x: np.kron(x, Y),
    np.outer: lambda x: np.outer(x, x),
    np.linalg.inv: np.linalg.inv,
    np.linalg.solve: lambda x: np.linalg.solve(x + np.eye(3), Y @ x),
    np.shape: lambda x: x * np.shape(x)[0],
    np.where: lambda x: np.where(Y > 0.6, x * x, Y),
}


def differences(function, x, dx, step=1e-6):
    return (function(x + step * dx) - function(x - step * dx)) / (2 * step)


def test_every_function_with_a_rule_is_tested():
    assert set(STRUCTURAL) == LINEAR | set(RULES)


@pytest.mark.parametrize("ufunc", SLOPES, ids=lambda ufunc: ufunc.__name__)
def test_slopes_of_ufuncs(ufunc):
    if ufunc.nin == 1:
        value, tangent = derivative_along(ufunc, (X,), (DX,))
        expected = differences(ufunc, X, DX)
    else:
        value, tangent = derivative_along(ufunc, (X, Y), (DX, DY))
        expected = differences(lambda x: ufunc(x, Y), X, DX) + differences(lambda y: ufunc(X, y), Y, DY)
    np.testing.assert_allclose(tangent, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(np.shape(value), np.shape(tangent))


@pytest.mark.parametrize("function", STRUCTURAL, ids=lambda function: function.__name__)
def test_functions_of_arrays(function):
    formula = STRUCTURAL[function]
    value, tangent = derivative_along(formula, (X,), (DX,))
    np.testing.assert_array_equal(value, formula(X))
    np.testing.assert_allclose(tangent, differences(formula, X, DX), rtol=1e-6, atol=1e-8)


def test_third_derivative_of_a_loss():
    m = np.linspace(-40.0, 40.0, 9)
    third = slope(slope(slope(lambda m, y: np.logaddexp(0.0, m) - y * m)))
    p, q = special.expit(m), special.expit(-m)
    np.testing.assert_allclose(third(m, 0.3), p * q * (q - p), rtol=1e-12)


def test_second_derivative_of_log_gamma():
    x = np.array([0.2, 1.0, 7.5])
    np.testing.assert_allclose(slope(slope(special.gammaln))(x), special.polygamma(1, x), rtol=1e-13)
    np.testing.assert_allclose(slope(slope(slope(special.gammaln)))(x), special.polygamma(2, x), rtol=1e-13)


def test_nested_derivatives_do_not_mix():
    # d/dx [x * d/dy (x + y)] is 1, and 2 where the two directions are mistaken for each other.
    outer = slope(lambda x: x * slope(lambda y: x + y)(np.ones(())))
    assert outer(np.ones(())) == 1.0


def test_jacobian_is_a_matrix():
    np.testing.assert_allclose(jacobian(lambda x: Y @ x, X), np.kron(Y, np.eye(3)), rtol=1e-15)


@pytest.mark.parametrize("function", [np.median, np.sort, np.floor, np.abs, np.add.reduce, lambda x: x > 0.5])
def test_a_function_without_a_rule_is_refused(function):
    with pytest.raises(UnsupportedError, match="has no rule for derivatives"):
        derivative_along(function, (X,), (DX,))
