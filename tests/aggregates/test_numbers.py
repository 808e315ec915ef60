"""What people move the numbers of tables by, against the tables of frames that were changed."""

import numpy as np
import pandas as pd
import pytest

import seepage
from seepage.core import Outputs, Rows, Sum

RANDOM = np.random.default_rng(1)
N = 90
FRAME = pd.DataFrame(
    {
        "ward": RANDOM.choice(["A", "B", "C"], N),
        "sex": RANDOM.choice(["F", "M"], N),
        "age": RANDOM.gamma(20.0, 3.0, N),
        "cost": RANDOM.lognormal(3.0, 0.5, N),
        "fell": (RANDOM.random(N) < 0.4).astype(int),
        "color": RANDOM.choice(["blue", "green", "red"], N),
        "time": RANDOM.exponential(5.0, N).round(1),
        "event": (RANDOM.random(N) < 0.6).astype(int),
    }
)
ALL = ["count", "mean", "sum", "sd", "share"]
TABLES = {
    "plain": seepage.models.Aggregate(of=["age", "cost", "fell", "color"], by=["ward"], statistics=ALL),
    "margins": seepage.models.Aggregate(of=["age", "fell"], by=["ward", "sex"], statistics=ALL, margins=True),
    "one cell": seepage.models.Aggregate(of=["age", "cost"], statistics=["mean", "sd"]),
    "some": seepage.models.Aggregate(of=["age"], by=["sex"], statistics=ALL, where="fell == 0 and age > 40"),
    "curves": seepage.models.KaplanMeier(times=[2.0, 5.0, 9.0], by=["sex"]),
}


def _numbers(table, frame):
    """Return the numbers of a table in the order in which a measurement names them."""
    numbers = table._made(frame).numbers
    return numbers.values(numbers.at)


def test_means_sums_and_deviations_change_with_people_as_stages_do():
    """Sums over cells, and functions of them that dual numbers differentiate."""
    table = seepage.models.Aggregate(of=["age"], by=["ward"], statistics=["count", "mean", "sum", "sd"]).fit(FRAME)
    printed = seepage.measure(table, FRAME).information.printed
    cells = np.eye(3)[pd.Categorical(FRAME["ward"]).codes]
    stages = [
        Sum("count", lambda _, r: r["cell"]),
        Sum("sum", lambda _, r: r["cell"] * r["age"]),
        Sum("squares", lambda t, r: r["cell"] * (r["age"] - t["sum"] / t["count"]) ** 2),
    ]

    def numbers(t):
        deviations = np.sqrt(t["squares"] / (t["count"] - 1))
        return np.concatenate([t["count"], t["sum"] / t["count"], t["sum"], deviations])

    outputs = Outputs(stages, Rows.of(cell=cells, age=FRAME[["age"]].to_numpy()), numbers, private=("age",))
    np.testing.assert_allclose(printed.values, numbers(outputs.fitted), rtol=1e-12)
    derivatives = printed.jacobian(np.arange(N)).formed()[:, :, printed.blocks["age"][0]]
    np.testing.assert_allclose(derivatives, outputs.jacobians()[:, 0], rtol=1e-8, atol=1e-12)
    # A standard deviation with n - 1 is not a function of the distribution alone: its influence is that of n.
    np.testing.assert_allclose(printed.moves.values[:, :9], outputs.influence()[:, :9], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", TABLES)
def test_a_person_moves_the_numbers_as_another_copy_of_them_does(kind):
    """In a frame of a thousand copies of everybody one more copy is small."""
    copies, table = 1000, TABLES[kind]
    leak = seepage.measure(table.fit(FRAME), FRAME)
    printed = leak.information.printed
    many = pd.concat([FRAME] * copies, ignore_index=True)
    rows = leak.error_floor().index
    for person in (0, 5, 11):
        one_more = pd.concat([many, FRAME.loc[[rows[person]]]], ignore_index=True)
        found = copies * (_numbers(table, one_more) - _numbers(table, many))
        scale = np.where([name.startswith(("count", "sum", "number")) for name in printed.names], copies, 1.0)
        moves = printed.moves.of(np.array([person]))[0]
        size = 1.0 + np.abs(moves)
        # With copies of everybody a standard deviation has n - 1/1000 for n - 1: it is looked at below.
        kept = np.array([not name.startswith("sd") for name in printed.names])
        assert (np.abs(found / scale - moves)[kept] < 2e-3 * size[kept]).all()


def test_a_person_moves_a_deviation_as_their_weight_does():
    table = seepage.models.Aggregate(of=["cost"], statistics=["sd"])
    moves = seepage.measure(table.fit(FRAME), FRAME).information.printed.moves.of(np.arange(N))[:, 0]
    cost = FRAME["cost"].to_numpy()

    def deviation(weights):
        mean = weights @ cost / weights.sum()
        return np.sqrt(weights @ (cost - mean) ** 2 / (weights.sum() - 1))

    for person in range(N):
        step = 1e-4 * (np.arange(N) == person)
        found = (deviation(1 + step) - deviation(1 - step)) / 2e-4
        assert moves[person] == pytest.approx(found, abs=1e-6)


def _survival(time, event, weights, horizons):
    """Return Kaplan and Meier's estimates, as a textbook has them."""
    found = []
    for horizon in horizons:
        left = 1.0
        for at in sorted(set(time[event == 1])):
            if at <= horizon:
                left *= 1 - weights[(time == at) & (event == 1)].sum() / weights[time >= at].sum()
        found.append(left)
    return np.array(found)


def test_survival_is_that_of_a_textbook_and_moves_as_it_does():
    table = seepage.models.KaplanMeier(times=[2.0, 5.0, 9.0]).fit(FRAME)
    time, event, horizons = FRAME["time"].to_numpy(), FRAME["event"].to_numpy(), [2.0, 5.0, 9.0]
    plain = _survival(time, event, np.ones(N), horizons)
    np.testing.assert_allclose(table.frame_["survival"], plain, atol=1e-12)
    printed = seepage.measure(table, FRAME).information.printed
    moves = printed.moves.of(np.arange(N))
    step = 1e-5
    for person in range(0, N, 7):
        up, down = np.ones(N), np.ones(N)
        up[person] += step
        down[person] -= step
        found = _survival(time, event, up, horizons) - _survival(time, event, down, horizons)
        np.testing.assert_allclose(moves[person], found / (2 * step), atol=1e-6)
    # The jackknife: whoever is left out takes along what they move, up to a part in N.
    left_out = np.array([_survival(time, event, np.arange(N) != person, horizons) for person in range(N)])
    np.testing.assert_allclose(plain - left_out, moves, atol=3.0 / N**2)


def test_another_event_moves_survival_as_the_refitted_estimate_does_to_first_order():
    table = seepage.models.KaplanMeier(times=[2.0, 5.0, 9.0])
    many = pd.concat([FRAME] * 40, ignore_index=True)
    printed = seepage.measure(table.fit(many), many).information.printed
    for person in (1, 4, 8):
        other = 1 - int(many["event"][person])
        changed = many.copy()
        changed.loc[person, "event"] = other
        found = _numbers(table, changed) - _numbers(table, many)
        moved = printed.changed(np.array([person]), "event", other)[0]
        np.testing.assert_allclose(moved, found, atol=0.02 * np.abs(found).max() + 1e-12)


def test_another_category_moves_a_table_as_the_refitted_one_does_to_first_order():
    table = TABLES["plain"]
    many = pd.concat([FRAME] * 100, ignore_index=True)
    printed = seepage.measure(table.fit(many), many).information.printed
    before = _numbers(table, many)
    for name, value in (("ward", "B"), ("fell", 1), ("color", "red")):
        person = int(np.flatnonzero(many[name] != value)[0])
        changed = many.copy()
        changed.loc[person, name] = value
        moved = printed.changed(np.array([person]), name, value)[0]
        found = _numbers(table, changed) - before
        np.testing.assert_allclose(moved, found, atol=1e-3 * np.abs(found).max() + 1e-9, rtol=1e-2)


def test_tables_are_those_of_pandas():
    table = TABLES["margins"].fit(FRAME).frame_
    for cell, some in FRAME.groupby(["ward", "sex"]):
        row = table[(table["ward"] == cell[0]) & (table["sex"] == cell[1])].iloc[0]
        wanted = [len(some), some["age"].mean(), some["age"].sum(), some["age"].std(), some["fell"].mean()]
        found = row[["count", "mean of age", "sum of age", "sd of age", "share of fell"]].astype(float)
        np.testing.assert_allclose(found, wanted)
    everybody = table[(table["ward"] == "all") & (table["sex"] == "all")].iloc[0]
    assert everybody["count"] == N
    np.testing.assert_allclose(everybody["sd of age"], FRAME["age"].std())
    assert everybody["number of fell"] == FRAME["fell"].sum()


def test_without_a_person_totals_still_follow_from_their_cells():
    """Nothing is told for certain because the others were looked at where the table is without somebody."""
    printed = seepage.measure(TABLES["margins"].fit(FRAME), FRAME).information.printed
    moves, elsewhere = printed.moves.of(np.arange(N)), printed.elsewhere(4).of(np.arange(N))
    scale = np.sqrt((moves**2).sum(axis=0))
    silent = np.linalg.svd((moves - moves.mean(axis=0)) / scale)[2][np.linalg.matrix_rank(moves - moves.mean(axis=0)) :]
    moved = (elsewhere - elsewhere.mean(axis=0)) / scale @ silent.T
    assert np.abs(moved).max() < 1e-9
    assert not np.isinf(seepage.measure(TABLES["margins"], FRAME).attributes["age"]).any()
