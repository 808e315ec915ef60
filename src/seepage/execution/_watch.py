"""Who is told how far the work is."""

from collections.abc import Callable

Watch = Callable[[int], None]
"""Is told how many more units have finished."""


def unwatched(more: int) -> None:
    """Tell nobody."""
