"""Functions that carry a direction, against finite differences: forward, back, and one over the other."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional as F  # noqa: N812

from seepage.network._composites import ByConstants, Gelu, GeluSlope, Normalize, NormalizeSlope

_GENERATOR = torch.Generator().manual_seed(0)


def _drawn(*shape: int, moves: bool = True) -> torch.Tensor:
    return (2 * torch.randn(shape, generator=_GENERATOR, dtype=torch.float64)).requires_grad_(moves)


_MATRIX = _drawn(2, 4, moves=False)
FUNCTIONS = {
    "gelu": (Gelu.apply, (_drawn(3, 4),)),
    "what comes back through gelu": (GeluSlope.apply, (_drawn(3, 4), _drawn(3, 4))),
    "rows less their mean": (lambda rows: Normalize.apply(rows, 1e-5), (_drawn(3, 4),)),
    "what comes back through that": (NormalizeSlope.apply, (_drawn(3, 4), _drawn(3, 4), _drawn(3, 1))),
    "a constant matrix": (lambda x: ByConstants.apply(x, _MATRIX, _MATRIX[:, 0], True), (_drawn(3, 4),)),
    "constant factors": (lambda x: ByConstants.apply(x, _MATRIX[0], None, False), (_drawn(3, 4),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_finite_differences(name):
    function, given = FUNCTIONS[name]
    assert gradcheck(function, given, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert gradgradcheck(function, given, check_fwd_over_rev=True, check_rev_over_rev=True)


def test_gelu_is_pytorchs_in_both_tails():
    x = torch.linspace(-40, 40, 1001, dtype=torch.float64)
    back, moving = torch.cos(x), torch.sin(x)
    ours = torch.func.jvp(lambda v: torch.func.vjp(Gelu.apply, v)[1](back)[0], (x,), (moving,))
    theirs = torch.func.jvp(lambda v: torch.func.vjp(F.gelu, v)[1](back)[0], (x,), (moving,))
    for found, known in zip(ours, theirs, strict=True):
        torch.testing.assert_close(found, known, rtol=1e-12, atol=1e-14)
