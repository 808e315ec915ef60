"""Attacks on one's own release: they test the bounds."""

from seepage.attacks._inversion import AttributeInversion as AttributeInversion
from seepage.attacks._membership import MembershipScore as MembershipScore
from seepage.attacks._reconstruction import Reconstruction as Reconstruction
from seepage.attacks._verify import Verification as Verification
from seepage.attacks._verify import verify as verify
