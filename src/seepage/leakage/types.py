"""Types of the questions to a measurement."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seepage.meaning import TwoNormals

Assurance = Literal["exact", "estimated", "heuristic", "approximate"]
"""Kind of numbers: exact, estimated (with a standard error), heuristic, or about attackers who use averages."""
Kind = Literal["examples", "attributes"]
"""Rows of an answer: people, or their attributes."""
Prior = Literal["data"] | Mapping[str, float] | None
"""Knowledge before the release: the distribution of the data, Gaussians of the variances of a mapping, or none."""
Variance = float | tuple[float, ...]
"""Of an attribute: one number, or one for each of several numbers that it is."""
By = object
"""Groups of people: the name of a column, a label for each person, or None for the groups that `measure` was given."""
Who = object
"""Some people: None for everyone, a mapping from columns to values, or True and False for each person."""
Move = Callable[[NDArray[np.intp]], tuple[float, TwoNormals | None]]
"""Distance of releases, in units of the noise, if a value changes in some rows; of both noises if they differ."""
