"""The Flower mod: measures what an update gives away before it leaves, and holds back what is above the limits."""

import logging
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from flwr.app import Context, Error, Message, MetricRecord
from flwr.clientapp.typing import ClientAppCallable, Mod
from flwr.common.constant import ErrorCode
from numpy.typing import NDArray
from torch import nn

from seepage._tables import Array, column_values
from seepage.errors import InputError
from seepage.federated._exposure import Exposure
from seepage.federated._following import expected_move
from seepage.federated._policy import LayerPolicy
from seepage.federated._report import SUPPORT, to_metrics
from seepage.federated._signal import Examples, Settled, measure, parameters_of, some_of
from seepage.federated._spent import Spent
from seepage.federated._training import LocalTraining
from seepage.federated._update import ReplyUpdate, State, received
from seepage.network import _layers, layer_sensitivity
from seepage.network._losses import Loss

Target = Literal["label", "output", "input"]
OnBreach = Literal["refuse", "drop", "noise"]
Data = Callable[[Message, Context], Examples]
Training = LocalTraining | Callable[[Message, Context], LocalTraining]

REFUSED = "seepage refused to send this update"
_ENOUGH_FOR_A_MEAN = 40
_log = logging.getLogger("seepage")


def leakage_mod(
    *,
    model: Callable[[], nn.Module],
    loss: Loss,
    data: Data,
    training: Training,
    policy: LayerPolicy,
    on_breach: OnBreach,
    people: int | None = None,
    probes: int = 64,
    wrt: Target = "label",
    ledger: str | PathLike[str] | None = None,
) -> Mod:
    """Return a mod for a Flower `ClientApp` that measures each update before it leaves, and enforces limits on it.

    It measures, for each layer of the update, the dFIL and the susceptibility of the people in the client's data and
    the sensitivity of the layer's gradient; adds means of them over at least ten people to the metrics of the reply;
    and fails closed: what is above its limit, or cannot be measured, does not leave.

    Parameters
    ----------
    model : callable
        Returns the network, such as its class. Its state dict has the names of the arrays that are sent.
    loss : callable
        The loss of training, such as ``torch.nn.CrossEntropyLoss()``.
    data : callable
        Given the message and the context as Flower gives them to training, returns the examples of the round and their
        labels.
    training : LocalTraining, or callable
        How the client trains, or a function of message and context that tells.
    policy : LayerPolicy
        The limits.
    on_breach : {"refuse", "drop", "noise"}
        What to do with layers above a limit: send an error instead of the update, send the server's own weights of that
        layer back, or add as much noise to the layer as its limit needs.
    people : int, optional
        Guard so many people, drawn at random in each round: limits then say nothing about the others. All by default.
        What has no limit is measured on forty of them.
    probes : int, default=64
        Random directions for dFIL, at most, of people with more than 64 values; with 64 or fewer it is exact. Limits
        are held against an upper limit, which a person's dFIL exceeds in at most one of a hundred rounds: 1.3 times
        what is measured in 64 directions, 1.9 times in 16. Who is far below the limits is measured in fewer.
    wrt : {"label", "output", "input"}, default="label"
        What sensitivity is with respect to.
    ledger : path, optional
        A file of the client's own in which what all rounds gave away is counted, beside Flower's state: for clients
        that start anew between rounds.

    Examples
    --------
    >>> import seepage
    >>> import torch
    >>> from flwr.clientapp import ClientApp
    >>> mod = seepage.federated.leakage_mod(
    ...     model=lambda: torch.nn.Linear(3, 2),
    ...     loss=torch.nn.CrossEntropyLoss(),
    ...     data=lambda message, context: (torch.randn(50, 3), torch.randint(2, (50,))),
    ...     training=seepage.federated.LocalTraining(
    ...         steps=5, batch_size=10, max_grad_norm=1.0, noise_multiplier=1.0, learning_rate=0.1
    ...     ),
    ...     policy=seepage.federated.LayerPolicy(dfil=0.5),
    ...     on_breach="refuse",
    ... )
    >>> app = ClientApp(mods=[mod])
    """
    if on_breach not in ("refuse", "drop", "noise"):
        raise InputError(f"on_breach must be 'refuse', 'drop' or 'noise', not {on_breach!r}.")
    if on_breach == "noise" and policy.sensitivity is not None:
        raise InputError("No noise changes the sensitivity of a layer: limit it with on_breach='drop' or 'refuse'.")
    if people is not None and people < SUPPORT:
        raise InputError(
            f"people must be None, for all, or at least {SUPPORT}: fewer are never reported, not {people!r}."
        )
    if not (isinstance(probes, int) and probes >= 1):
        raise InputError(f"probes must be a positive whole number, not {probes!r}.")
    with torch.random.fork_rng(devices=[]):
        network = model()
    _layers.check(network)
    _layers.warn_of_kinks(_layers.kinked(network))
    policy.check(parameters_of(network))
    file = None if ledger is None else Path(ledger)
    return _Guard(model, loss, data, training, policy, on_breach, people, probes, wrt, file)


@dataclass(frozen=True, eq=False)
class _Guard:
    model: Callable[[], nn.Module]
    loss: Loss
    data: Data
    training: Training
    policy: LayerPolicy
    on_breach: OnBreach
    people: int | None
    probes: int
    wrt: Target
    ledger: Path | None

    def __call__(self, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        if message.metadata.message_type.partition(".")[0] != "train":
            return _without_arrays(message, call_next(message, context))
        try:
            before = received(message)
        except Exception as error:
            return _unmeasured(message, error)
        start = time.perf_counter()
        reply = call_next(message, context)
        trained = time.perf_counter() - start
        if reply.has_error():
            return reply
        try:
            breaches = self._guarded(message, context, before, reply, trained)
        except Exception as error:
            return _unmeasured(message, error)
        if not breaches:
            return reply
        # Which limit of which layer somebody is above is theirs: it stays here, in the client's log.
        _log.error("%s: %s", REFUSED, "; ".join(breaches))
        return _refusal(message, "a limit is exceeded (the client's log says which)")

    def _guarded(self, message: Message, context: Context, before: State, reply: Message, trained: float) -> list[str]:
        """Measure the reply, change what must be changed, and add metrics; return the breaches that forbid it."""
        start = time.perf_counter()
        generator = torch.Generator().manual_seed(secrets.randbits(63))
        training = self.training if isinstance(self.training, LocalTraining) else self.training(message, context)
        everyone = self.data(message, context)
        with torch.random.fork_rng(devices=[]):
            network = self.model()
            update = ReplyUpdate.of(reply, before, parameters_of(network))
            _check_examples(reply, len(everyone[0]))
            started = {name: torch.from_numpy(value) for name, value in before.items()}
            update.check(training, expected_move(network, self.loss, started, everyone, training, generator))
            states = [before] if training.steps == 1 else [before, {**before, **update.after}]
            weights = [{name: torch.from_numpy(value) for name, value in state.items()} for state in states]
            people = self._people(everyone, generator)
            # Noise whose presence cannot be checked earns no credit.
            noise = 0.0 if training.stride is None else training.noise_scale
            signal = measure(
                network, self.loss, weights, people, training, of=len(everyone[0]), probes=self.probes,
                settled=self._settled(list(parameters_of(network)), noise), generator=generator,
            )  # fmt: skip
            network.load_state_dict(weights[0])
            sensitivity = _sensitivity(network, self.loss, *people["sensitivity"], self.wrt)
        exposure = Exposure(signal, sensitivity, dict.fromkeys(signal.layers, noise))
        breaches = self.policy.breaches({layer: exposure.worst(layer) for layer in update.sent})
        broken = dict.fromkeys(breach.layer for breach in breaches)
        if breaches and self.on_breach == "refuse":
            return [str(breach) for breach in breaches]
        if breaches and self.on_breach == "drop":
            update.drop(broken)
            update.write()
        if breaches and self.on_breach == "noise":
            exposure = self._noised(update, exposure, training, list(broken))
            remaining = self.policy.breaches({layer: exposure.worst(layer) for layer in update.sent})
            if remaining:
                return [str(breach) for breach in remaining]
            update.write()
        dropped = {layer for layer in signal.layers if layer not in update.sent}
        dropped |= set(broken) if self.on_breach == "drop" else set()
        noised = set(broken) if self.on_breach == "noise" else set()
        whole = exposure.worst_whole([layer for layer in signal.layers if layer not in dropped])
        over = self._over(whole, Spent(context, self.ledger))
        if over:
            return over
        overall = {
            "people": len(people["all"][0]),
            "training_seconds": trained,
            "measuring_seconds": time.perf_counter() - start,
        }
        _add(reply, to_metrics(exposure.rows(dropped, noised), overall))
        return []

    def _over(self, whole: float, spent: Spent) -> list[str]:
        """Count what the update gives away as a whole, unless it is above a limit; return the limits."""
        policy = self.policy
        if policy.update_dfil is not None and not whole <= policy.update_dfil * (1 + 1e-9):
            return [f"dfil of the whole update is above {policy.update_dfil:g}"]
        if policy.total_dfil is not None:
            if not spent.within(whole, policy.total_dfil):
                return [f"dfil of all rounds is above {policy.total_dfil:g}"]
            spent.add(whole)
        return []

    def _settled(self, layers: list[str], noise: float) -> Settled:
        """Return who needs no closer look: those surely within all limits, and those surely above one."""
        policy = self.policy

        def bar(limit: float) -> float:
            return (noise * limit) ** 2 if limit < math.inf else math.inf

        bars = np.array([bar(policy.limit("dfil", layer)) for layer in layers])
        whole = bar(math.inf if policy.update_dfil is None else policy.update_dfil)

        def settled(upper: Array, lower: Array) -> NDArray[np.bool_]:
            if self.on_breach != "noise" and (noise == 0 or (self.on_breach == "refuse" and (lower > bars).any())):
                return np.ones(len(upper), dtype=bool)
            # What all rounds gave away is that of the most exposed: nobody else needs to be known closely.
            most = lower.sum(1).max() if policy.total_dfil is not None else math.inf
            return np.asarray((upper <= bars).all(1) & (upper.sum(1) <= min(whole, most)))

        return settled

    def _people(self, everyone: Examples, generator: torch.Generator) -> dict[str, Examples]:
        """Return whom to measure for what: all for what has a limit, some for the mean of what has none."""
        guarded = some_of(everyone, self.people, generator)
        some = some_of(guarded, _ENOUGH_FOR_A_MEAN, generator)
        policy = self.policy
        limited = {
            "dfil": any(limit is not None for limit in (policy.dfil, policy.update_dfil, policy.total_dfil)),
            "susceptibility": policy.susceptibility is not None,
        }
        # Of sensitivity, the mean is what is limited.
        return {"all": guarded, "sensitivity": some} | {k: guarded if v else some for k, v in limited.items()}

    def _noised(self, update: ReplyUpdate, exposure: Exposure, training: LocalTraining, layers: list[str]) -> Exposure:
        """Add to each layer the noise that its limits need, and return what is exposed then."""
        if training.stride is None:
            raise InputError(
                "on_breach='noise' needs the learning rate of plain gradient descent: without it nobody knows how much "
                "noise on the update a limit on gradients needs."
            )
        needed = {layer: exposure.noise_for(self.policy, layer) for layer in layers}
        extra = {
            layer: training.stride * math.sqrt(max(scale**2 - exposure.noise[layer] ** 2, 0.0))
            for layer, scale in needed.items()
        }
        update.add_noise(extra)
        return replace(exposure, noise={**exposure.noise, **needed})


def _sensitivity(network: nn.Module, loss: Loss, x: torch.Tensor, y: torch.Tensor, wrt: Target) -> dict[str, float]:
    found = layer_sensitivity(network, loss, x, y, wrt=wrt, norm="fro", batch_size=256)
    return dict(zip(column_values(found["name"]), map(float, column_values(found["sensitivity"])), strict=True))


def _check_examples(reply: Message, count: int) -> None:
    """Refuse a reply that says it is about other people than the mod was given."""
    for record in reply.content.metric_records.values():
        said = record.get("num-examples")
        if said is not None and said != count:
            raise InputError(
                f"The reply is about {said} examples, but data returned {count}: measure those of the round."
            )


def _add(reply: Message, metrics: dict[str, float]) -> None:
    """Put metrics beside those that the client reports: strategies expect one record of them."""
    records = reply.content.metric_records
    if records:
        next(iter(records.values())).update(metrics)
    else:
        reply.content["metrics"] = MetricRecord(dict(metrics))


def _without_arrays(message: Message, reply: Message) -> Message:
    """Let a reply to anything but training pass, unless it holds arrays, which nobody has measured."""
    if reply.has_content() and reply.content.array_records:
        return _refusal(message, f"a reply to {message.metadata.message_type!r} may not hold arrays")
    return reply


def _unmeasured(message: Message, error: Exception) -> Message:
    # The text of an error may quote data: it stays here, in the client's log.
    _log.error("%s: it could not be measured.", REFUSED, exc_info=error)
    return _refusal(message, f"it could not be measured ({type(error).__name__}; the client's log says why)")


def _refusal(message: Message, reason: str) -> Message:
    return Message(Error(ErrorCode.MOD_FAILED_PRECONDITION, f"{REFUSED}: {reason}"), reply_to=message)
