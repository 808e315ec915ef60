"""A rule that output checkers know, and the number beside it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One rule."""

    name: str
    number: float
    passed: bool
    rule: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.passed else 'LOOK'}  {self.name}: {self.number:.4g} ({self.rule})"
