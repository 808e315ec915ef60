"""How wide data may be: matrices of features by features must fit a worker."""

from seepage.errors import InputError

# The Hessian, its inverse, the response to the data and its rotation, in the pass that holds most of them.
_MATRICES = 4
WIDEST = 20_000


def _matrices_bytes(width: int) -> int:
    """Return the memory of the square matrices that a worker holds."""
    return _MATRICES * 8 * width**2


def check_width(width: int) -> None:
    """Refuse data so wide that its matrices would not fit, before anything is computed."""
    if width > WIDEST:
        needed, limit = (f"{_matrices_bytes(size) / 1e9:,.0f} GB" for size in (width, WIDEST))
        raise InputError(
            f"The model has {width:,} parameters, and each worker would need {needed} for its square matrices; up to "
            f"{WIDEST:,} parameters ({limit}) are measured. Fit on fewer features: select them, or reduce them with "
            "TruncatedSVD in the pipeline."
        )
