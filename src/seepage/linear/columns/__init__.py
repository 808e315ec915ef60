"""How features come from the raw columns: preprocessing as an affine map."""

from seepage.linear.columns._affine import Affine as Affine
from seepage.linear.columns._model import affine_of as affine_of
from seepage.linear.columns._model import feature_names as feature_names
from seepage.linear.columns._model import features_of as features_of
from seepage.linear.columns._model import fitted_columns as fitted_columns
from seepage.linear.columns._model import split as split
from seepage.linear.columns._steps import through as through
