"""The app of the how-to page on a real federation, by the page's own commands: nothing replaced."""

import re

import pandas as pd
import psutil
import pytest
from federation import federation, write_app

LAYERS = ["conv1", "conv2", "fc1", "fc2", "all layers"]


@pytest.mark.usefixtures("data_home")
def test_two_clients_three_rounds_and_a_refusal(tmp_path, capsys):
    app = write_app(tmp_path / "measured")
    # Engines tested before leave servers of theirs to this process.
    before = set(psutil.Process().children(recursive=True))
    with federation(tmp_path, app) as flower:
        log = flower.run(app)
        frame = pd.read_csv(app / "rounds.csv", keep_default_na=False, na_values=["nan", ""])
        page = (app / "rounds.html").read_text()
        processes = set(psutil.Process().children(recursive=True)) - before
        refusals = "\n".join(re.findall(r".*seepage refused.*", log))
        bare = write_app(tmp_path / "bare")
        client = bare / "digits" / "client_app.py"
        client.write_text(client.read_text().replace("mods=[mod]", "mods=[]"))
        unmeasured = flower.run(bare)
    assert len(processes) >= 3
    assert not [process for process in processes if process.is_running()]

    clients = set(frame["client"])
    assert len(clients) == 2
    # Rounds one and three: every layer of both clients, measured on everybody, within its limit.
    for server_round in (1, 3):
        found = frame[frame["round"] == server_round]
        assert set(found["client"]) == clients
        assert found["layer"].tolist() == LAYERS * 2
        assert set(found["action"]) == {"sent"}
        assert (found["people"] == 1000).all()
        assert found["dfil"].between(0.01, 0.8).all()
        assert (found["dfil"] < found["dfil_worst_ten"]).all()
        assert (found[found["layer"] != "all layers"]["sensitivity"] > 0).all()
        assert (found[found["layer"] != "all layers"]["susceptibility_worst_ten"] > 0).all()
    # Round two asked for a tenth of the noise.
    refused = frame[frame["round"] == 2]
    assert set(refused["client"]) == clients
    assert refused["action"].tolist() == ["refused"] * 2
    assert refused["reason"].str.contains("a limit is exceeded").all()
    assert refused["dfil"].isna().all()
    # What reaches the server names no layer: which one it was is about the most exposed person.
    assert refusals.count("seepage refused") >= 2
    assert not any(layer in refusals for layer in LAYERS[:-1])
    assert "aggregate_train: Received 0 results and 2 failures" in log
    assert "aggregate_train: Received 2 results and 0 failures" in log
    assert "Refused by the client: 2." in page

    seconds = frame.drop_duplicates(["round", "client"])[["training_seconds", "measuring_seconds"]].dropna()
    ratio = (seconds.sum(axis=1) / seconds["training_seconds"]).median()
    whole, alone = (float(re.search(r"finished in ([\d.]+)s", text).group(1)) for text in (log, unmeasured))
    with capsys.disabled():
        print(
            f"\na client takes {ratio:.2f} times its training with the mod on (median); "
            f"a round takes {whole / 3:.1f} s, {whole / alone:.2f} times as long as without the mod"
        )
