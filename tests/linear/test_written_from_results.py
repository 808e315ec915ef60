"""Results of statsmodels and lifelines as tables, measured alike."""

import pandas as pd
import pytest
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter

import seepage


def test_a_column_that_results_know_by_its_numbers_alone_is_asked_for():
    people = pd.DataFrame({"age": [20.0, 31.0, 45.0, 52.0], "visits": [1, 4, 2, 6], "years": [1.0, 2.0, 1.0, 2.0]})
    counts, years = smf.poisson("visits ~ age", people, exposure=people["years"]).fit(disp=0), people["years"]
    weighted = smf.glm("visits ~ age", people, freq_weights=years.to_numpy()).fit()
    for results, columns, message in (
        (counts, {}, 'exposure="'),
        (weighted, {}, 'weights="'),
        (smf.ols("visits ~ age", people).fit(), {"weights": "years"}, "fitted without"),
    ):
        with pytest.raises(seepage.errors.InputError, match=message):
            seepage.models.ModelTable.of(results, **columns)


def test_others_are_told_how_they_are_written():
    from sklearn.linear_model import Ridge

    with pytest.raises(seepage.errors.UnsupportedError, match=r"skops\.io\.dump"):
        seepage.models.ModelTable.of(Ridge())
    people = pd.DataFrame({"time": [1.0, 2, 3, 4], "x": [1.0, 3, 2, 5]})
    penalized = CoxPHFitter(penalizer=0.1).fit(people, "time")
    with pytest.raises(seepage.errors.UnsupportedError, match="has no place in a table"):
        seepage.models.ModelTable.of(penalized)


def test_a_table_that_was_written_is_read_as_the_same(tmp_path):
    table = seepage.models.ModelTable(
        family="cox",
        time='a "time"',
        status="née",
        strata=("x\\y", "z"),
        coefficients={"bé\n": 0.1 + 0.2, "ward": {"2": -1e-300, "a.b": 5.0}},
        glmnet={"lambda": 0.05, "alpha": 0, "standardize": False},
    )
    table.write(tmp_path / "t.toml")
    again = seepage.models.ModelTable.read(tmp_path / "t.toml")
    assert again.coefficients == table.coefficients
    assert (again.time, again.status, tuple(again.strata)) == (table.time, table.status, table.strata)
    assert again.glmnet == table.glmnet
    # Coefficients without noise are as private as the rows.
    assert (tmp_path / "t.toml").stat().st_mode & 0o077 == 0
