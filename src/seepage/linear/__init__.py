"""Exact information of linear models."""

from seepage.linear._fit import fit as fit
from seepage.linear._measure import measure as measure
from seepage.linear.columns import Claim as Claim
from seepage.linear.columns import Features as Features
from seepage.linear.columns import through as through
from seepage.linear.objective import GLM as GLM
from seepage.linear.objective import Likelihood as Likelihood
from seepage.linear.objective import Logistic as Logistic
from seepage.linear.objective import Loss as Loss
from seepage.linear.objective import Objective as Objective
from seepage.linear.objective import Squared as Squared
from seepage.linear.objective import reader as reader
from seepage.linear.survival import Cox as Cox
from seepage.linear.written import ModelTable as ModelTable
