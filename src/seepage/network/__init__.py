"""Accounting along private training of networks with PyTorch and Opacus."""

from seepage.errors import MissingExtraError as _MissingExtraError

try:
    import opacus as _opacus  # noqa: F401
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise _MissingExtraError(
        f'seepage.network needs PyTorch and Opacus, and {_error.name!r} is missing: pip install "seepage[torch]"'
    ) from _error

from seepage._gradients import Gradients as Gradients
from seepage.network._amplification import poisson_factors as poisson_factors
from seepage.network._amplification import without_replacement_factor as without_replacement_factor
from seepage.network._clipping import Mechanism as Mechanism
from seepage.network._directions import patches as patches
from seepage.network._fisher import FisherAccountant as FisherAccountant
from seepage.network._information import NetworkInformation as NetworkInformation
from seepage.network._losses import exposure_order as exposure_order
from seepage.network._losses import mean_per_person as mean_per_person
from seepage.network._one_step import InputInformation as InputInformation
from seepage.network._one_step import StepInformation as StepInformation
from seepage.network._one_step import step_information as step_information
from seepage.network._one_step import step_success_rate as step_success_rate
from seepage.network._sampler import PoissonSampler as PoissonSampler
from seepage.network._schedule import VisitPlan as VisitPlan
from seepage.network.layers import PrivacyLossFilter as PrivacyLossFilter
from seepage.network.layers import Susceptibility as Susceptibility
from seepage.network.layers import Update as Update
from seepage.network.layers import collect_gradients as collect_gradients
from seepage.network.layers import layer_sensitivity as layer_sensitivity
from seepage.network.layers import susceptibility as susceptibility
from seepage.network.layers import usable_information as usable_information
