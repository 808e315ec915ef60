"""Which parameters are trained, which must stay as it was."""

from collections.abc import Iterable

from torch import nn

from seepage.errors import UnsupportedError


class TrainedParameters:
    """What of a network was trained when its accountant was made.

    Parameters
    ----------
    model : torch.nn.Module
        All that is trained.
    part : torch.nn.Module
        The part of it, or all, that the accountant was made for.
    trained : iterable of str
        The parameters of the part that were trained then.
    """

    def __init__(self, model: nn.Module, part: nn.Module, trained: Iterable[str]) -> None:
        self._model, self._part, self._trained = model, part, tuple(trained)
        self._held: list[tuple[int, bool]] = []
        """The parameters when they were last compared by name, which takes a while and is asked at every step."""

    def check(self) -> None:
        """Refuse a network in which other parameters are trained."""
        now = [(id(p), p.requires_grad) for m in self._model.modules() for p in m._parameters.values() if p is not None]
        if now == self._held:
            return
        named = dict(getattr(self._part, "_orig_mod", self._part).named_parameters())
        trained = {id(named[name]) for name in self._trained}
        changed = [name for name, p in self._model.named_parameters() if p.requires_grad != (id(p) in trained)]
        if changed:
            more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
            raise UnsupportedError(
                f"requires_grad of {', '.join(map(repr, changed[:3]))}{more} has changed since this accountant was "
                "made: what clipping bounds and what a step publishes is not what was visited. Freeze and unfreeze "
                "before the accountant is made, and make training with other layers a run of its own, with a privacy "
                "engine, an optimizer and an accountant of its own: the information of both runs adds up."
            )
        self._held = now
