"""What the questions to a measurement are made of."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seepage.meaning import TwoNormals

Assurance = Literal["exact", "estimated", "heuristic", "approximate"]
"""Whether numbers are exact, estimated (with a standard error), heuristic, or about attackers who use averages."""
Kind = Literal["examples", "attributes"]
"""Whether people or their attributes are spoken of."""
Prior = Literal["data"] | Mapping[str, float] | None
"""What is known before the release: how the data are spread, Gaussians of the variances of a mapping, or nothing."""
Variance = float | tuple[float, ...]
"""Of an attribute: one number, or one for each of several numbers that it is."""
By = object
"""Groups of people: the name of a column, a label for each person, or None for the groups that `measure` was given."""
Who = object
"""Some people: None for everyone, a mapping from columns to values, or True and False for each person."""
Move = Callable[[NDArray[np.intp]], tuple[float, TwoNormals | None]]
"""How far a release moves, in units of its noise, if a value changes in some rows; and both if noises differ."""
