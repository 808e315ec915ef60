"""Which layer gives a client's property away (Mo, Borovykh et al. 2021): faces, digits, pictures and the census."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from experiments._draw_layers import draw_layers
from experiments._layers import Client, network, people
from experiments._result import Result
from experiments._seeds import interval, pooled
from experiments._work import Work
from seepage.network import Gradients, layer_sensitivity, usable_information

VERSION = 1
LOSS = nn.CrossEntropyLoss()
BATCH, STEP_SIZE, WARM_UP = 32, 0.01, 100
SHARE = 0.125
"""How many of a batch have the property, in a batch with it: with all of them every layer tells, and none the most."""
FEATURES = ("maxima", "entries", "sketch")
WIDTH = 2048
READINGS = [(wrt, norm) for wrt in ("label", "output") for norm in ("fro", "l1", "max")]
FIRST = {"AlexNet": "fc1", "VGG11Net": "fc1", "FCNet": "fc1"}
PAPER = {"AlexNet": ("fc1",), "VGG11Net": ("fc1", "fc2"), "FCNet": ("fc1",)}
"""The layers that figure 1 of the paper finds highest."""


@dataclass(frozen=True)
class Setting:
    """One run: people, network, seed."""

    data: str
    network: str
    seed: int
    rounds: int = 3000
    every: int = 20
    """Rounds between those in which gradients are collected."""
    final: int = 200
    """Batches whose gradients are collected at the last weights."""
    most: int | None = None

    @property
    def key(self) -> str:
        """The name of the piece."""
        return f"{self.data}-{self.network}-{self.rounds}-seed{self.seed}"


GRID = [
    *(Setting("lfw", "AlexNet", seed) for seed in range(3)),
    *(Setting("lfw", "FCNet", seed) for seed in range(3)),
    *(Setting(name, "AlexNet", seed) for name in ("mnist", "cifar") for seed in range(3)),
    *(Setting("adult", "FCNet", seed) for seed in range(3)),
    *(Setting("lfw", "VGG11Net", seed) for seed in range(3)),
    *(Setting("lfw", name, seed) for name in ("FCNet", "AlexNet", "VGG11Net") for seed in range(3, 10)),
]
QUICK = [
    Setting(data, network, 0, rounds=140, every=4, final=16, most=1500)
    for data, network in (("lfw", "AlexNet"), ("adult", "FCNet"))
]


def measure(setting: Setting, work: Work) -> dict[str, Any]:
    """Train with two clients, collect gradients over the rounds, and measure each layer in three ways."""
    torch.set_num_threads(1)
    found = people(setting.data, setting.most)
    random = np.random.default_rng(setting.seed)
    order = random.permutation(len(found.x))
    test, *shares = np.split(order, [len(order) // 5, len(order) * 3 // 5])
    attacker, victim = (Client(found, rows, random) for rows in shares)
    model = network(setting.network, tuple(found.x.shape[1:]), setting.seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=STEP_SIZE)
    collected: dict[str, list[Any]] = {"attacker": [], "victim": []}
    for turn in range(setting.rounds):
        if turn >= WARM_UP and turn % setting.every == 0:
            for share in (0.0, SHARE):
                collected["attacker"].append(gradient(model, *attacker.with_property(BATCH, share)))
                collected["victim"].append(gradient(model, *victim.with_property(BATCH, share)))
        # One batch is one update, of the clients in turn.
        x, y = (attacker, victim)[turn % 2].batch(BATCH)
        optimizer.zero_grad()
        LOSS(model(x), y).backward()
        optimizer.step()
        if turn % 1000 == 999:
            work.say(
                f"{setting.key}: round {turn + 1} of {setting.rounds}, accuracy {accuracy(model, found, test):.3f}"
            )
    final = [
        gradient(model, *victim.with_property(BATCH, share))
        for _ in range(setting.final // 2)
        for share in (0.0, SHARE)
    ]
    layers = list(final[0]["maxima"])
    has = {name: np.arange(len(rows)) % 2 for name, rows in {**collected, "final": final}.items()}
    attacks = {}
    for kind in FEATURES:
        trained, sent = (stacked(collected[who], kind) for who in ("attacker", "victim"))
        attacks[kind] = areas(trained, has["attacker"], sent, has["victim"])
    rows = random.choice(np.concatenate(shares), 64 if setting.most is None else 16, replace=False)
    x, y = found.x[rows], found.y[rows]
    sensitivity = {
        f"{wrt}, {norm}": layer_sensitivity(model, LOSS, x, y, wrt=wrt, norm=norm)["sensitivity"].to_numpy()
        for wrt, norm in READINGS
    }
    return {
        "setting": setting.__dict__,
        "title": found.title,
        "test_accuracy": accuracy(model, found, test),
        "majority": float(max(found.y.float().mean(), 1 - found.y.float().mean())),
        "layers": layers,
        "rows": len(has["victim"]),
        "auc": attacks,
        "information": information(stacked(final, "maxima"), has["final"], folds=5 if setting.most is None else 2),
        "sensitivity": {**sensitivity, "label, fro, neurons": by_neurons(model, x, sensitivity["label, fro"])},
    }


def gradient(model: nn.Sequential, x: torch.Tensor, y: torch.Tensor) -> dict[str, dict[str, np.ndarray]]:
    """Return what an attacker sees of a batch's gradient, weights layer by layer, in three ways."""
    layers = {name: layer for name, layer in model.named_children() if hasattr(layer, "weight")}
    found = torch.autograd.grad(LOSS(model(x), y), [layer.weight for layer in layers.values()])
    sent = Gradients.of({name: each[None].numpy() for name, each in zip(layers, found, strict=True)})
    seen = {kind: {name: sent.features(name, kind, width=WIDTH, seed=0)[0] for name in layers} for kind in FEATURES[:2]}
    seen["sketch"] = {name: sketched(each.numpy().ravel()) for name, each in zip(layers, found, strict=True)}
    return {kind: {name: row.astype(np.float32) for name, row in rows.items()} for kind, rows in seen.items()}


def sketched(gradient: np.ndarray) -> np.ndarray:
    """Add each entry with a random sign to one of a few numbers, which keeps squared distances on average."""
    if len(gradient) <= WIDTH:
        return gradient
    random = np.random.default_rng(0)
    signs = random.integers(0, 2, len(gradient)) * 2.0 - 1.0
    return np.bincount(random.integers(0, WIDTH, len(gradient)), signs * gradient, minlength=WIDTH)


def stacked(rows: list[dict[str, dict[str, np.ndarray]]], kind: str) -> dict[str, np.ndarray]:
    """Return one array a layer, a batch a row."""
    return {name: np.stack([row[kind][name] for row in rows]) for name in rows[0][kind]}


def areas(
    trained: dict[str, np.ndarray], has: np.ndarray, sent: dict[str, np.ndarray], truth: np.ndarray
) -> dict[str, float]:
    """Return the area under the ROC curve of property inference (Melis et al. 2019), by layer and of all together."""
    known, unknown = ({**rows, "all layers": np.concatenate(list(rows.values()), axis=1)} for rows in (trained, sent))
    found = {}
    for name, rows in known.items():
        forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(rows, has)
        found[name] = float(roc_auc_score(truth, forest.predict_proba(unknown[name])[:, 1]))
    return found


def information(rows: dict[str, np.ndarray], has: np.ndarray, folds: int) -> dict[str, list[float]]:
    """Return usable information in nats, of two families, of batches that were held out and of those fitted on."""
    found = {
        f"{family}, held out": np.log(2)
        * usable_information(rows, has, family=family, features="entries", folds=folds)["usable_information"].to_numpy()
        for family in ("forest", "logistic")
    }
    for family, fitted in (
        ("forest", RandomForestClassifier(100, min_samples_leaf=5, random_state=0)),
        # No penalty to speak of: the infimum over the family.
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(C=1e4, max_iter=300))),
    ):
        found[f"{family}, in sample"] = np.array(
            [np.log(2) - log_loss(has, fitted.fit(values, has).predict_proba(values)) for values in rows.values()]
        )
    return {key: values.tolist() for key, values in found.items()}


def by_neurons(model: nn.Sequential, x: torch.Tensor, sensitivity: np.ndarray) -> np.ndarray:
    """Return the sensitivity with psi counted by neurons: outputs times inputs of the layer, not its weights."""
    found = []
    for layer in model:
        before = x
        x = layer(x)
        if hasattr(layer, "weight"):
            found.append(layer.weight.numel() / (before[0].numel() * x[0].numel()))
    return sensitivity * np.sqrt(found)


def accuracy(model: nn.Module, found: Any, rows: np.ndarray) -> float:
    """Return the share of these people whose class is found."""
    with torch.no_grad():
        right = [(model(found.x[part]).argmax(1) == found.y[part]).float().sum() for part in np.array_split(rows, 20)]
    return float(torch.stack(right).sum()) / len(rows)


def summarize(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over seeds with 95% intervals, who leads, and correlations over layers."""
    layers, name = runs[0]["layers"], runs[0]["setting"]["network"]

    def over(values: list[list[float]]) -> dict[str, Any]:
        table = np.array(values)
        each = [interval(table[:, i]) for i in range(len(layers))]
        leads = [layers[int(i)] for i in table.argmax(1)]
        return {
            "mean": [mean for mean, _ in each],
            "half_width": [half for _, half in each],
            "leads": leads,
            "leads_as_printed": sum(layer in PAPER[name] for layer in leads),
        }

    auc = {kind: [[run["auc"][kind][layer] for layer in layers] for run in runs] for kind in FEATURES}
    others = {
        **{f"information: {key}": [run["information"][key] for run in runs] for key in runs[0]["information"]},
        **{f"sensitivity: {key}": [run["sensitivity"][key] for run in runs] for key in runs[0]["sensitivity"]},
    }
    correlations = {}
    for key, values in others.items():
        each = np.array([_correlation(a, b) for a, b in zip(auc["maxima"], values, strict=True)])
        correlations[key] = dict(zip(("mean", "half_width"), interval(each), strict=True))
    return {
        "title": runs[0]["title"],
        "network": name,
        "seeds": len(runs),
        "which": [run["setting"]["seed"] for run in runs],
        "rounds": runs[0]["setting"]["rounds"],
        "test_accuracy": dict(
            zip(("mean", "half_width"), interval(np.array([r["test_accuracy"] for r in runs])), strict=True)
        ),
        "majority": runs[0]["majority"],
        "layers": layers,
        "auc": {kind: over(values) for kind, values in auc.items()},
        "auc_all_layers": {kind: interval(np.array([r["auc"][kind]["all layers"] for r in runs])) for kind in FEATURES},
        **{key: over(values) for key, values in others.items()},
        # Seeds differ in scale by far more than layers do: what is compared over layers is the share of the largest.
        **{
            f"relative {key}": over([(np.array(each) / max(each)).tolist() for each in values])
            for key, values in others.items()
            if key.startswith("sensitivity")
        },
        "correlation_with_auc": correlations,
    }


def with_earlier(before: dict[str, Any] | None, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the summary of an earlier run's seeds and of these; of these alone, if they are among them."""
    if before is None:
        return summarize(runs)
    earlier = before.get("which", list(range(before["seeds"])))
    if set(earlier) <= {run["setting"]["seed"] for run in runs}:
        return summarize(runs)
    more = [run for run in runs if run["setting"]["seed"] not in earlier]
    before = {**before, "which": earlier}
    return pooled(before, summarize(more)) if more else before


def _correlation(a: list[float], b: list[float]) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if np.std(a) > 0 and np.std(b) > 0 else float("nan")


def _shown(value: float | None) -> str:
    """Return a number as it is printed; of one seed there is no interval, which files of results hold as null."""
    return "not known" if value is None or np.isnan(value) else f"{value:.2f}"


def run(*, quick: bool, work: Work) -> Result:
    """Run the seeds of each setting."""
    warnings.simplefilter("ignore")
    done = work.pieces({each.key: partial(measure, each, work) for each in (QUICK if quick else GRID)})
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in done.values():
        groups.setdefault(f"{each['setting']['data']} {each['setting']['network']}", []).append(each)
    before = {name: each for name, each in work.before.items() if name not in ("quick", "made")}
    numbers = {name: with_earlier(before.get(name), groups.get(name, [])) for name in {**before, **groups}}
    if any(len(groups.get(name, [])) < found["seeds"] for name, found in numbers.items()):
        work.keep_stamps()
    lines = []
    for name, found in numbers.items():
        lines.append(
            f"{name}: {found['seeds']} seeds, {found['rounds']} rounds, test accuracy "
            f"{found['test_accuracy']['mean']:.3f} (majority {found['majority']:.3f})"
        )
        for kind in FEATURES:
            cells = (
                f"{layer} {mean:.3f}" for layer, mean in zip(found["layers"], found["auc"][kind]["mean"], strict=True)
            )
            lines.append(f"  AUC, {kind}: {', '.join(cells)}; leads: {found['auc'][kind]['leads']}")
        lines += [
            f"  correlation of the AUC with {key}: {_shown(value['mean'])} +- {_shown(value['half_width'])}"
            for key, value in found["correlation_with_auc"].items()
        ]
    return Result({"": draw_layers(numbers)}, numbers, lines)
