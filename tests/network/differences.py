"""An oracle that knows nothing of the library: finite differences of each person's published gradient."""

import math

import numpy as np
import torch
from torch import nn


def share(rate, ratio):
    """What secret sampling leaves of a step's information, drawn or not, across the gradient and along it."""
    t = np.linspace(-12, 12, 40_001)
    weight = np.exp(-t * t / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0])
    with np.errstate(over="ignore"):
        post = 1 / (1 + (1 - rate) / rate * np.exp(-(ratio * t + ratio**2 / 2)))
    return rate * float(weight @ post), rate * float(weight @ (t * t * post))


def clipped(gradient, bound, clipping="hard"):
    size = float(gradient.norm())
    if clipping == "hard":
        return gradient * min(1.0, bound / (size + 1e-6))
    u = size / bound - 1
    return gradient / (0.5 * u * (1 + math.erf(u / math.sqrt(2))) + 1)


def gradient(model, loss, values, record, trained=None):
    """The gradient of `loss(model, values, record)` in the trained parameters."""
    trained = [p for p in model.parameters() if p.requires_grad] if trained is None else trained
    found = torch.autograd.grad(loss(model, values, record), trained, allow_unused=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(found, trained, strict=True)])


def information(model, loss, values, record, directions, *, bound, scale, rate=None, clipping="hard", step=1e-6):
    """What a step gives away along each direction, by moving `values` (a list of tensors, one person) both ways."""

    def published(sign, w):
        moved = [v + sign * step * d for v, d in zip(values, w, strict=True)]
        return clipped(gradient(model, loss, moved, record), bound, clipping)

    here = clipped(gradient(model, loss, values, record), bound, clipping)
    across, along = (1.0, 1.0) if rate is None else share(rate, float(here.norm()) / scale)
    found = []
    for w in directions:
        slope = (published(1, w) - published(-1, w)) / (2 * step)
        radial = float(here @ slope) / max(float(here.norm()), 1e-300)
        found.append((across * float(slope @ slope) + (along - across) * radial**2) / scale**2)
    return np.array(found)


class Watched:
    """Real training with Opacus, each visit compared with finite differences at the weights of its step."""

    def __init__(self, make, data, loss, *, told=None, mode="hooks", epochs=3, batch_size=6, optimizer=None,
                 sampling=None, accountant=None, dtype=torch.float64, **options):  # fmt: skip
        from opacus import PrivacyEngine
        from torch.utils.data import DataLoader

        import seepage.network

        torch.manual_seed(0)
        self.make, self.data, self.epochs, self.mode = make, data, epochs, mode
        self.model = make().to(dtype)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.criterion, self.engine = loss, PrivacyEngine()
        settings = {"ids": range(len(data)), "label": "public", "sweeps": 2, "seed": 0, **(accountant or {})}
        self.accountant = seepage.network.FisherAccountant(self.model, told or loss, **settings)
        options = {"noise_multiplier": 0.9, "max_grad_norm": 0.5, "grad_sample_mode": mode, **options}
        if mode == "ghost":
            options["criterion"] = loss
        made = self.accountant.attach(
            self.engine, model=self.model, optimizer=(optimizer or torch.optim.SGD)(trained, lr=0.1),
            data_loader=DataLoader(data, batch_size=batch_size, **(sampling or {})), epochs=epochs, **options,
        )  # fmt: skip
        self.module, self.optimizer, *criterion, self.loader = made
        self.loss = criterion[0] if criterion else loss
        self.seen, self.steps = [], []
        self._listen()

    def _listen(self):
        """Keep the directions of every visit, and the weights and the mechanism of its step."""
        accountant, run = self.accountant, self.accountant._run
        directions, probed, publish = run.directions.along, run.look, run.publish
        drawn = []

        def along(group):
            direct = directions(group)

            def kept(name, values):
                drawn[-1].append((name, direct(name, values)))
                return drawn[-1][-1][1]

            return kept

        def visit(rows, batch):
            drawn.append([])
            found = probed(rows, batch)
            weights = {k: v.clone() for k, v in self.model.state_dict().items()}
            self.seen.append((accountant.steps, rows, drawn[-1], weights))
            return found

        run.directions.along, run.look = along, visit
        run.publish = lambda mechanism, sampling: (self.steps.append(mechanism), publish(mechanism, sampling))[1]

    def train(self, step=None):
        for _ in range(self.epochs):
            for batch in self.loader:
                (step or self._ordinary)(self, batch)
        return self

    @staticmethod
    def _ordinary(run, batch):
        run.optimizer.zero_grad()
        run.loss(run.module(*batch[:-1]), batch[-1]).backward()
        run.optimizer.step()

    def check(self, loss, values=lambda record: [record[0]], rtol=1e-6):
        """Compare every visit. `values(record)` are a person's private tensors, as the visit named them in order."""
        arrays = self.accountant._run.state.table("visits")
        compared = 0
        for step, rows, directions, weights in self.seen:
            if step >= self.accountant.steps:
                continue
            model, mechanism = self.make().to(next(iter(weights.values())).dtype), self.steps[step]
            model.load_state_dict(weights)
            for mine, theirs in zip(model.parameters(), self.model.parameters(), strict=True):
                mine.requires_grad_(theirs.requires_grad)
            for place, row in enumerate(rows):
                record = [
                    leaf.unsqueeze(0) if isinstance(leaf, torch.Tensor) else leaf
                    for leaf in _leaves(self.data[int(row)])
                ]
                w = [direction[place : place + 1] for _, direction in directions]
                (expected,) = information(
                    model, loss, values(record), record, [w], bound=mechanism.max_grad_norm,
                    scale=mechanism.noise_scale, rate=mechanism.sample_rate, clipping=mechanism.clipping,
                )  # fmt: skip
                at = (arrays["person"] == row) & (arrays["step"] == step)
                assert at.any()
                near = np.abs(arrays["value"][at, 0] - expected).min()
                assert near <= rtol * abs(expected) + 1e-12, (arrays["value"][at, 0], expected)
                compared += 1
        assert compared >= len(self.data)
        return self


def _leaves(item):
    from torch.utils import _pytree as pytree

    return pytree.tree_leaves(item)


def plain(function):
    """A loss of a person for the oracle, from one of output and target."""
    return lambda model, values, record: function(model(*values), record[-1])


def visited(make, data, loss=None, values=None, **settings):
    """Compare visits in a loop of one's own with finite differences, at the first weights."""
    import seepage.network

    torch.manual_seed(0)
    model, count = make().double(), len(data)
    accountant = seepage.network.FisherAccountant(
        model, nn.CrossEntropyLoss(), ids=range(count), label="public", seed=0, **settings
    )
    accountant.watch(data, steps=2)
    directions = {}

    def direct(name, held):
        directions[name] = torch.randint(0, 2, held.shape).to(held.dtype) * 2 - 1
        return directions[name]

    mechanism = seepage.network.Mechanism(max_grad_norm=0.5, noise_multiplier=0.9)
    found = mechanism.information(accountant._run.probe.products(data[:], direct))[0]
    fresh = make().double()
    fresh.load_state_dict(model.state_dict())
    for mine, theirs in zip(fresh.parameters(), model.parameters(), strict=True):
        mine.requires_grad_(theirs.requires_grad)
    for i in range(count):
        record = [column[i : i + 1] for column in data[:]]
        moved = record[:1] if values is None else values(fresh, record)
        w = [direction[i : i + 1] for direction in directions.values()]
        (expected,) = information(
            fresh, loss or plain(nn.functional.cross_entropy), moved, record, [w], bound=0.5, scale=0.45
        )
        assert abs(found[i] - expected) <= 1e-6 * abs(expected)


class Perceptron(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
