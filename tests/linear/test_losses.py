"""Slopes and curvatures by hand are those of the formulas, also where one minus a probability is below rounding."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.linear.objective import Logistic, Loss, Softmax, Squared


@pytest.mark.parametrize("loss", [Squared(), Squared(copies=3), Logistic(), Logistic(copies=3), Softmax(2), Softmax(5)])
def test_derivatives_by_hand_are_those_of_the_formula(loss):
    class Plain(Loss):
        margins, label_values, formula = loss.margins, loss.label_values, loss.formula

    random, plain = np.random.default_rng(0), Plain(copies=loss.copies)
    margins, direction = 3 * random.normal(size=(2, 40, loss.outputs))
    own = random.integers(loss.classes if isinstance(loss, Softmax) else 2, size=(40, loss.outputs))
    labels = loss.basis[own[:, 0]] if isinstance(loss, Softmax) else own * 1.0
    pairs = [
        *zip(loss.derivatives(margins, labels), plain.derivatives(margins, labels), strict=True),
        (loss.slopes(margins[:, None], labels), plain.slopes(margins[:, None], labels)),
        (loss.bend(margins, labels, direction), plain.bend(margins, labels, direction)),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=200, deadline=None)
@given(margin=st.floats(-700, 700), label=st.sampled_from([0.0, 1.0]))
def test_logistic_derivatives_keep_their_digits_on_both_sides(margin, label):
    found = Logistic().derivatives(np.array([[margin]]), np.array([[label]]))
    with mpmath.workdps(400):
        share = 1 / (1 + mpmath.exp(-mpmath.mpf(margin)))
        np.testing.assert_allclose(found.slope[0, 0], float(share - label), rtol=1e-14)
        np.testing.assert_allclose(found.curvature[0, 0, 0], float(share * (1 - share)), rtol=1e-14)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), classes=st.integers(3, 6), reach=st.floats(0, 300))
def test_softmax_derivatives_keep_their_digits_however_sure_the_model_is(seed, classes, reach):
    random, loss = np.random.default_rng(seed), Softmax(classes)
    basis = loss.basis
    margins = random.normal(size=(1, classes - 1)) * reach
    for own in range(classes):
        label = np.eye(classes)[[own]] @ basis
        found = loss.derivatives(margins, label)
        with mpmath.workdps(400):
            rotation = mpmath.matrix(basis.tolist())
            every = rotation * mpmath.matrix(margins[0].tolist())
            powers = [mpmath.exp(margin) for margin in every]
            share = mpmath.matrix([power / mpmath.fsum(powers) for power in powers])
            slope = rotation.T * (share - mpmath.matrix([float(c == own) for c in range(classes)]))
            curvature = rotation.T * (mpmath.diag(list(share)) - share * share.T) * rotation
            size, bend = mpmath.norm(slope), mpmath.mnorm(curvature, "f")
            slope_error = mpmath.norm(slope - mpmath.matrix(found.slope[0].tolist()))
            bend_error = mpmath.mnorm(curvature - mpmath.matrix(found.curvature[0].tolist()), "f")
            # A margin's rounding moves a share by as much as the margin is large.
            allowed = 1e-14 * (1 + reach)
            assert slope_error <= allowed * size
            assert bend_error <= allowed * bend
