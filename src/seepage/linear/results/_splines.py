"""Splines of a formula that may leave: those whose knots somebody gave."""

from seepage.errors import UnsupportedError
from seepage.linear.columns import Basis, Factor, basis_of


def given_splines(factor: Factor) -> Basis | None:
    """Return the splines that a factor is made of, if it is; refuse knots that were taken from people."""
    found = basis_of(factor)
    if found is None:
        return None
    lacking = [name for name in ("knots", "lower_bound", "upper_bound") if found.told.get(name) is None]
    if not lacking and found.told.get("constraints") is None:
        return found
    called, what = factor.code.partition("(")[0], ", ".join(lacking) or "the center"
    column = factor.names[0] if factor.names[0].isidentifier() else f"Q({factor.names[0]!r})"
    raise UnsupportedError(
        f"The term {factor.code!r} of this formula took values of single people for {what}. Give numbers of "
        f"your own: {called}({column}, knots=[40, 60], lower_bound=20, upper_bound=90), and fit again."
    )
