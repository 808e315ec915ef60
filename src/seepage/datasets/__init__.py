"""The papers' data sets, and their preprocessing by name."""

from seepage.datasets._adult import load_adult as load_adult
from seepage.datasets._cifar import load_cifar10 as load_cifar10
from seepage.datasets._fetch import get_data_home as get_data_home
from seepage.datasets._iwpc import load_iwpc as load_iwpc
from seepage.datasets._lfw import load_lfw as load_lfw
from seepage.datasets._lfw import load_lfw_attributes as load_lfw_attributes
from seepage.datasets._mnist import load_mnist as load_mnist
from seepage.datasets._pneumonia import load_pneumonia as load_pneumonia
from seepage.datasets._preprocess import adult_features as adult_features
from seepage.datasets._preprocess import complete_adult as complete_adult
from seepage.datasets._preprocess import iwpc_features as iwpc_features
from seepage.datasets._preprocess import one_hot as one_hot
from seepage.datasets._preprocess import unit_ball_components as unit_ball_components
