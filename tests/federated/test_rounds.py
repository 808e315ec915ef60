"""The server's frame and page."""

import math

import clients
import pytest
from clients import answer, asked, client, reply_with, training
from flwr.app import ArrayRecord, Error, Message
from flwr.serverapp.strategy import FedAvg

from seepage.federated import LayerPolicy, Rounds


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
    assert "http" not in page
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
