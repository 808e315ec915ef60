"""Riding along with Opacus: its own training step carries the direction."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from opacus.data_loader import dtype_safe, shape_safe, wrap_collate_with_empty
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping, DPTensorFastGradientClipping
from opacus.utils.uniform_sampler import DistributedUniformWithReplacementSampler, UniformWithReplacementSampler
from torch import nn

from seepage._errors import InputError, UnansweredError, UnsupportedError
from seepage.network._accountant import Visit
from seepage.network._clipping import SmoothClipping
from seepage.network._loader import Listener, announcing
from seepage.network._sampler import PoissonSampler
from seepage.network._sketch import sketch_rows
from seepage.network._step import Mechanism
from seepage.network._tangents import TangentPass

if TYPE_CHECKING:
    from seepage.network._accountant import FisherAccountant

Tensor = torch.Tensor
_MODES = ("hooks", "functorch", "ghost")
_LABELS = ("label", "labels", "target", "targets", "y")


def attach(
    accountant: "FisherAccountant", engine: Any, model: nn.Module, optimizer: Any, loader: Any, options: dict[str, Any]
) -> tuple["Attachment", Any]:
    """Make training private, and listen to it. Returns the attachment and what Opacus's users get."""
    _check(accountant, model, loader, options)
    rate, sampling, options = _sampling(loader, options)
    make = engine.make_private_with_epsilon if "target_epsilon" in options else engine.make_private
    module, optimizer, *criterion, loader = make(module=model, optimizer=optimizer, data_loader=loader, **options)
    if isinstance(loader.batch_sampler, UniformWithReplacementSampler | DistributedUniformWithReplacementSampler):
        # It compares float32 random numbers, which are multiples of 2^-24, with the rate: this is the real one.
        rate, sampling = math.ceil(loader.batch_sampler.sample_rate * 2**24) / 2**24, "opacus"
    elif isinstance(loader.batch_sampler, PoissonSampler):
        # Opacus takes the rate to be one over the number of batches.
        exact = loader.batch_sampler.sample_rate
        optimizer.expected_batch_size = len(loader.dataset) * exact
        optimizer.attach_step_hook(engine.accountant.get_optimizer_hook_fn(sample_rate=exact))
    attachment = Attachment(accountant, engine, module, optimizer, rate, sampling, options)
    collate = loader.collate_fn
    if isinstance(loader.batch_sampler, PoissonSampler):
        # Nobody may be in a batch: Opacus's own loaders know what such a batch looks like.
        first = loader.dataset[0]
        collate = wrap_collate_with_empty(
            collate_fn=collate,
            sample_empty_shapes=[(0, *shape_safe(x)) for x in first],
            dtypes=[dtype_safe(x) for x in first],
        )
    loader = announcing(loader, collate, attachment)
    if not criterion:
        return attachment, (module, optimizer, loader)
    return attachment, (module, optimizer, _Criterion(criterion[0], attachment), loader)


def _check(accountant: "FisherAccountant", model: nn.Module, loader: Any, options: dict[str, Any]) -> None:
    if accountant.model is not model and accountant.model not in list(model.modules()):
        raise InputError("model= is another network than the one this accountant was made for.")
    if len(loader.dataset) != len(accountant._ids):
        raise InputError(
            f"The data loader's data set has {len(loader.dataset)} examples, but ids names {len(accountant._ids)}."
        )
    for name in ("max_grad_norm", "noise_multiplier"):
        if name not in options and not (name == "noise_multiplier" and "target_epsilon" in options):
            raise InputError(f"attach needs {name}=, as make_private does: how private training is has no default.")
    if options.get("noise_multiplier", 1.0) == 0:
        raise InputError(
            "noise_multiplier is 0: gradients published without noise carry infinite information about everyone."
        )
    mode = options.get("grad_sample_mode", "hooks")
    if mode not in _MODES:
        raise UnsupportedError(f"grad_sample_mode must be one of {list(_MODES)}, not {mode!r}.")
    if options.get("clipping", "flat") != "flat":
        raise UnsupportedError(
            f"Opacus's clipping={options['clipping']!r} cannot be accounted for: use the flat one, which bounds the "
            "norm of an example's whole gradient."
        )
    if not options.get("batch_first", True):
        raise UnsupportedError("batch_first=False is not supported: the first axis must be the examples.")


def _sampling(loader: Any, options: dict[str, Any]) -> tuple[float | None, str, dict[str, Any]]:
    if isinstance(loader.batch_sampler, PoissonSampler):
        # It samples as Opacus would: leave it in place.
        sampler = loader.batch_sampler
        options = {**options, "poisson_sampling": False}
        return (sampler.sample_rate, "poisson", options) if sampler.secret else (None, "seeded", options)
    return None, "other", options


class Attachment(Listener):
    """The hooks in the network, the optimizer and the loader, and the batch that is under way."""

    def __init__(
        self,
        accountant: "FisherAccountant",
        engine: Any,
        module: Any,
        optimizer: Any,
        rate: float | None,
        sampling: str,
        options: dict[str, Any],
    ) -> None:
        super().__init__()
        self.accountant, self.engine, self.module, self.optimizer = accountant, engine, module, optimizer
        self.rate, self.sampling = rate, sampling
        self.ghost = options.get("grad_sample_mode", "hooks") == "ghost"
        self.mean = options.get("loss_reduction", "mean") == "mean"
        self.passing: TangentPass | None = None
        self._visit: Visit | None = None
        self._further = 0
        self._arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self._announced: tuple[list[int], Any] | None = None
        self._batch: Any = None
        self._busy = False
        accountant.model.register_forward_pre_hook(self._before, with_kwargs=True)
        accountant.model.register_forward_hook(self._after, always_call=True)
        self._listen_to_optimizer()

    def _listen_to_optimizer(self) -> None:
        optimizer = self.optimizer
        step_hook, pre_step, zero_grad = optimizer.step_hook, optimizer.pre_step, optimizer.zero_grad

        def published(stepping: Any) -> None:
            # attach_step_hook replaces the hook of Opacus's own accountant, so it is called here.
            if step_hook is not None:
                step_hook(stepping if self.accountant.clipping == "hard" else _Widened(stepping))
            self.accountant._publish(self._mechanism(), self.sampling)

        def before_step(closure: Any = None) -> Any:
            self.finish()
            return pre_step(closure)

        def cleared(set_to_none: bool = False) -> None:
            # Gradients that are thrown away are never published. Ghost mode clears them in the midst of its passes.
            if not optimizer._is_last_step_skipped:
                self.accountant._pending.clear()
                if not self.ghost and self._has_returned():
                    self._drop()
            zero_grad(set_to_none)

        optimizer.attach_step_hook(published)
        optimizer.pre_step, optimizer.zero_grad = before_step, cleared
        if self.ghost:
            self._norms = self.module.get_norm_sample
            self.module.get_clipping_coef = self._coefficients
        elif self.accountant.clipping == "smooth":
            optimizer.clip_and_accumulate = self._clip_smoothly

    def announce(self, indices: list[int], batch: Any) -> None:
        self._announced = (indices, batch)

    def _mechanism(self) -> Mechanism:
        optimizer = self.optimizer
        return Mechanism(
            self.accountant.clipping, float(optimizer.max_grad_norm), float(optimizer.noise_multiplier), self.rate
        )

    def _before(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._busy or not model.training or not torch.is_grad_enabled():
            return None
        self._leave()
        if self._announced is None:
            raise InputError(
                "The network was run in training mode on a batch that did not come from the data loader that attach "
                "returned, or twice on the same one, so nobody knows whose it is. Use model.eval() or torch.no_grad() "
                "for anything but training."
            )
        (indices, self._batch), self._announced = self._announced, None
        count = len(args[0])
        if count != len(indices):
            raise InputError(
                f"The network was given {count} examples, but the data loader's last batch has {len(indices)}: whole "
                "batches only, so that it is known whose they are."
            )
        accountant = self.accountant
        self._busy = True
        try:
            accountant._check_mixing(args, kwargs)
        finally:
            self._busy = False
        probes = accountant._draw_probes() if count else 0
        self._visit = Visit(np.asarray(indices, dtype=np.int64), [])
        # Training's own pass can carry a direction of the inputs; its labels go into a loss that is out of reach.
        rides = probes > 0 and accountant.label == "public"
        self._arguments, self._further = (args, kwargs), probes - rides
        if not rides:
            return None
        self.passing = TangentPass(model, accountant._direct, materialize=not self.ghost)
        self.passing.scale = float(count) if self.mean else 1.0
        accountant._at_embedding = not args[0].is_floating_point()
        return self.passing.open(args), kwargs

    def _after(self, model: nn.Module, args: Any, output: Any) -> None:
        if self.passing is not None and not self._busy:
            self.passing.forwarded()
            self.accountant._note_kinks(self.passing)
            if output is None:
                self.passing.abandon()
                self.passing = None

    def _has_returned(self) -> bool:
        """Whether the backward pass of the batch under way has been done."""
        if self.passing is not None:
            return self.passing.returned
        return any(getattr(p, "grad_sample", None) is not None for p in self.optimizer.params)

    def _drop(self) -> None:
        """Forget the batch under way."""
        if self.passing is not None:
            self.passing.abandon()
        self.passing = self._visit = None

    def _leave(self) -> None:
        """Come to terms with a batch that no step followed."""
        if self.passing is not None and not self.passing.returned:
            self._drop()
        self.finish()

    def finish(self) -> Tensor | None:
        """End the pass under way and hand Opacus its gradients; return the three numbers of each example."""
        visit, passing = self._visit, self.passing
        self._visit, self.passing = None, None
        if visit is None:
            return None
        products = None
        if passing is not None:
            products = passing.close()
            visit.probes.append((products, self.accountant._chosen()))
            for parameter, gradient in passing.gradients.items():
                _append(parameter, gradient)
            if not self.ghost:
                passing.forget()
        self._look_further(visit, products)
        self.accountant._pending.append(visit)
        self._arguments, self._batch = ((), {}), None
        return products

    def _look_further(self, visit: Visit, products: Tensor | None) -> None:
        accountant = self.accountant
        sketch = accountant._sketch is not None and len(visit.rows) > 0
        if self._further < 1 and not sketch:
            return
        inputs, target = self._arguments[0], self._target()
        device = inputs[0].device
        target = target.to(device) if isinstance(target, Tensor) else target
        self._busy = True
        try:
            for _ in range(self._further):
                with accountant._open(materialize=False) as passing:
                    accountant._run(passing, inputs, target)
                    found = passing.close()
                _check_same_loss(products, found)
                visit.probes.append((found, accountant._chosen()))
            if sketch:
                visit.sketched = sketch_rows(accountant, inputs[0], target, self._mechanism())
        finally:
            self._busy = False

    def _target(self) -> Any:
        batch = self._batch
        if isinstance(batch, list | tuple) and len(batch) == 2:
            return batch[1]
        if isinstance(batch, dict):
            for name in _LABELS:
                if name in batch:
                    return batch[name]
        raise UnsupportedError(
            "More than one probe a step, or a spectrum, needs the labels: give batches as (inputs, labels), or as a "
            f"dict with one of {list(_LABELS)}."
        )

    def _coefficients(self) -> Tensor:
        """Return by how much each example's gradient is scaled: ghost mode asks for it after its first pass."""
        products = self.finish()
        norms = self._norms() if products is None else products[0].sqrt()
        self.module.per_sample_gradient_norms = norms
        return self._mechanism().rule.factor(norms)

    def _clip_smoothly(self) -> None:
        optimizer = self.optimizer
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in optimizer.grad_samples], 1).norm(dim=1)
        factors = self._mechanism().rule.factor(norms)
        for parameter, gradients in zip(optimizer.params, optimizer.grad_samples, strict=True):
            _check_processed_flag(parameter.grad_sample)
            total = torch.einsum("i,i...", factors.to(gradients), gradients)
            parameter.summed_grad = total if parameter.summed_grad is None else parameter.summed_grad + total
            _mark_as_processed(parameter.grad_sample)

    def check_complete(self) -> None:
        """Refuse to report on a run of which only a part was seen."""
        trained = sum(entry[-1] for entry in self.engine.accountant.history)
        if trained != self.accountant.steps:
            raise UnansweredError(
                f"Opacus has counted {trained} steps of training and this accountant {self.accountant.steps}: the "
                "numbers would be of another run. Save and load the accountant's state_dict together with the privacy "
                "engine's checkpoint, and attach before the first step."
            )


class _Widened:
    """The optimizer as Opacus's privacy accountant has to see it when a gradient can be longer than max_grad_norm."""

    def __init__(self, optimizer: Any) -> None:
        self.noise_multiplier = optimizer.noise_multiplier / SmoothClipping.bound
        self.accumulated_iterations = optimizer.accumulated_iterations


class _Criterion(DPLossFastGradientClipping):  # type: ignore[misc]
    """Opacus's loss for ghost mode, whose backward pass need not be done twice when a direction rides along."""

    def __init__(self, criterion: Any, attachment: Attachment) -> None:
        super().__init__(criterion.module, criterion.optimizer, criterion.criterion, criterion.loss_reduction)
        self._attachment = attachment

    def __call__(self, *args: Any, shape: Any = None, **kwargs: Any) -> Any:
        loss = super().__call__(*args, shape=shape, **kwargs)
        return _Losses(self._attachment, loss)


class _Losses(DPTensorFastGradientClipping):  # type: ignore[misc]
    """The losses of a batch. Arithmetic on them gives Opacus's own class, whose two passes work as well."""

    def __init__(self, attachment: Attachment, loss: Any) -> None:
        super().__init__(loss.module, loss.optimizer, loss.loss_per_sample, loss.loss_reduction)
        self._attachment = attachment

    def backward(self) -> None:
        passing = self._attachment.passing
        if passing is None:
            super().backward()
            return
        losses = self.loss_per_sample
        (losses.mean() if self.loss_reduction == "mean" else losses.sum()).backward()
        self.optimizer.zero_grad()
        for parameter, gradient in passing.clipped_sum(self.module.get_clipping_coef()).items():
            parameter.grad = gradient
        passing.forget()


def _append(parameter: Any, gradient: Tensor) -> None:
    """Hand Opacus the gradients of a batch, the way its own hooks do."""
    held = getattr(parameter, "grad_sample", None)
    if held is None:
        parameter.grad_sample = gradient
    elif isinstance(held, list):
        held.append(gradient)
    else:
        parameter.grad_sample = [held, gradient]


def _check_same_loss(trained: Tensor | None, ours: Tensor) -> None:
    if trained is not None and not torch.allclose(trained[0], ours[0], rtol=1e-2, atol=1e-12):
        raise InputError(
            "The gradients of training are not those of the loss that this accountant was given. Give it the loss (and "
            "its weights) that training uses; a network with dropout can only have probes of at most 1."
        )
