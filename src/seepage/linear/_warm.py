"""Imported once by a process that others are forked from: what is compiled here, they find compiled."""

import numpy as np

from seepage.core.secular import top_eigenvalues
from seepage.linear.files import _labels, _scores  # noqa: F401
from seepage.linear.rows._rows import can_be_squared

_one = np.ones(1)
can_be_squared(_one)
top_eigenvalues(_one, np.ones((1, 1)), _one, _one, _one, _one, np.ones(1), np.ones(1), np.ones(1))
