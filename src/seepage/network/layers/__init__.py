"""Measures of layers: sensitivity, usable information (Mo et al. 2021) and susceptibility (Mueller et al. 2022)."""

from seepage.network.layers._sensitivity import layer_sensitivity as layer_sensitivity
from seepage.network.layers._susceptibility import PrivacyLossFilter as PrivacyLossFilter
from seepage.network.layers._susceptibility import Susceptibility as Susceptibility
from seepage.network.layers._susceptibility import susceptibility as susceptibility
from seepage.network.layers._usable_information import Update as Update
from seepage.network.layers._usable_information import collect_gradients as collect_gradients
from seepage.network.layers._usable_information import usable_information as usable_information
