"""`seepage plan`."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from seepage.cli.commands import _options as options

if TYPE_CHECKING:
    from seepage.cli.input import CommandQuestion, PolicyFile
    from seepage.linear._plan import Plan

# Where the system does not say: what Python takes with the libraries that reading a model imports.
_RESIDENT = 300_000_000


@dataclass(frozen=True, kw_only=True)
class _Plan(options.Asked):
    policy: options.PolicyOption = None
    stream: options.Stream = None


@options.taking(_Plan)
def plan(asked: _Plan) -> None:
    """Say how many rows there are, and what measuring them takes, without doing it.

    With a policy, also how many exact refits its success rates take.
    """
    from seepage._amounts import size
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import Waiting, item, screen, shortened

    with Waiting(quiet=False).shown() as waiting:
        question = asked.question(waiting, stream=asked.stream)
        file = None if asked.policy is None else PolicyFile.read(asked.policy)
        found, exact, refits = _planned(question, file)
    minutes = 60 * found.core_hours / max(min(found.workers, found.units), 1)
    about = "" if exact else "about "
    how = "a batch at a time, by processes" if question.source.stream else "at once, into memory"
    lines = {
        "rows": f"{about}{found.rows:,}",
        "features": f"{found.features:,}",
        "read": f"{how}; {found.passes} passes over them",
        "memory": f"{size(found.memory_per_worker)}{' for each worker' if question.source.stream else ''}",
        "time": f"{_lasting(60 * minutes)} on {found.workers} cores, after the start of Python",
    }
    if refits:
        listed = ", ".join(f"{count:,} for {shortened(name)}" for name, count in refits.items())
        lines["refits"] = f"{about}{sum(refits.values()):,}, which take their time besides: {listed}"
    console = screen()
    for name, words in lines.items():
        console.print(item(f"{name:<10}", words))


def _planned(question: "CommandQuestion", file: "PolicyFile | None") -> "tuple[Plan, bool, dict[str, int]]":
    from seepage.cli.input import exact_refits
    from seepage.linear import plan as plan_files
    from seepage.linear._plan import plan_in_memory

    source = question.source
    if source.stream:
        question.features  # noqa: B018  Refuses columns that are missing, with a suggestion.
        paths = list(source.paths)
        asked = partial(plan_files, question.model, paths, target=question.target)
        return asked(sample_weight=question.weight, ids=question.ids), True, {}
    columns = [name for name in (*question.features, *question.target, question.ids) if name is not None]
    base = _resident()
    with question.waiting.doing(f"reading {source.name}"):
        head = source.head(columns)
    rows = question.in_memory(head.table) if question.table is None else question.rows
    attributes = None if question.attributes is None else len(question.attributes) + 1
    found = plan_in_memory(
        question.model,
        rows.X,
        rows.y,
        rows=head.rows,
        data_bytes=head.bytes,
        attributes=attributes,
        base_bytes=base,
    )
    return found, head.exact, {} if file is None else exact_refits(file, question, head)


def _resident() -> int:
    """Return the memory that the process has taken: with the libraries that reading a model imports, not little."""
    import sys

    if sys.platform == "win32":
        return _RESIDENT
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _lasting(seconds: float) -> str:
    if seconds < 2:
        return "less than two seconds"
    if seconds < 90:
        return f"about {seconds:.0f} seconds"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.1f} hours"
