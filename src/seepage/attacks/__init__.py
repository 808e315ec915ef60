"""Attacks on one's own release: they test the bounds."""

from seepage.attacks._gradient_inversion import GradientInversion as GradientInversion
from seepage.attacks._gradient_inversion import Inversion as Inversion
from seepage.attacks._inversion import AttributeInversion as AttributeInversion
from seepage.attacks._least_squares import LeastSquares as LeastSquares
from seepage.attacks._membership import MembershipScore as MembershipScore
from seepage.attacks._property import PropertyInference as PropertyInference
from seepage.attacks._reconstruction import Reconstruction as Reconstruction
from seepage.attacks._verify import Verification as Verification
from seepage.attacks._verify import verify as verify
