"""Matrices that are never formed say what those that are do; sums over parts of a crowd what the whole does."""

import numpy as np
import pytest

from seepage.attackers import Composed, Crowd, Formed, Held


def composed(spread=3, people=5, numbers=6, values=4):
    rng = np.random.default_rng(0)
    outer = tuple((rng.normal(size=(people, numbers)), rng.normal(size=(people, values))) for _ in range(2))
    shapes = (people,), (numbers, values), (people, spread), (numbers, spread), (spread, values)
    return Composed(*(rng.normal(size=shape) for shape in shapes), outer)


@pytest.mark.parametrize("spread", [0, 3])
def test_what_is_not_formed_is_what_is(spread):
    slopes, rng = composed(spread), np.random.default_rng(1)
    i = 2
    plain = slopes.factor[i] * slopes.common + slopes.spread @ np.diag(slopes.weights[i]) @ slopes.reading
    plain = plain + sum(np.outer(p[i], t[i]) for p, t in slopes.outer)
    np.testing.assert_allclose(slopes.formed()[i], plain, rtol=1e-13)
    turn, p, t, d = (rng.normal(size=shape) for shape in ((6, 5), (5, 5), (5, 4), (5, 4, 2)))
    one, other = slopes.turned(turn).plus(p, t), Formed(slopes.formed()).turned(turn).plus(p, t)
    for some in (np.arange(5), np.array([3, 1])):
        for values in (np.arange(4), np.array([2, 0])):
            a, b = one.take(some).of(values), other.take(some).of(values)
            assert (len(a), a.width) == (len(b), b.width) == (len(some), len(values))
            np.testing.assert_allclose(a.grams(), b.grams(), rtol=1e-11)
            np.testing.assert_allclose(a.squares(), b.squares(), rtol=1e-11)
            np.testing.assert_allclose(a.back(p[some]), b.back(p[some]), rtol=1e-11)
            along = d[some][:, values]
            np.testing.assert_allclose(a.along(along), b.along(along), rtol=1e-11)


@pytest.mark.parametrize("tied", [1.0, 1e-3, 1e-5])
def test_sums_over_parts_lose_no_digits_where_numbers_nearly_determine_each_other(tied):
    rng = np.random.default_rng(2)
    moves = rng.exponential(size=(5000, 3)) @ np.diag([1.0, 1e6, 1e-6]) + [0, 0, 1e-3]
    moves = np.column_stack([moves, moves[:, 0] + tied * rng.normal(size=5000)])
    crowd = Crowd(Held(moves))
    slope = rng.normal(size=4) * moves.std(axis=0)
    seen = crowd.unknown(4000).without(moves[:1], Formed(slope[None, :, None]))
    rest = moves[1:] - moves[1:].mean(axis=0)
    # A plain orthogonalization of the others, eq. 12.1.
    root = np.linalg.qr(rest / moves.std(axis=0), mode="r") / np.sqrt(len(rest) - 1)
    along = np.linalg.solve(root.T, slope / moves.std(axis=0))
    white = np.linalg.solve(root.T, (rest / moves.std(axis=0)).T)
    assert seen.plain()[0, 0] == pytest.approx(along @ along / (4000 - 5), rel=1e-13 / tied)
    # Everybody's cubes, added up plainly: one of 5,000 is not much of them.
    cubes = np.einsum("an,bn,cn->abc", white, white, white, optimize=True) / len(rest)
    bent = along @ np.einsum("acd,bcd->ab", cubes, cubes) @ along / (along @ along) / (2 * 4000)
    assert seen.skewness()[0, 0] - 1 == pytest.approx(bent, rel=0.01)
