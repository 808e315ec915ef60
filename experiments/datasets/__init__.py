"""The public data sets of the papers, and their preprocessing by name.

Files are read from the folder that SEEPAGE_DATA names, or from ~/seepage_data; `python -m experiments.datasets` fetches
them.
"""

from experiments.datasets._features import adult_features as adult_features
from experiments.datasets._features import complete_adult as complete_adult
from experiments.datasets._features import iwpc_features as iwpc_features
from experiments.datasets._features import unit_ball_components as unit_ball_components
from experiments.datasets._files import folder as folder
from experiments.datasets._files import missing as missing
from experiments.datasets._images import load_cifar10 as load_cifar10
from experiments.datasets._images import load_lfw as load_lfw
from experiments.datasets._images import load_mnist as load_mnist
from experiments.datasets._images import load_pneumonia as load_pneumonia
from experiments.datasets._tables import load_adult as load_adult
from experiments.datasets._tables import load_iwpc as load_iwpc
