"""What the Flower mod costs a client beside its private training, on the app of docs/how-to/flower.md."""

import argparse
import re
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, Metadata, RecordDict
from flwr.clientapp import ClientApp

import seepage

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "flower.md"


def _import_app(folder: Path) -> Any:
    """Write the page's app to a folder, and import its client."""
    files = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE.read_text(), re.S)
    for name, text in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    sys.path.insert(0, str(folder))
    import digits.client_app  # type: ignore[import-not-found]

    return digits.client_app


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks federated")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    quick = parser.parse_args(sys.argv[2:]).quick
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        page = _import_app(Path(folder))
        torch.manual_seed(0)
        arrays = ArrayRecord(page.Net().state_dict())
        # The page's mod, and others that differ in what they measure.
        settings: dict[str, dict[str, Any]] = {
            "everybody, the page's limit": {},
            "everybody, a close limit": {"policy": seepage.federated.LayerPolicy(dfil=0.25)},
            "200 people, the page's limit": {"people": 200},
        }
        mods = {name: _mod(page, **changed) for name, changed in settings.items()}
        apps = {"training alone": _app(page, []), **{name: _app(page, [mod]) for name, mod in mods.items()}}
        seconds: dict[str, list[float]] = {name: [] for name in apps}
        for repetition in range(3 if quick else 7):
            for name, app in apps.items():
                taken = _round(app, arrays)
                if repetition:  # the first warms up
                    seconds[name].append(taken)
    base = statistics.median(seconds["training alone"])
    print(f"a round of a client with {page.PEOPLE} people, 5 local epochs of private SGD, one thread")
    for name, found in seconds.items():
        median = statistics.median(found)
        print(f"{name:32}{median:8.2f} s of one core{median / base:8.2f} times")


def _mod(page: Any, **changed: Any) -> Any:
    return seepage.federated.leakage_mod(
        **{
            "model": page.Net,
            "loss": torch.nn.CrossEntropyLoss(),
            "data": page.people,
            "training": page.plan,
            "policy": seepage.federated.LayerPolicy(dfil=0.8),
            "on_breach": "refuse",
            **changed,
        }
    )


def _app(page: Any, mods: list[Any]) -> ClientApp:
    app = ClientApp(mods=mods)
    app.train()(page.train)
    return app


def _round(app: ClientApp, arrays: ArrayRecord) -> float:
    content = RecordDict({"arrays": arrays, "config": ConfigRecord({"server-round": 1})})
    about = {
        "run_id": 1,
        "message_id": "",
        "src_node_id": 0,
        "dst_node_id": 1,
        "reply_to_message_id": "",
        "group_id": "",
    }
    message = Message(
        content=content, metadata=Metadata(**about, created_at=time.time(), ttl=3600, message_type="train")
    )
    context = Context(
        run_id=1, node_id=1, node_config={"partition-id": 0}, state=RecordDict(), run_config={"noise": "1.0"}
    )
    start = time.process_time()
    reply = app(message, context)
    taken = time.process_time() - start
    assert reply.has_content(), reply.error.reason
    return taken
