"""Training with Opacus: the moment of each step, its mechanism, and the records that were drawn."""

import math
from typing import Any

import torch
from opacus import PrivacyEngine
from opacus.data_loader import dtype_safe, shape_safe, wrap_collate_with_empty
from opacus.grad_sample import AbstractGradSampleModule
from opacus.optimizers import DPOptimizer
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed
from opacus.utils.uniform_sampler import DistributedUniformWithReplacementSampler, UniformWithReplacementSampler
from torch import nn

from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.network import _checks
from seepage.network._clipping import Mechanism, SmoothClipping
from seepage.network._ghost import in_rows
from seepage.network._losses import Loss, per_example
from seepage.network._names import TWICE
from seepage.network._probe import size_of
from seepage.network._records import Loader, overheard
from seepage.network._run import Run
from seepage.network._sampler import PoissonSampler
from seepage.network._twin import TrainedParameters

Tensor = torch.Tensor
Options = dict[str, Any]
_MODES = ("hooks", "functorch", "ghost")
# Drawn batches that are remembered until training has used one of them.
_REMEMBERED = 16


def attach(
    run: Run,
    engine: PrivacyEngine,
    model: nn.Module,
    optimizer: Any,
    loader: Loader,
    epochs: int,
    options: Options,
) -> tuple["Attachment", tuple[Any, ...]]:
    """Make training private, and be told of its steps. Returns the attachment and what Opacus's users get."""
    _check(run, model, optimizer, loader, epochs, options)
    _check_noise(options.get("noise_generator"), engine)
    ours = isinstance(loader.batch_sampler, PoissonSampler)
    if ours:
        # It samples as Opacus would: leave it in place.
        options = {**options, "poisson_sampling": False}
    if options.get("grad_sample_mode") == "ghost":
        loss = options.get("criterion", run.probe.loss)
        options = {**options, "criterion": _LossOfEach(loss, options.get("loss_reduction", "mean"))}
    make, given = engine.make_private, loader
    if "target_epsilon" in options:
        make, options = engine.make_private_with_epsilon, {**options, "epochs": epochs}
    module, optimizer, *criterion, loader = make(module=model, optimizer=optimizer, data_loader=loader, **options)
    rate, sampling = _sampling(loader, given, engine)
    collate = loader.collate_fn
    if ours:
        # Opacus takes the rate to be one over the number of batches.
        exact = loader.batch_sampler.sample_rate
        optimizer.expected_batch_size = len(loader.dataset) * exact
        optimizer.attach_step_hook(engine.accountant.get_optimizer_hook_fn(sample_rate=exact))
        # Nobody may be in a batch: Opacus's own loaders know what such a batch looks like.
        first = loader.dataset[0]
        collate = wrap_collate_with_empty(
            collate_fn=collate,
            sample_empty_shapes=[(0, *shape_safe(x)) for x in first],
            dtypes=[dtype_safe(x) for x in first],
        )
    attachment = Attachment(run, engine, model, module, optimizer, loader, rate, sampling, options)
    return attachment, (module, optimizer, *criterion, overheard(loader, collate, attachment.begin, attachment.draw))


def _check(
    run: Run,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loader: Loader,
    epochs: int,
    options: Options,
) -> None:
    if isinstance(optimizer, DPOptimizer) or any(
        isinstance(each, AbstractGradSampleModule) for each in model.modules()
    ):
        raise InputError(
            "Training is private already, and attach calls make_private itself: give it the model, the optimizer and "
            "the data loader as they were before."
        )
    if run.model is not model and run.model not in list(model.modules()):
        raise InputError("model= is another network than the one this accountant was made for.")
    outside = {id(p) for p in model.parameters() if p.requires_grad} - {id(p) for p in run.model.parameters()}
    if outside:
        raise InputError("This accountant was made for a part of model=, and training publishes all of it.")
    if len(loader.dataset) != run.state.people:
        raise InputError(
            f"The data loader's data set has {len(loader.dataset)} examples, but ids names {run.state.people}."
        )
    if loader.batch_sampler is None:
        raise InputError("The data loader has no batches (batch_size=None): give it a batch size or a batch sampler.")
    drawn_by = getattr(loader.batch_sampler, "sampler", None)
    if not options.get("poisson_sampling", True) and getattr(drawn_by, "replacement", False):
        raise UnsupportedError(f"{type(drawn_by).__name__} draws with replacement. {TWICE}")
    if not (isinstance(epochs, int) and epochs >= 1):
        raise InputError(f"epochs must be a positive whole number, not {epochs!r}.")
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
    for name, module in model.named_modules():
        if mode != "functorch" and getattr(module, "padding_mode", "zeros") != "zeros":
            raise UnsupportedError(
                f"The layer {name!r} pads with {module.padding_mode!r}, and Opacus's {mode} mode takes its padding for "
                "zeros: it publishes gradients that are not the layer's. Use grad_sample_mode='functorch'."
            )
    if options.get("clipping", "flat") != "flat":
        raise UnsupportedError(
            f"Opacus's clipping={options['clipping']!r} cannot be accounted for: use the flat one, which bounds the "
            "norm of an example's whole gradient."
        )
    if options.get("rand_on_empty"):
        raise UnsupportedError(
            "rand_on_empty=True trains on made-up records where nobody is drawn, and secret sampling then hides people "
            "among them otherwise than among nobody. Leave it out: steps of nobody are accounted for."
        )
    if not options.get("batch_first", True):
        raise UnsupportedError("batch_first=False is not supported: the first axis must be the examples.")
    _checks.check_optimizer(model, optimizer)


def _check_noise(generator: torch.Generator | None, engine: PrivacyEngine) -> None:
    if generator is not None and not engine.secure_mode:
        raise InputError(
            f"Noise would come from a generator that was handed in (noise_generator=, its seed is "
            f"{generator.initial_seed()}): whoever knows the seed takes the noise away, and what is left carries "
            "infinite information about everyone. Leave noise_generator out."
        )


def _sampling(loader: Loader, given: Loader, engine: PrivacyEngine) -> tuple[float | None, str]:
    """Return the rate that earns credit, if any does, and the way of sampling."""
    sampler = loader.batch_sampler
    if isinstance(sampler, PoissonSampler):
        return (sampler.sample_rate, "poisson") if sampler.secret else (None, "seeded")
    if isinstance(sampler, UniformWithReplacementSampler | DistributedUniformWithReplacementSampler):
        if given.generator is not None and not engine.secure_mode:
            return None, "seeded"
        # It compares float32 random numbers, which are multiples of 2^-24, with the rate: this is the real one.
        return math.ceil(sampler.sample_rate * 2**24) / 2**24, "opacus"
    return None, "other"


class Attachment:
    """The hook in the optimizer, and the batches that were drawn and may be under way."""

    def __init__(
        self,
        run: Run,
        engine: PrivacyEngine,
        model: nn.Module,
        module: Any,
        optimizer: Any,
        loader: Loader,
        rate: float | None,
        sampling: str,
        options: Options,
    ) -> None:
        self.run, self.engine, self.module, self.optimizer = run, engine, module, optimizer
        self.model, self.loader, self.rate, self.sampling = model, loader, rate, sampling
        self._parameters = TrainedParameters(model, run.model, run.probe.carrier.trained)
        self.rank, self.ranks = _ranks()
        self._ghost = options.get("grad_sample_mode", "hooks") == "ghost"
        self._drawn: list[list[int]] = []
        self._begun, self._mixed = 0, False
        """Batches less steps when the data loader was last begun; whether it was ever left within a batch in parts."""
        self._checked: tuple[tuple[bool, ...], int] | None = None
        self._count: int | None = None
        """The steps that Opacus had counted when this was detached."""
        # Opacus keeps one hook: its own privacy accountant's is called from ours.
        self._before = optimizer.step_hook
        optimizer.attach_step_hook(self._step)
        self._early = model.register_forward_pre_hook(_Early(run))
        if run.clipping == "smooth":
            if self._ghost:
                module.get_clipping_coef = _Coefficients(self)
            else:
                optimizer.clip_and_accumulate = self._clip_smoothly

    def begin(self) -> None:
        """Take note that the data loader begins anew: batches that were drawn and left do not count any more."""
        self._begun = self.run.state.batches - self.run.state.steps
        # A sum is then held, or Opacus takes what was said of the parts that were left for the next ones'.
        held = getattr(self.optimizer, "_is_last_step_skipped", False) or getattr(
            self.optimizer, "_step_skip_queue", ()
        )
        self._mixed |= bool(held)

    def draw(self, rows: list[int]) -> None:
        """Take note of a batch that the data loader has drawn."""
        self._check_described()
        self.run.draw(rows)
        if rows:
            self._drawn = [*self._drawn[-_REMEMBERED:], rows]

    def detach(self) -> None:
        """Leave the optimizer as it was."""
        if self._count is None:
            self._count = self._counted()
            self.optimizer.attach_step_hook(self._before)
            self._early.remove()

    def check_complete(self) -> None:
        """Refuse to report on a run of which only a part was seen."""
        counted = self._counted() if self._count is None else self._count
        if counted != self.run.state.steps:
            raise UnansweredError(
                f"Opacus has counted {counted} steps of training and this accountant {self.run.state.steps}: the "
                "numbers would be of another run. Save and load the accountant's state_dict together with the privacy "
                "engine's checkpoint, and attach before the first step."
            )

    def _counted(self) -> int:
        return int(sum(entry[-1] for entry in self.engine.accountant.history))

    def _step(self, optimizer: DPOptimizer) -> None:
        """Opacus is about to change the weights: look at them, and at how."""
        self._check_described()
        mechanism = self._mechanism()
        self._check_drawn()
        self.run.visit()
        self._compare()
        if self._before is not None:
            self._before(optimizer if self.run.clipping == "hard" else _Widened(optimizer))
        self._check_booked(mechanism)
        self.run.publish(mechanism, self.sampling)

    def _check_described(self) -> None:
        """Refuse a batch or a step after a change that no later comparison would show."""
        self._parameters.check()
        _check_noise(self.optimizer.generator, self.engine)

    def _mechanism(self) -> Mechanism:
        optimizer = self.optimizer
        scale = float(optimizer.noise_multiplier) * float(optimizer.max_grad_norm)
        # Ghost mode clips to a norm of its own, which no scheduler changes.
        bound = float(self.module.max_grad_norm if self._ghost else optimizer.max_grad_norm)
        batches = int(optimizer.accumulated_iterations) if self.rate is not None else 1
        return Mechanism(
            noise_multiplier=scale / bound,
            max_grad_norm=bound,
            sample_rate=self.rate,
            clipping=self.run.clipping,
            batches=batches,
        )

    def _check_booked(self, mechanism: Mechanism) -> None:
        if self.rate is None or self._before is None or not self.engine.accountant.history:
            return
        booked, real = float(self.engine.accountant.history[-1][1]), self.rate * mechanism.batches
        if abs(booked - real) > 1e-4 * real + 2**-23:
            raise InputError(
                f"Opacus books a sampling rate of {booked:.6g}, but batches are drawn with {real:.6g}: one of them is "
                "wrong. Do not change the sampler after attach."
            )

    def _check_drawn(self) -> None:
        """Refuse a step that adds up several secret batches which Opacus takes for one."""
        if self.rate is None or not getattr(self.optimizer, "_is_last_step_skipped", False):
            return
        # Whether to skip is said for each part of a batch when it is drawn: what is not yet used is of later batches.
        later = self.optimizer._step_skip_queue
        ahead = later.count(False) + sum(later[-1:])
        ahead = max(ahead, self.loader.num_workers * (self.loader.prefetch_factor or 0))
        if self._mixed or self.run.state.batches - self.run.state.steps > self._begun + 1 + ahead:
            raise UnsupportedError(
                "A step adds up several batches, each drawn anew, with signal_skip_step: Opacus books the rate of one. "
                "Use BatchMemoryManager to split a batch, and leave its loader only where a batch ends; or accumulate "
                "gradients (allow_grad_accumulation)."
            )

    def _compare(self) -> None:
        """See whether this is the training that was described, at the first step and whenever something changed."""
        trained = self._trained()
        run = self.run
        assert run.records is not None
        modes = tuple(module.training for module in run.model.modules())
        state = (modes, run.schedule.stretch(run.state.steps))
        if state == self._checked or trained.count == 0 or not self._drawn:
            return
        varying = bool({"random data", "random network"} & set(run.state.flags))
        with _checks.undisturbed(0):
            run.probe.carrier.follow(run.model)
            low = _checks.check_gradients(run.probe, trained, self._drawn[::-1], run.records.fetch, varying)
        run.note("low precision", low)
        self._checked = state
        self._drawn = []

    def _trained(self) -> _checks.Trained:
        """Return the gradients of the physical batch that ended this step, by name of the parameter."""
        if self._ghost:
            norms = getattr(self.module, "_per_sample_gradient_norms", None)
            return _checks.Trained(None, norms)
        named = {id(p): name for name, p in self.run.model.named_parameters()}
        held = {named.get(id(p)): p.grad_sample for p in self.optimizer.params}
        flat = {name: torch.cat(g) if isinstance(g, list) else g for name, g in held.items() if g is not None}
        order = list(self.run.probe.carrier.trained)
        if any(name not in flat for name in order):
            return _checks.Trained(None, None)
        return _checks.Trained([flat[name] for name in order], None)

    def _clip_smoothly(self) -> None:
        optimizer = self.optimizer
        norms = torch.stack([in_rows(g).norm(dim=1) for g in optimizer.grad_samples], 1).norm(dim=1)
        factors = self._mechanism().rule.factor(norms)
        for parameter, gradients in zip(optimizer.params, optimizer.grad_samples, strict=True):
            _check_processed_flag(parameter.grad_sample)
            total = torch.einsum("i,i...", factors.to(gradients), gradients)
            parameter.summed_grad = total if parameter.summed_grad is None else parameter.summed_grad + total
            _mark_as_processed(parameter.grad_sample)


class _Early:
    """Visits before a batch enters the network: gradients of the last one are gone then, and memory is free.

    Where the network is called in another way than training usually does, visits come with the step.
    """

    def __init__(self, run: Run | None) -> None:
        self._run = run

    def __call__(self, model: nn.Module, _: object) -> None:
        transformed = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
        if self._run is not None and model.training and torch.is_grad_enabled() and not transformed:
            self._run.visit()

    def __reduce__(self) -> tuple[type["_Early"], tuple[None]]:
        # A network that is copied or saved is not in training.
        return _Early, (None,)


class _LossOfEach:
    """A loss as ghost mode needs it: one number for each example; of more dimensions it would mix examples."""

    def __init__(self, loss: Loss, reduction: str) -> None:
        self.loss = loss
        # Opacus reads both: it compares reduction with its own, and leaves ignored tokens out of means.
        self.reduction, self.ignore_index = getattr(loss, "reduction", reduction), getattr(loss, "ignore_index", None)

    def __call__(self, input: object, target: object) -> Tensor:  # noqa: A002
        return per_example(self.loss, input, target, size_of((input, target)))


class _Coefficients:
    """By how much each example's gradient is scaled, smoothly: ghost mode asks for it after its first pass."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    def __call__(self) -> Tensor:
        attachment = self._attachment
        factors: Tensor = attachment._mechanism().rule.factor(attachment.module.get_norm_sample())
        return factors

    def __deepcopy__(self, memo: object) -> "_Coefficients":
        # A copy of the network does not mean a copy of its optimizer.
        return self


class _Widened:
    """The optimizer as Opacus's privacy accountant has to see it when a gradient can be longer than max_grad_norm."""

    def __init__(self, optimizer: DPOptimizer) -> None:
        self.noise_multiplier = optimizer.noise_multiplier / SmoothClipping.bound
        self.accumulated_iterations = optimizer.accumulated_iterations


def _ranks() -> tuple[int, int]:
    import torch.distributed as dist

    alone = not (dist.is_available() and dist.is_initialized())
    return (0, 1) if alone else (dist.get_rank(), dist.get_world_size())
