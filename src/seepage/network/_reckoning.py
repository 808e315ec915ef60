"""From what visits found along a run to what the run has given away."""

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.errors import UnansweredError
from seepage.leakage import Distances, PeopleInMemory
from seepage.meaning import EmpiricalPrior
from seepage.network import _checks
from seepage.network._assumptions import assumptions
from seepage.network._directions import Directions
from seepage.network._estimator import estimate, stretch_sums
from seepage.network._ghost import in_rows
from seepage.network._information import NetworkInformation
from seepage.network._names import NetworkNames
from seepage.network._probe import LABEL, Probe
from seepage.network._records import BatchRecords, Rows
from seepage.network._run import Run
from seepage.network._state import Array, RunState


def reckon(run: Run, state: RunState, names: NetworkNames, *, label: str, attached: bool) -> NetworkInformation:
    """Return the information released so far about everybody who has been visited."""
    visits, stretches = state.table("visits"), run.schedule.stretches
    # Of somebody with several records, a part of them says less than all: nothing is said until all were visited.
    visited = np.isin(np.arange(len(names)), visits["person"])
    answered = np.flatnonzero(names.summed(visited.astype(np.float64)) == names.records)
    if state.steps == 0 or not len(answered):
        raise UnansweredError(
            "No step of training has been accounted for yet. Train first: attach the accountant to Opacus, or call "
            "watch and step in a loop of your own."
        )
    if attached and not state.is_secret and state.batches < state.steps:
        raise UnansweredError(
            f"{state.steps} steps were taken with {state.batches} batches: some were used more than once, and "
            "who took part in which step is not known. Take each batch from the data loader."
        )
    assert stretches is not None
    assert run.records is not None
    taken, plain_taken = state.taken(stretches)
    # Visits at weights whose step was never taken tell nothing.
    visits = {name: values[visits["step"] < state.steps] for name, values in visits.items()}
    found = estimate(visits, stretches, state.scales(), taken, plain_taken, names.summed)
    sizes = names.summed(state.sizes)
    seen = np.zeros(taken.shape, dtype=bool)
    seen[visits["person"], visits["stretch"]] = True
    told = _told(run, state, names, answered) if run.categories else {}
    facts = assumptions(
        state,
        label=label,
        delta=run.delta,
        categories=tuple(told),
        sweeps=min(run.schedule.sweeps, taken.shape[1]),
        probes=run.probes,
        visits=len(visits["person"]),
        several=bool((sizes[answered] > 1).any()),
        unanswered=len(names.people) - len(answered),
        unlimited=int(np.isinf(found.traces[answered]).any(1).sum()),
        records=int(names.records.max()),
        overdrawn=state.batches / state.steps - 1 if attached and not state.is_secret else 0.0,
        unfinished=1 - float(seen[visited].mean()),
        largest=found.largest,
    )
    losses = None if run.delta is None else names.summed(_renyi(state, taken))[answered]
    return NetworkInformation(
        people=PeopleInMemory(names.people[answered]),
        attribute_names=(*run.directions.names, *told),
        categorical=frozenset(told),
        told=told,
        spread=spreads_of(run.probe, run.records, run.directions, np.flatnonzero(visited)),
        sizes=sizes[answered],
        steps=(taken.sum(1)[:1].repeat(len(names.people)) if state.is_secret else names.summed(taken.sum(1)))[answered],
        traces=found.traces[answered],
        unamplified=found.plain[answered],
        uncertainty=found.variance[answered],
        doubt=found.doubt[answered],
        mechanisms=state.releases(),
        losses=losses,
        delta=run.delta,
        records=int(names.records.max()),
        assumptions=facts,
    )


def _renyi(state: RunState, taken: Array) -> Array:
    """Return the estimated Renyi divergences of all steps, each order a sum over the stretches."""
    losses = state.table("losses")
    losses = {name: values[losses["step"] < state.steps] for name, values in losses.items()}
    found = np.stack([stretch_sums(losses, taken, column) for column in losses["value"].T], 1)
    # A gradient that overflows tells no norm.
    return np.where(np.isfinite(found), found, np.inf)


def _told(run: Run, state: RunState, names: NetworkNames, answered: NDArray[np.intp]) -> dict[str, Distances]:
    """Return how far training moves with each category of those who are answered, record by record.

    Squared distances add up over the steps that a record takes part in, which are as many as it is expected to: how
    often the best test is right is concave in their sum, so that it is right less often where chance decides.
    """
    assert run.schedule.stretches is not None
    _, taken = state.taken(run.schedule.stretches)
    gaps = state.table("gaps")
    gaps = {name: values[gaps["step"] < state.steps] for name, values in gaps.items()}
    squared = estimate(gaps, run.schedule.stretches, state.scales(), taken, taken).traces
    rows = np.flatnonzero(np.isin(names.owner, answered))
    whose = np.searchsorted(answered, names.owner[rows])
    found, start = {}, 0
    for i, category in enumerate(run.categories):
        truth, end = state.truth[rows, i], start + len(category.values)
        absent = truth == -2
        found[category.name] = Distances(
            category.values,
            np.where(absent, -1, truth),
            np.where(absent[:, None], np.nan, np.sqrt(squared[rows, start:end])),
            whose if len(rows) > len(answered) else None,
            absent if absent.any() else None,
        )
        start = end
    return found


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
