"""The client of the page about Flower, called with messages as Flower's own SuperNode calls it."""

import time

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, Context, Message, Metadata, RecordDict
from pages import ROOT, run

from seepage.network import step_information


@pytest.fixture(scope="module")
def page():
    return run(ROOT / "docs" / "how-to" / "flower.md").names


def message(arrays):
    about = {"run_id": 1, "message_id": "", "src_node_id": 0, "dst_node_id": 1, "reply_to_message_id": ""}
    metadata = Metadata(**about, group_id="", created_at=time.time(), ttl=3600, message_type="train")
    return Message(content=RecordDict({"arrays": arrays}), metadata=metadata)


def test_rounds_add_up_and_the_one_above_the_limit_is_not_sent(page):
    torch.manual_seed(0)
    context = Context(run_id=1, node_id=1, node_config={"partition-id": 0}, state=RecordDict(), run_config={})
    arrays, expected = ArrayRecord(page["network"]().state_dict()), np.zeros(100)
    for _ in range(2):
        model = page["network"]()
        model.load_state_dict(arrays.to_torch_state_dict())
        asked = {"mechanism": page["mechanism"], "label": "public"}
        step = step_information(model, page["loss"], page["load_people"](0), **asked)
        expected = expected + np.einsum("nvv->n", step.matrices) / 64
        arrays = page["app"](message(arrays), context).content["arrays"]
        np.testing.assert_allclose(context.state["seepage"]["squares"], expected, rtol=1e-6)
    page["LIMIT"] = expected.max() ** 0.5
    with pytest.raises(Exception, match="would reveal more than the limit"):
        page["app"](message(arrays), context)
    assert context.state["seepage"]["squares"] == pytest.approx(expected, rel=1e-6)


def test_the_server_reads_no_data_in_an_error(page, caplog):
    images, labels = page["load_people"](0)
    with pytest.raises(RuntimeError, match=r"^The round cannot be measured\.$"):
        page["within_limit"](page["network"](), images.flatten(1), labels, RecordDict())
    assert "cannot be measured" in caplog.text
