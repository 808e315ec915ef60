"""What everybody knows of a release without noise: how many people are in each arm, and how its table was written."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.errors import InputError, UnansweredError

RANDOM = np.random.default_rng(4)
N = 300
PEOPLE = pd.DataFrame({"age": RANDOM.normal(size=N), "arm": np.arange(N) % 3})
ARM = np.array(["a", "b", "c"])[PEOPLE["arm"]]
PEOPLE["arm"] = ARM
# The arm is no part of the model, and most of what is left of the outcome.
Y = pd.Series(0.5 * PEOPLE["age"] + 4.0 * (ARM == "b") - 3.0 * (ARM == "c") + RANDOM.normal(size=N), name="score")
ONLY_AGE = make_pipeline(make_column_transformer(("passthrough", ["age"])), LinearRegression())
DESIGN = np.column_stack([PEOPLE["age"], np.ones(N)])


def drawn(person, count=4000):
    """Fits of others who are drawn anew within their arms, and how the fit moves with the person's outcome."""
    rest, random = np.delete(np.arange(N), person), np.random.default_rng(0)
    fits = []
    for _ in range(count):
        at = [random.choice(rest[ARM[rest] == arm], (ARM[rest] == arm).sum()) for arm in "abc"]
        rows = np.concatenate([*at, [person]])
        fits.append(np.linalg.lstsq(DESIGN[rows], Y.to_numpy()[rows], rcond=None)[0])
    slope = np.linalg.inv(DESIGN.T @ DESIGN) @ DESIGN[person]
    return 1 / np.sqrt(slope @ np.linalg.solve(np.cov(np.array(fits).T), slope))


def test_where_a_design_fixes_the_arms_they_are_no_noise():
    person, model = 10, ONLY_AGE.fit(PEOPLE, Y)
    asked = {"published": ["coefficients"]}
    error = drawn(person)
    known = seepage.measure(model, PEOPLE, Y, known_group_sizes=["arm"], **asked)
    assert error * known.attributes["score"][person] == pytest.approx(1.0, abs=0.06)
    assert error * seepage.measure(model, PEOPLE, Y, **asked).attributes["score"][person] < 0.6


def test_sizes_of_arms_are_printed_numbers():
    found = seepage.measure(ONLY_AGE.fit(PEOPLE, Y), PEOPLE, Y, known_group_sizes=["arm"])
    table = found.rounded_table().set_index("number")
    assert table.loc["number with b as arm", "value"] == (ARM == "b").sum()
    assert table.loc["number with b as arm", "step"] == 1.0
    assert "how many people have each arm" in found.information.assumptions[1].names["what"]


def test_a_private_arm_is_told_by_its_size_to_who_knows_all_covariates():
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["arm"]), ("passthrough", ["age"])), LinearRegression()
    )
    model.fit(PEOPLE, Y)
    alone = {"published": ["coefficients"]}
    before = seepage.measure(model, PEOPLE, Y, **alone)
    found = seepage.measure(model, PEOPLE, Y, known_group_sizes=["arm"], **alone)
    assert np.isinf(found.against("covariates").information.distances("arm", None).farthest()).all()
    assert (found.success_rate("arm")["success_rate"] >= before.success_rate("arm")["success_rate"] - 1e-9).all()
    # A size moves with the numbers of the arm as it does from one arm to another, which are the square root of 2 apart.
    printed = found.information.printed
    slope = printed.jacobian(np.array([0])).formed()[0, -2:, printed.blocks["arm"]].T
    place = np.linalg.solve(slope, printed.changed(np.array([0]), "arm", "b" if ARM[0] != "b" else "c")[0, -2:])
    assert np.linalg.norm(place) == pytest.approx(np.sqrt(2))
    # With another arm the size is that of a release fitted with it.
    value = "b" if ARM[0] != "b" else "c"
    sizes = dict(zip(printed.names, printed.values + printed.changed(np.array([0]), "arm", value)[0], strict=True))
    other = np.append(ARM[1:], value)
    assert sizes["number with b as arm"] == (other == "b").sum()
    assert sizes["number with c as arm"] == (other == "c").sum()


def test_columns_that_are_no_groups_are_refused():
    model = ONLY_AGE.fit(PEOPLE, Y)
    with pytest.raises(InputError, match="300 values among 300 people"):
        seepage.measure(model, PEOPLE, Y, known_group_sizes=["age"])
    with pytest.raises(InputError, match=r"\['arm'\]"):
        seepage.measure(model, PEOPLE, Y, known_group_sizes="arm")
    codes = PEOPLE.assign(arm=np.arange(N) % 3)
    with pytest.raises(UnansweredError, match="Leave it out"):
        seepage.measure(LinearRegression().fit(codes, Y), codes, Y, known_group_sizes=["arm"])


def written(folder, digits):
    rows = PEOPLE.assign(score=Y)
    fitted = LinearRegression().fit(rows[["age"]], Y)
    (folder / "june.csv").write_text(
        f"term,estimate\n(Intercept),{fitted.intercept_:.{digits}f}\nage,{fitted.coef_[0]:.{digits}f}\n"
    )
    return seepage.models.ModelTable.read(folder / "june.csv", formula="score ~ age", family="gaussian"), rows


def test_a_table_says_with_how_many_decimals_it_was_printed(tmp_path):
    table, rows = written(tmp_path, 3)
    assert table.on(rows).decimals == 3
    found = seepage.measure(table, rows)
    assert found.information.digits.rule.startswith("printed to 3 decimals as in the table that was given")
    assert (found.information.digits.steps[~found.information.printed.whole] == 1e-3).all()
    assert np.isfinite(found.attributes["age"]).mean() > 0.9
    again = seepage.measure(table, rows, digits=1)
    assert again.information.digits.rule == "printed to 1 decimals"


def test_numbers_that_say_more_than_coefficients_count_with_their_digits(tmp_path):
    rows = PEOPLE.assign(score=Y)
    fitted = sm.OLS(Y, sm.add_constant(rows[["age"]])).fit()
    b, s = fitted.params["age"], fitted.bse["age"]
    for column, decimals in (
        (f"{s:.3f}", 3),
        (f"{s:.5f}", 5),
        (f"{b / s:.2f}", 2 + int(np.ceil(np.log10(abs(b / s) / s)))),
        (f"{np.exp(b):.6f}", 7),
    ):
        (tmp_path / "june.csv").write_text(f"term,estimate,other\nage,{b:.3f},{column}\n")
        table = seepage.models.ModelTable.read(tmp_path / "june.csv", formula="score ~ age", family="gaussian")
        assert table.on(rows).decimals == decimals


def test_nothing_is_claimed_of_a_file_with_all_digits_and_the_way_out_is_named(tmp_path):
    read, rows = written(tmp_path, 15)
    assert read.on(rows).decimals >= 14
    found = seepage.measure(read, rows)
    assert np.isnan(found.attributes["age"]).all()
    assert set(found.not_assessed()["age"]) == {"the printed digits say more than is unknown"}
    assert "unless digits= says otherwise" in " ".join(str(found.by_attacker()).split())
    assert found.by_attacker().most is None
    assert np.isfinite(seepage.measure(read, rows, digits=2).attributes["age"]).mean() > 0.9
