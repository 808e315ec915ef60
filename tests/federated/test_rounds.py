"""The server's frame and page."""

import math

import clients
import pytest
from clients import answer, asked, client, reply_with, training
from flwr.app import ArrayRecord, Error, Message
from flwr.serverapp.strategy import FedAvg
from hostile import HOSTILE, Checker

from seepage.federated import LayerPolicy, Rounds
from seepage.federated._page import page
from seepage.federated._report import Row, from_metrics
from seepage.federated._rounds import ASSUMPTIONS


@pytest.fixture
def replies():
    good = answer(client())
    dropped = answer(client(policy=LayerPolicy(dfil={"second": 1e-6}), on_breach="drop"))
    refused = answer(client(policy=LayerPolicy(dfil=1e-6)))
    failed = Message(Error(0, "no <b>memory</b>"), reply_to=asked(node=12))
    unmeasured = reply_with(asked(node=13), clients.weights())
    return [good, dropped, refused, failed, unmeasured]


def test_the_frame_has_a_row_for_each_layer_and_one_for_each_reply_without(replies):
    rounds = Rounds()
    rounds.add(1, replies[:2])
    rounds.add(2, replies[2:])
    frame = rounds.frame
    assert frame["round"].tolist() == [1] * 6 + [2] * 3
    assert frame["layer"].tolist() == ["first", "second", "all layers"] * 2 + [""] * 3
    assert frame["action"].tolist() == ["sent"] * 4 + ["dropped", "sent", "refused", "failed", "unmeasured"]
    assert frame["reason"].tolist()[6:] == [
        "a limit is exceeded (the client's log says which)",
        "no <b>memory</b>",
        "",
    ]
    assert (frame["dfil"][:6] > 0).all()
    assert frame["dfil"][6:].isna().all()
    assert set(frame["client"]) == {"11", "12", "13"}
    assert repr(rounds) == "Rounds(4 updates in 2 rounds)"


def test_the_page_is_one_file_and_quotes_safely(replies, tmp_path):
    rounds = Rounds()
    rounds.add(1, replies[:1])
    rounds.add(2, replies[2:4])
    rounds.write_html(tmp_path / "rounds.html")
    page = (tmp_path / "rounds.html").read_text()
    assert "no &lt;b&gt;memory&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "://" not in page
    assert "<script" not in page
    assert all(word in page for word in ("round 2", "refused", "all layers", "What this takes for granted"))
    assert "What the rounds gave away" in Rounds().html()


def test_a_strategy_that_is_listened_to_aggregates_as_before(replies):
    rounds = Rounds()
    inner = FedAvg(fraction_evaluate=0.0)
    arrays, metrics = rounds.collecting(inner).aggregate_train(1, iter(replies[:3]))
    expected, averaged = inner.aggregate_train(1, replies[:3])
    assert isinstance(arrays, ArrayRecord)
    for name in expected:
        assert (arrays[name].numpy() == expected[name].numpy()).all()
    assert dict(metrics) == dict(averaged)
    # Flower's own average, over the clients that sent: half of them dropped the second layer.
    assert metrics["seepage/second/dropped"] == pytest.approx(0.5)
    assert len(rounds.frame) == 7


def test_unbounded_dfil_is_shown_as_such():
    rounds = Rounds()
    rounds.add(1, [answer(client(training(noise_multiplier=0.0), policy=LayerPolicy(susceptibility=1e9)))])
    assert rounds.frame["dfil"].tolist() == [math.inf] * 3
    assert "∞" in rounds.html()


def test_names_of_clients_and_layers_are_shown_and_never_obeyed():
    rows = [
        Row(1, name, name, action, reason=name, numbers={"dfil_worst_ten": 0.1 * i, "people": 20.0})
        for i, name in enumerate(HOSTILE, 1)
        for action in ("sent", "noised")
    ]
    rows += [Row(2, name, "", "failed", reason=name) for name in HOSTILE]
    text = page(rows, [*ASSUMPTIONS, *HOSTILE])
    found = Checker(text)
    assert "<script" not in text
    assert not {"\u202e", "\x00", "\x1b"} & set(text)
    assert "x" * 1000 not in text
    assert "default-src 'none'" in text
    assert "<script>alert(1)</script>" in " ".join(found.text)


def test_metrics_that_a_client_makes_up_are_left_out():
    metrics = {
        "seepage/people": 20.0,
        "seepage/first/dfil": 0.5,
        "seepage/first/dropped": 0.0,
        "seepage/first/surprise": 1.0,
        "seepage/round": 7.0,
        "seepage/second/dfil": [1.0, 2.0],
        "loss": 0.1,
    }
    assert from_metrics(metrics) == ({"first": {"dfil": 0.5, "dropped": 0.0}}, {"people": 20.0})
