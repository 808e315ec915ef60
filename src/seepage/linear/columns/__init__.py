"""How features come from the raw columns: preprocessing as an affine map."""

from seepage.linear.columns._affine import Affine as Affine
from seepage.linear.columns._check import Missing as Missing
from seepage.linear.columns._check import check_map as check_map
from seepage.linear.columns._check import is_single as is_single
from seepage.linear.columns._check import missing_cells as missing_cells
from seepage.linear.columns._chosen import chosen as chosen
from seepage.linear.columns._chosen import search_of as search_of
from seepage.linear.columns._claims import Claim as Claim
from seepage.linear.columns._model import affine_of as affine_of
from seepage.linear.columns._model import feature_names as feature_names
from seepage.linear.columns._model import features_of as features_of
from seepage.linear.columns._model import fitted_columns as fitted_columns
from seepage.linear.columns._model import split as split
from seepage.linear.columns._steps import is_called as is_called
from seepage.linear.columns._steps import learns as learns
from seepage.linear.columns._steps import positions as positions
from seepage.linear.columns._steps import single_steps as single_steps
from seepage.linear.columns._steps import through as through
