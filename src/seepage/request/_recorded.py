"""What was let out enters the register of a ledger, and what comes near a new request is read again from there."""

import base64
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil, isfinite
from pathlib import Path

import numpy as np

from seepage._tables import Data
from seepage.errors import SeepageError
from seepage.ledger import Entry, Ledger, OutputPeople, Recorded
from seepage.others import OthersLeakage
from seepage.request._alone import Alone
from seepage.request._given import HandedIn, UnreadFile, handed_in
from seepage.request._output import output_of
from seepage.request._people import RequestPeople

# What is no text in UTF-8 is kept as one, under a name that says so.
_BINARY = ".base64"


def record(request: str | os.PathLike[str], *, people: Data, ids: str = "id", ledger: Ledger) -> dict[str, Entry]:
    r"""Record in a ledger that outputs were let out: `check(..., earlier=ledger)` holds later ones against them.

    Of each output its files are kept, and who is in it, hidden by the ledger's key. What is recorded already is not
    recorded twice, so that a run which was stopped is started again.

    Parameters
    ----------
    request : path
        The folder, as `check` takes it. Files that are no outputs which can be measured, such as pictures, are not
        recorded.
    people : data frame or path
        Everybody whom the outputs are about, one row each.
    ids : str, default="id"
        The column that says who each row is.
    ledger : Ledger

    Returns
    -------
    dict from str to Entry
        By the name of the output.

    Examples
    --------
    >>> import secrets, tempfile
    >>> from pathlib import Path
    >>> import pandas as pd, seepage
    >>> people = pd.DataFrame({"id": range(400), "age": [20 + i % 61 for i in range(400)]})
    >>> may = Path(tempfile.mkdtemp())
    >>> _ = (may / "ages.toml").write_text('of = ["age"]')
    >>> place = tempfile.mkdtemp() + "/ledger"
    >>> ledger = seepage.ledger.Ledger.create(place, key=secrets.token_bytes(32), eta=10.0)
    >>> list(seepage.request.record(may, people=people, ledger=ledger))
    ['ages']
    >>> june = Path(tempfile.mkdtemp())
    >>> _ = (june / "ages.toml").write_text('of = ["age"]\nwhere = "id != 399"')
    >>> seepage.request.check(june, people=people, earlier=ledger).word
    'fail'
    """
    everybody, found = RequestPeople.of(people, ids), dict[str, Entry]()
    for given in handed_in(Path(request)):
        if not isinstance(given, UnreadFile):
            found[given.name] = ledger.record(given.name, _files(given), _whom(given, everybody))
    return found


def _whom(given: HandedIn, people: RequestPeople) -> OutputPeople:
    """Return whom an output is about: those of whom it uses the values, who may be fewer than its filter keeps."""
    try:
        return _people_of(output_of(given, people).measured())
    except SeepageError:
        # It was let out all the same: about whom its filter keeps, or whoever is there, if that cannot be read either.
        try:
            rows = people.rows(given.says.get("where"))
        except SeepageError:
            rows = people.rows(None)
        return OutputPeople(np.asarray(people.column(people.ids))[rows])


def _people_of(leak: OthersLeakage) -> OutputPeople:
    return OutputPeople(np.asarray(leak.people.ids), leak.information.printed.divisions, _hidden_by(leak))


def _files(given: HandedIn) -> dict[str, str]:
    """Return what an output consists of, as texts."""
    paths = dict.fromkeys([given.path, given.path.with_suffix(".toml")])
    found = {}
    for path in paths:
        if path.exists():
            content = path.read_bytes()
            try:
                found[path.name] = content.decode("utf-8-sig")
            except UnicodeDecodeError:
                found[path.name + _BINARY] = base64.b64encode(content).decode()
    return found


def near(ledger: Ledger, now: Mapping[str, Alone]) -> list[Recorded]:
    """Return what was let out before and says something about few people together with outputs that are asked for."""
    about = {name: _people_of(each.leak) for name, each in now.items()}
    found: dict[int, Recorded] = {}
    for name, whom in about.items():
        beside = [others for other, others in about.items() if other != name]
        found |= {one.number: one for one in ledger.near(whom, beside=beside)}
    return [found[number] for number in sorted(found)]


def _hidden_by(leak: OthersLeakage) -> int:
    """Return how many people must differ so that each is hidden by the others.

    Of an output with all of its digits nothing is claimed for any number. It is one half of a difference like any
    other.
    """
    needed = [count for _, count, _ in leak.information.claims.needed()]
    if (in_cells := leak.information.printed.fewest) is not None:
        # Of tables as many in a cell, here of whoever has the most around them.
        needed.append(float(in_cells.min()))
    return ceil(max(filter(isfinite, needed), default=0.0)) + 1


@contextmanager
def laid_out(outputs: Iterable[Recorded]) -> Iterator[list[Path]]:
    """Lay recorded outputs out in folders, one each, as they were handed in."""
    with tempfile.TemporaryDirectory() as place:
        folders = []
        for each in outputs:
            folder = Path(place, str(each.number))
            folder.mkdir(mode=0o700)
            for name, text in each.files.items():
                content = base64.b64decode(text) if name.endswith(_BINARY) else text.encode()
                # A name is one of a file, wherever it came from.
                (folder / Path(name).name.removesuffix(_BINARY)).write_bytes(content)
            folders.append(folder)
        yield folders
