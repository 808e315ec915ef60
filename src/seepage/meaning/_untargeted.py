"""Attributes without a target in a policy."""

from collections.abc import Callable
from dataclasses import dataclass

# As many names as a reader takes in; what the model predicts is always among them.
_MOST_NAMES = 8


@dataclass(frozen=True)
class Untargeted:
    """The private attributes that a policy sets no target for.

    Attributes
    ----------
    attributes : tuple of str
        Their names, in the order of the data.
    outcome : tuple of str
        Those of them that the model predicts.
    public : bool
        Whether the policy declares them public.
    """

    attributes: tuple[str, ...]
    outcome: tuple[str, ...]
    public: bool

    @property
    def is_open(self) -> bool:
        """True if an attribute is neither limited nor declared public: a policy that is met is no all-clear then."""
        return bool(self.attributes) and not self.public

    def sentence(self, called: Callable[[str], str] = str) -> str:
        """Return which they are, each written as `called` says; nothing where every attribute has a target."""
        if not self.attributes:
            return ""
        others = [called(name) for name in self.attributes if name not in self.outcome]
        more = [f"{len(others) - _MOST_NAMES:,} more"] if len(others) > _MOST_NAMES else []
        predicted = " and ".join(map(called, self.outcome))
        named = [*others[:_MOST_NAMES], *more, *([f"{predicted} (what the model predicts)"] if predicted else [])]
        start = "The policy declares public what it does not name" if self.public else "No target for"
        return f"{start}: {', '.join(named)}."
