"""One round of the how-to page's app on a real federation; `tests/nightly` runs all three, and the refusal."""

import pandas as pd
import pytest
from federation import federation, write_app


@pytest.mark.usefixtures("data_home")
def test_two_clients_are_measured_and_send_what_they_trained(tmp_path):
    app = write_app(tmp_path / "measured")
    for file, said, instead in (
        ("server_app", "num_rounds=3", "num_rounds=1"),
        ("task", "PEOPLE = 1000", "PEOPLE = 100"),
    ):
        path = app / "digits" / f"{file}.py"
        assert path.read_text().count(said) == 1
        path.write_text(path.read_text().replace(said, instead))
    with federation(tmp_path, app) as flower:
        log = flower.run(app)
    assert "aggregate_train: Received 2 results and 0 failures" in log
    frame = pd.read_csv(app / "rounds.csv")
    assert frame["layer"].tolist() == ["conv1", "conv2", "fc1", "fc2", "all layers"] * 2
    assert frame["client"].nunique() == 2
    assert set(frame["action"]) == {"sent"}
    assert (frame["people"] == 100).all()
    assert (frame["dfil"] > 0).all()
    assert "<html" in (app / "rounds.html").read_text()
