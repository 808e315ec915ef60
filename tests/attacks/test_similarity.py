"""How alike two images are, against the formulas written out pixel by pixel."""

import math

import numpy as np
import pytest

from seepage.attacks._similarity import haar_similarity


def written_out(a, b):
    """HaarPSI of two gray images of range 255 (Reisenhofer et al. 2018), with sums for convolutions."""

    def half(image):
        height, width = image.shape
        around = np.zeros((height + 1, width + 1))
        around[1:, 1:] = image
        return np.array(
            [[around[i : i + 2, j : j + 2].mean() for j in range(0, width, 2)] for i in range(0, height, 2)]
        )

    def coefficient(image, i, j, scale, turned):
        # A convolution of the same size starts half a window, less one, before the pixel; its window is turned over.
        size, total = 2**scale, 0.0
        for k in range(size):
            for m in range(size):
                row, column = i + size // 2 - 1 - k, j + size // 2 - 1 - m
                if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                    before = (m if turned else k) < size // 2
                    total += (-1 if before else 1) * image[row, column] / size
        return total

    a, b = half(a), half(b)
    top = bottom = 0.0
    for turned in (False, True):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                u = [abs(coefficient(a, i, j, s, turned)) for s in (1, 2, 3)]
                v = [abs(coefficient(b, i, j, s, turned)) for s in (1, 2, 3)]
                alike = sum((2 * u[s] * v[s] + 30) / (u[s] ** 2 + v[s] ** 2 + 30) for s in (0, 1)) / 2
                weight = max(u[2], v[2])
                top += weight / (1 + math.exp(-4.2 * alike))
                bottom += weight
    share = top / bottom
    return (math.log(share / (1 - share)) / 4.2) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_the_index_is_that_of_the_formula(seed):
    random = np.random.default_rng(seed)
    a = random.uniform(0, 1, (12, 14)).cumsum(0) / 12
    b = np.clip(a + 0.1 * random.normal(size=a.shape), 0, 1)
    assert haar_similarity(a[None], b[None], 1.0) == pytest.approx(written_out(255 * a, 255 * b), rel=1e-10)


def test_it_is_one_for_the_same_image_and_falls_with_noise():
    random = np.random.default_rng(0)
    image = random.uniform(0, 1, (1, 28, 28)).cumsum(2) / 28
    scores = [haar_similarity(image, image + s * random.normal(size=image.shape), 1.0) for s in (0.0, 0.02, 0.1, 0.5)]
    assert scores[0] == pytest.approx(1.0, abs=1e-12)
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0.5
    # Another unit of the same pixels changes nothing.
    assert haar_similarity(7 * image, 7 * image + 0.7, 7.0) == pytest.approx(haar_similarity(image, image + 0.1, 1.0))
