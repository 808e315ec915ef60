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
from seepage.ledger import Entry, Ledger, Recorded
from seepage.request._alone import Alone
from seepage.request._given import HandedIn, UnreadFile, handed_in
from seepage.request._output import output_of
from seepage.request._people import RequestPeople

_BINARY = ".skops"


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
    who = everybody.column(ids)
    for given in handed_in(Path(request)):
        if not isinstance(given, UnreadFile):
            rows = output_of(given, everybody).rows
            found[given.name] = ledger.record(given.name, _files(given), np.asarray(who)[rows])
    return found


def _files(given: HandedIn) -> dict[str, str]:
    """Return what an output consists of, as texts."""
    paths = dict.fromkeys([given.path, given.path.with_suffix(".toml")])
    contents = {path.name: path.read_bytes() for path in paths if path.exists()}
    return {
        name: base64.b64encode(content).decode() if name.endswith(_BINARY) else content.decode("utf-8-sig")
        for name, content in contents.items()
    }


def near(ledger: Ledger, now: Mapping[str, Alone]) -> list[Recorded]:
    """Return what was let out before and says something about few people together with outputs that are asked for."""
    needed = [each.leak.information.claims.fewest for each in now.values()]
    # So many people as hide each of them in any of these outputs.
    few = ceil(max((count for count in needed if isfinite(count)), default=0.0))
    found: dict[int, Recorded] = {}
    for each in now.values():
        ids = np.asarray(each.leak.people.ids)
        found |= {one.number: one for one in ledger.near(ids, fewer_than=max(few, 1))}
    return [found[number] for number in sorted(found)]


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
                (folder / Path(name).name).write_bytes(content)
            folders.append(folder)
        yield folders
