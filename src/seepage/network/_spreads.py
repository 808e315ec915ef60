"""How private values are spread over people: what is known of them before training, beside what training tells."""

import numpy as np
import torch

from seepage.meaning import EmpiricalPrior
from seepage.network import _checks
from seepage.network._directions import Directions
from seepage.network._ghost import in_rows
from seepage.network._probe import LABEL, Probe
from seepage.network._records import BatchRecords, Rows

Tensor = torch.Tensor
Spreads = dict[str, tuple[EmpiricalPrior, ...]]
# Records that say how values are spread, at most, and the most values of a group of which it is told.
_RECORDS, _VALUES = 1000, 64


def spreads_of(probe: Probe, records: BatchRecords, directions: Directions, rows: Rows) -> Spreads:
    """Return how each value of each group is spread over some of these records, where a group has few values.

    Values that are the same for everybody are left out: there is nothing to guess. Of what embeddings look up there is
    no spread that anybody could picture.
    """
    if probe.private:
        return {}
    chosen = rows[np.linspace(0, len(rows) - 1, min(len(rows), _RECORDS)).round().astype(np.int64)]
    columns: dict[str, list[np.ndarray]] = {}
    with _checks.undisturbed(0):
        for _, batch in records.alike(chosen):
            for name, values in _by_group(probe.private_values(batch), directions).items():
                columns.setdefault(name, []).append(values.double().cpu().numpy())
    found = {}
    for name, parts in columns.items():
        if len({part.shape[1] for part in parts}) == 1 and 0 < parts[0].shape[1] <= _VALUES:
            whole = np.concatenate(parts)
            varied = whole[:, np.ptp(whole, axis=0) > 0]
            if varied.shape[1]:
                found[name] = tuple(EmpiricalPrior.of(column) for column in varied.T)
    return found


def _by_group(values: dict[str, Tensor], directions: Directions) -> dict[str, Tensor]:
    """Return the values of each group, shape (records, values of the group)."""
    flat = {name: in_rows(held) for name, held in values.items()}
    if directions.groups is None:
        return {directions.names[0]: torch.cat(list(flat.values()), 1)}
    masks = directions.columns({name: tuple(held.shape[1:]) for name, held in values.items()})
    inputs = next(held for name, held in flat.items() if name != LABEL)
    found = {name: inputs[:, mask.to(inputs.device)] for name, mask in zip(directions.names, masks, strict=False)}
    return {**found, LABEL: flat[LABEL]} if LABEL in flat else found
