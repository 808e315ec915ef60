"""What became of people: when they were last seen, whether with an event, and in which stratum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Column, Listed
from seepage.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """One outcome a row."""

    time: Array
    event: NDArray[np.bool_]
    stratum: NDArray[np.intp]
    """A number for each stratum; one for all if there are none."""
    names: tuple[str, str]
    """What status and time are called."""

    @classmethod
    def of(cls, y: Listed, count: int) -> "Outcomes":
        """Read an array with a field for the status, one for the time, and perhaps one for the stratum."""
        labels = np.asarray(y)
        names = labels.dtype.names
        if names is None or len(names) not in (2, 3):
            raise InputError(
                "The outcomes of a survival model are an array with two fields, whether there was an event and the "
                "time, and perhaps a third, the stratum: y = np.rec.fromarrays([event, time], names='event,time'), or "
                f"sksurv.util.Surv.from_arrays(event, time). Given: {labels.dtype} of shape {labels.shape}."
            )
        if labels.shape != (count,):
            raise InputError(f"X has {count} rows and y has shape {labels.shape}: one outcome a row is needed.")
        event, time = labels[names[0]], np.asarray(labels[names[1]], dtype=np.float64)
        if not np.isin(event, (0, 1)).all():
            raise InputError(f"{names[0]!r} must be true or false, or 1 or 0, in every row.")
        if not np.isfinite(time).all():
            row = int(np.argmin(np.isfinite(time)))
            raise InputError(f"{names[1]!r} is {time[row]} in row {row}: a time must be a number.")
        if not event.any():
            raise InputError(f"Nobody has an event ({names[0]!r} is never true): there is nothing to be fitted.")
        stratum = np.zeros(count, dtype=np.intp)
        if len(names) == 3:
            stratum = np.unique(labels[names[2]].astype(str), return_inverse=True)[1].ravel()
        return cls(time, event.astype(bool), stratum, (names[0], names[1]))


def labels_of(event: Column, time: Column, names: tuple[str, str], stratum: Column | None = None) -> Column:
    """Return outcomes as one array with named fields."""
    fields = [(names[0], np.bool_), (names[1], np.float64)]
    if stratum is not None:
        # Times and status may be called anything, and so may a stratum.
        free = next(name for name in ("stratum", "stratum ", "stratum  ") if name not in names)
        fields.append((free, np.intp))
    found = np.empty(len(event), dtype=fields)
    for name, values in zip(found.dtype.names or (), (event, time, stratum), strict=False):
        found[name] = values
    return found
