"""Several rows of one person are counted together by every command that is told whose they are."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import Ridge

import seepage
from cli.terminal import Terminal

PENALTY = 1.0
ASK = "visits.skops visits.csv -t score"
EACH_ROW = "Each row is counted as one person; --ids names the column that says otherwise."


@pytest.fixture(scope="module")
def visits(terminal: Terminal) -> dict[str, float]:
    """Three visits of each of 60 people, who are as old at each; and how far the most telling age moves the model."""
    random, people = np.random.default_rng(5), 60
    whose = np.repeat(np.arange(people), 3)
    age = random.integers(30, 80, people).astype(float)[whose]
    pressure = random.normal(130, 15, 3 * people)
    score = 0.2 * age + 0.1 * pressure + random.normal(0, 3, people)[whose] + random.normal(0, 1, 3 * people)
    rows = pd.DataFrame({"age": age, "pressure": pressure, "score": score, "patient": [f"P{i}" for i in whose]})
    rows.to_csv(terminal.folder / "visits.csv", index=False)
    X, y = rows[["age", "pressure"]], rows["score"]
    skops.io.dump(Ridge(alpha=PENALTY).fit(X, y), terminal.folder / "visits.skops")
    skops.io.dump(Ridge(alpha=PENALTY).fit(X.to_numpy(), y), terminal.folder / "unnamed.skops")
    by_row, by_person = (
        seepage.measure(Ridge(alpha=PENALTY).fit(X, y), X, y, noise_scale=1.0, ids=ids) for ids in (None, whose)
    )
    return {"rows": by_row.attributes["age"].max(), "people": by_person.attributes["age"].max()}


def _policy(terminal: Terminal, floor: float) -> None:
    (terminal.folder / "visits.toml").write_text(f"[error_floor]\nage = {floor!r}\n")


def test_a_policy_that_rows_meet_and_people_miss_is_missed(terminal: Terminal, visits: dict[str, float]) -> None:
    assert visits["people"] > 1.5 * visits["rows"]
    # With noise of scale 0.1 no unbiased guess of an age is better than 0.1 / move.
    _policy(terminal, 0.1 / float(np.sqrt(visits["rows"] * visits["people"])))
    command = f"seepage check {ASK} -n 0.1 --policy visits.toml"
    by_row = terminal.run(command)
    assert by_row.code == 0
    assert "About 180 people" in by_row.text
    assert EACH_ROW in by_row.text
    by_person = terminal.run(f"{command} --ids patient")
    assert by_person.code == 1
    assert "About 60 people" in by_person.text
    assert EACH_ROW not in by_person.text


@pytest.mark.parametrize(("option", "who"), [("", "rows"), (" --ids patient", "people")])
def test_the_noise_is_found_for_people(terminal: Terminal, visits: dict[str, float], option: str, who: str) -> None:
    _policy(terminal, 2.0)
    answer = terminal.run(f"seepage calibrate {ASK} --policy visits.toml --exact --quiet --shape one-scale{option}")
    assert answer.code == 0, answer.text
    assert float(answer.out) == pytest.approx(2.0 * visits[who], rel=1e-6)
    assert (EACH_ROW in terminal.run(f"seepage calibrate {ASK} --policy visits.toml{option}").text) == (who == "rows")


@pytest.mark.usefixtures("visits")
def test_ids_are_no_feature_of_a_model_without_names(terminal: Terminal) -> None:
    _policy(terminal, 1e-3)
    ask = "unnamed.skops visits.csv -t score --ids patient"
    for command in (
        f"check {ask} -n 0.1 --policy visits.toml",
        f"calibrate {ask} --policy visits.toml",
    ):
        answer = terminal.run(f"seepage {command}")
        assert answer.code == 0, answer.text


@pytest.mark.usefixtures("visits")
def test_measuring_and_publishing_say_how_people_are_counted(terminal: Terminal) -> None:
    _policy(terminal, 1e-3)
    publish = f"seepage publish {ASK} -n 0.1 --policy visits.toml --force --out visits-out.toml"
    for command in (f"seepage measure {ASK} -n 0.1", publish):
        assert EACH_ROW in terminal.run(command).text
        assert EACH_ROW not in terminal.run(f"{command} --ids patient").text
