"""Meaning of the numbers: from information to errors, rates and guarantees, in formulas and in words."""

from seepage.meaning._differential import Guarantee as Guarantee
from seepage.meaning._differential import check_delta as check_delta
from seepage.meaning._differential import gaussian_epsilon as gaussian_epsilon
from seepage.meaning._differential import output_perturbation as output_perturbation
from seepage.meaning._differential import reconstruction_floor as reconstruction_floor
from seepage.meaning._epsilon import EpsilonMeaning as EpsilonMeaning
from seepage.meaning._epsilon import from_epsilon as from_epsilon
from seepage.meaning._floors import beyond_range as beyond_range
from seepage.meaning._floors import biased_floor as biased_floor
from seepage.meaning._floors import says_nothing as says_nothing
from seepage.meaning._floors import unbiased_floor as unbiased_floor
from seepage.meaning._glossary import Term as Term
from seepage.meaning._glossary import glossary as glossary
from seepage.meaning._glossary import name_of as name_of
from seepage.meaning._priors import EmpiricalPrior as EmpiricalPrior
from seepage.meaning._priors import GaussianPrior as GaussianPrior
from seepage.meaning._success import distance_for as distance_for
from seepage.meaning._success import success_rate as success_rate
from seepage.meaning._target import Target as Target
from seepage.meaning._two_normals import TwoNormals as TwoNormals
from seepage.meaning._untargeted import Untargeted as Untargeted
