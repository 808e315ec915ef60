"""Whether a few people are most of the noise on a guess is settled by the few who could be."""

import numpy as np
import pandas as pd
import pytest

import seepage
from seepage.attackers._claims import MOST_LIKE_NORMAL, _at_least, even_along, is_even

RNG = np.random.default_rng(0)
PEOPLE = {
    "normal": pd.DataFrame(RNG.normal(size=(900, 3)), columns=["y", "a", "b"]),
    "heavy": pd.DataFrame({"y": RNG.lognormal(0, 2, 900), "a": RNG.standard_t(3, 900), "b": RNG.exponential(size=900)}),
    "few": pd.DataFrame({"y": RNG.normal(size=300), "a": RNG.normal(size=300), "b": [1.0] * 7 + [0.0] * 293}),
}


@pytest.mark.parametrize("kind", PEOPLE)
@pytest.mark.parametrize("unknown", [60, 250])
def test_the_bound_is_never_above_the_sum_over_everybody(kind, unknown):
    people = PEOPLE[kind]
    table = seepage.models.ModelTable(family="gaussian", formula="y ~ a + b")
    information = seepage.measure(table, people, known_records=0).information
    noise, everybody = information.crowd.unknown(unknown), np.arange(len(people))
    seen = information._seen(noise, everybody, information.printed.jacobian(everybody))
    width = seen.moved.formed().shape[2]
    along = seen.along(np.repeat(np.eye(width)[None], len(people), axis=0))
    exact = even_along(noise, seen.own, along, unknown)
    bound = _at_least(noise, seen.own, along, unknown)
    assert (bound <= exact * (1 + 1e-9)).all()
    assert (is_even(noise, seen.own, along, unknown) == (exact >= MOST_LIKE_NORMAL)).all()
    # Of most people it settles the question, which is what it is for.
    assert (bound >= MOST_LIKE_NORMAL).sum() >= 0.9 * (exact >= MOST_LIKE_NORMAL).sum()
