"""Check a request: each output, all of them, and all of them with what was let out before."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seepage._tables import Data
from seepage.attackers import SamplingLeakage
from seepage.errors import InputError
from seepage.execution.storage import followed
from seepage.inspection import Finder, Finding
from seepage.release import Policy
from seepage.request._alone import Alone, looked_at
from seepage.request._appetite import RiskAppetite
from seepage.request._decided import OutputVerdict, Stage
from seepage.request._given import HandedIn, handed_in
from seepage.request._people import RequestPeople
from seepage.request._targets import Targets
from seepage.request._together import overlapping, stage
from seepage.request._verdict import Verdict

_EARLIER = " (earlier)"
_BEFORE = "what was published before"
_WITH_EARLIER = f"with {_BEFORE}"


def check(
    request: str | os.PathLike[str] | Mapping[str, SamplingLeakage],
    *,
    people: Data,
    ids: str = "id",
    policy: Policy | None = None,
    earlier: Sequence[str | os.PathLike[str]] = (),
    risk_appetite: Mapping[str, Any] | str | os.PathLike[str] | None = None,
) -> Verdict:
    """Decide whether outputs about some people may be let out: each by itself, all together, and with earlier ones.

    Nothing is added to the outputs: the other people in them are what protects each. Each is held against an attacker
    who knows nobody's record, and its outcome against one who knows everybody's covariates.

    Parameters
    ----------
    request : path or mapping from name to Leakage
        A folder of outputs: model tables (TOML; CSV of R or Stata), models (skops), tables of means, counts and shares
        (CSV). Beside a CSV or skops file lies a TOML file with the same stem that says of what it is, by what, and for
        whom. Or measurements: ``seepage.measure(..., ids=..., known_records=0)``.
    people : data frame or path
        Everybody whom the outputs are about, one row each, with all columns that they name.
    ids : str, default="id"
        The column that says who each row is.
    policy : Policy, optional
        Targets for some columns. Without one, or for columns that it does not name: no guess nearer than half the
        column's standard deviation, and no category told more than 75% of the time.
    earlier : sequence of paths, optional
        Folders of earlier requests about the same people. Their outputs are compared with these and not judged by
        themselves; one that cannot be read again makes the request one that needs a look.
    risk_appetite : mapping or path, optional
        That of ACRO: `acro.ACRO().config`, the config.json that it writes, or the YAML file that it reads. Each output
        is held against its `safe_threshold`, `safe_nk_n` and `safe_nk_k`, `safe_pratio_p` and `safe_dof_threshold` by
        ACRO's rules too, and gets the worst of both words.

    Returns
    -------
    Verdict
        `word` is "pass", "review" or "fail"; `text()`, `html()` and `to_json()` say why, and `write(folder)` writes all
        of them. It names people who are not protected, for whoever decides; `for_everybody()` leaves them out.

    Examples
    --------
    >>> import pandas as pd, seepage
    >>> people = pd.DataFrame({"id": range(400), "age": [20 + i % 61 for i in range(400)]})
    >>> table = seepage.models.Aggregate(of=["age"], statistics=["mean"])
    >>> one = seepage.measure(table.fit(people), people, ids="id", known_records=0)
    >>> fewer = people.iloc[:-1]
    >>> two = seepage.measure(table.fit(fewer), fewer, ids="id", known_records=0)
    >>> seepage.request.check({"May": one}, people=people).word
    'pass'
    >>> verdict = seepage.request.check({"May": one, "June": two}, people=people)
    >>> verdict.word, verdict.findings[0].people
    ('fail', (399,))
    """
    everybody = RequestPeople.of(people, ids)
    appetite = None if risk_appetite is None else RiskAppetite.of(risk_appetite)
    targets = Targets(everybody, policy, appetite)
    now = _now(request, everybody, targets)
    before, silent = _before(earlier, everybody, targets)
    folder = None if isinstance(request, Mapping) else Path(request).resolve()
    outputs = tuple(each.verdict() if isinstance(each, Alone) else each for each in now.values())
    told = _told([*now.values(), *before.values()])
    stages: list[Stage] = []
    asked = {name: each for name, each in now.items() if isinstance(each, Alone)}
    out = {f"{name}{_EARLIER}": each for name, each in before.items() if isinstance(each, Alone)}
    units = int(overlapping(asked)) + int(bool(out) and overlapping({**asked, **out}))
    with followed("outputs together", max(units, 1)) as tell:
        if overlapping(asked):
            stages.append(stage("all together", asked, ()))
            tell(1)
        if out and overlapping({**asked, **out}):
            stages.append(stage(_WITH_EARLIER, {**asked, **out}, tuple(out), silent))
            tell(1)
        elif silent:
            stages.append(Stage(_WITH_EARLIER, "review", tuple(asked), reasons=silent))
    name = "request" if folder is None else folder.name
    limits = () if appetite is None else tuple(appetite.limits().items())
    return Verdict(
        name, targets.words, len(everybody), outputs, tuple(stages), tuple(told), folder=folder, limits=limits
    )


def _before(
    earlier: Sequence[str | os.PathLike[str]], people: RequestPeople, targets: Targets
) -> tuple[dict[str, Alone | OutputVerdict], tuple[str, ...]]:
    """Return the outputs of earlier requests, and a sentence on each that cannot be read."""
    if isinstance(earlier, str) or not isinstance(earlier, Sequence):
        raise InputError(f"earlier is {earlier!r}. List the folders of earlier requests: earlier=['may', 'june'].")
    found: dict[str, Alone | OutputVerdict] = {}
    for folder in map(Path, earlier):
        for name, one in _measured(folder, people, targets, _BEFORE).items():
            # Several requests may have called theirs alike.
            called = name if len(earlier) == 1 else f"{name}, {folder}"
            found[called] = replace(one, name=called)
    # A picture was looked at when it was let out; a table or a model can be the other half of a difference.
    silent = [
        f"{name}{_EARLIER} is not read with this request: {' '.join(one.reasons)}"
        for name, one in found.items()
        if isinstance(one, OutputVerdict) and not one.unread
    ]
    return found, tuple(silent)


def _now(
    request: str | os.PathLike[str] | Mapping[str, SamplingLeakage], people: RequestPeople, targets: Targets
) -> dict[str, Alone | OutputVerdict]:
    if not isinstance(request, Mapping):
        return _measured(Path(request), people, targets, "outputs")
    if not request:
        raise InputError("request is empty: give measurements by name, or the path of a folder of outputs.")
    for name, leak in request.items():
        if not isinstance(leak, SamplingLeakage):
            raise InputError(
                f"{name!r} is {type(leak).__name__}, and a request is of measurements without noise: "
                "seepage.measure(model, rows, ids=..., known_records=0)."
            )
    return {
        name: Alone(name, f"{len(leak.information.printed.names)} numbers", leak, targets)
        for name, leak in request.items()
    }


def _measured(folder: Path, people: RequestPeople, targets: Targets, what: str) -> dict[str, Alone | OutputVerdict]:
    given, found = list(handed_in(folder)), dict[str, Alone | OutputVerdict]()
    finder = Finder.of(people.table.native, ids=people.ids)
    with followed(what, len(given)) as tell:
        for each in given:
            name = each.name if isinstance(each, HandedIn) else each.file
            name = name if name not in found else f"{name} ({len(found)})"
            # A model and its table may have one stem.
            one = replace(looked_at(each, people, targets), name=name, file=each.file)
            one = found[name] = one.holding(_inside(folder, each.file, finder))
            if isinstance(one, Alone):
                # Asked here, so that progress is where time is spent.
                one.held  # noqa: B018
            tell(1)
    return found


def _inside(folder: Path, file: str, finder: Finder) -> tuple[Finding, ...]:
    """Return the findings in a file, and in the one that describes it."""
    beside = (folder / file).with_suffix(".toml")
    paths = [folder / file, *([beside] if beside.exists() and beside.name != file else [])]
    return tuple(finding for path in paths for finding in finder.inspected(path).findings)


def _told(outputs: Sequence[Alone | OutputVerdict]) -> list[str]:
    """Return the columns whose values filters say: who is in which output is known, and so are these."""
    alone = [each for each in outputs if isinstance(each, Alone)]
    attributes = {name for each in alone for name in each.leak.information.attribute_names}
    return [name for name in dict.fromkeys(name for each in alone for name in each.told) if name in attributes]
