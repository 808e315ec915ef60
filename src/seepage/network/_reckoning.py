"""From what visits found along a run to what the run has given away."""

import numpy as np
from numpy.typing import NDArray

from seepage.errors import UnansweredError
from seepage.leakage import Distances, PeopleInMemory
from seepage.network._assumptions import assumptions
from seepage.network._course import Course
from seepage.network._estimator import estimate
from seepage.network._findings import VisitFindings
from seepage.network._information import NetworkInformation
from seepage.network._names import NetworkNames
from seepage.network._schedule import Schedule
from seepage.network._spreads import spreads_of
from seepage.network._visiting import Visiting


def reckon(
    course: Course,
    findings: VisitFindings,
    schedule: Schedule,
    visiting: Visiting,
    names: NetworkNames,
    *,
    label: str,
    attached: bool,
) -> NetworkInformation:
    """Return what has been given away so far, about those who have been visited."""
    visits = findings.visits.arrays()
    # Of somebody with several records, a part of them says less than all: nothing is said until all were visited.
    visited = np.isin(np.arange(len(names)), visits["person"])
    answered = np.flatnonzero(names.summed(visited.astype(np.float64)) == names.records)
    if course.steps == 0 or not len(answered):
        raise UnansweredError(
            "No step of training has been accounted for yet. Train first: attach the accountant to Opacus, or call "
            "watch and step in a loop of your own."
        )
    if attached and not course.secret and course.batches < course.steps:
        raise UnansweredError(
            f"{course.steps} steps were taken with {course.batches} batches: some were used more than once, and "
            "who took part in which step is not known. Take each batch from the data loader."
        )
    assert schedule.stretches is not None
    assert visiting.records is not None
    taken, plain_taken = course.taken(schedule.stretches)
    # Visits at weights whose step was never taken tell nothing.
    visits = {name: values[visits["step"] < course.steps] for name, values in visits.items()}
    found = estimate(visits, schedule.stretches, course.scales(), taken, plain_taken, names.summed)
    sizes = names.summed(findings.sizes)
    seen = np.zeros(taken.shape, dtype=bool)
    seen[visits["person"], visits["stretch"]] = True
    told = _told(course, findings, schedule, visiting, names, answered) if visiting.categories else {}
    facts = assumptions(
        course.history,
        visiting.known,
        label=label,
        categories=tuple(told),
        sweeps=min(schedule.sweeps, taken.shape[1]),
        probes=visiting.probes,
        visits=len(visits["person"]),
        several=bool((sizes[answered] > 1).any()),
        unanswered=len(names.people) - len(answered),
        unlimited=int(np.isinf(found.traces[answered]).any(1).sum()),
        records=int(names.records.max()),
        overdrawn=course.batches / course.steps - 1 if attached and not course.secret else 0.0,
        unfinished=1 - float(seen[visited].mean()),
        largest=found.largest,
    )
    return NetworkInformation(
        people=PeopleInMemory(names.people[answered]),
        attribute_names=(*visiting.directions.names, *told),
        categorical=frozenset(told),
        told=told,
        spread=spreads_of(visiting.probe, visiting.records, visiting.directions, np.flatnonzero(visited)),
        sizes=sizes[answered],
        steps=(taken.sum(1)[:1].repeat(len(names.people)) if course.secret else names.summed(taken.sum(1)))[answered],
        traces=found.traces[answered],
        unamplified=found.plain[answered],
        uncertainty=found.variance[answered],
        doubt=found.doubt[answered],
        mechanisms=course.releases(),
        records=int(names.records.max()),
        assumptions=facts,
    )


def _told(
    course: Course,
    findings: VisitFindings,
    schedule: Schedule,
    visiting: Visiting,
    names: NetworkNames,
    answered: NDArray[np.intp],
) -> dict[str, Distances]:
    """Return how far training moves with each category of those who are answered, record by record.

    Squared distances add up over the steps that a record takes part in, which are as many as it is expected to: how
    often the best test is right is concave in their sum, so that it is right less often where chance decides.
    """
    assert schedule.stretches is not None
    _, taken = course.taken(schedule.stretches)
    gaps = findings.gaps.arrays()
    gaps = {name: values[gaps["step"] < course.steps] for name, values in gaps.items()}
    squared = estimate(gaps, schedule.stretches, course.scales(), taken, taken).traces
    rows = np.flatnonzero(np.isin(names.owner, answered))
    whose = np.searchsorted(answered, names.owner[rows])
    found, start = {}, 0
    for i, category in enumerate(visiting.categories):
        truth, end = findings.truth[rows, i], start + len(category.values)
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
