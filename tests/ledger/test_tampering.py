"""Somebody without the key changes a ledger: the next post is refused, or a certificate shows what was done."""

import json
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines.store import object_store
from ledger.ending import ends
from ledger.grounds import FolderGround, StoreGround
from ledger.revealed import hidden, opened
from race import PEOPLE, YEARS, leak
from sklearn.linear_model import Ridge

import seepage
from seepage.ledger import Entry, Ledger
from seepage.ledger._names import Names

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
ROOM = 3


def publish(ledger, file):
    """Publish the model that everybody knows, with a certificate that names its debit."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 12)})
    y = X["age"] * 0.1 + random.normal(size=12)
    terms = {"noise_scale": 1.0, "accept": None, "ids": PEOPLE, "ledger": ledger}
    units = None if ledger is None else YEARS
    seepage.publish(Ridge().fit(X, y), X, y, **terms, units=units).write(file)
    return file, file.with_suffix(".certificate.json")


def create(place, releases, folder):
    """Make a ledger with room for three and a half releases, and publish some of them."""
    floor = float(leak().error_floor()["age"].min()) / np.sqrt(ROOM + 0.5)
    ledger = Ledger.create(place, key=KEY, error_floor={"age": floor}, units=YEARS, buckets=2)
    return ledger, [publish(ledger, folder / f"{number}.toml") for number in range(releases)]


def _made(ground, folder):
    """A ledger that is spent, what it was before, and another one under the same key of which nothing is."""
    place = ground.new()
    ledger, certificates = create(place, ROOM - 1, folder)
    ledger.forget(PEOPLE[:0] or ["somebody"])
    before = ground.look(place)
    certificates.append(publish(ledger, folder / "last.toml"))
    empty = ground.new()
    create(empty, 0, folder)
    return SimpleNamespace(
        ground=ground, now=ground.look(place), before=before, fresh=ground.look(empty), certificates=certificates
    )


@pytest.fixture(scope="module")
def in_a_folder(tmp_path_factory):
    return _made(FolderGround(tmp_path_factory.mktemp("ledgers")), tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def in_a_store(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, object_store() as address:
        for name, value in (("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b"), ("EC2_METADATA_DISABLED", "true")):
            patch.setenv(f"AWS_{name}", value)
        yield _made(StoreGround(address), tmp_path_factory.mktemp("published"))


@pytest.fixture(params=["folder", "store"])
def made(request):
    return request.getfixturevalue(f"in_a_{request.param}")


def path_of(number):
    return f"entries/{number:012}.json"


def free(content):
    """Return what a file of sums says, with the same people, who owe nothing."""
    table = pq.read_table(pa.BufferReader(content))
    columns = {name: np.zeros(len(table)) for name in table.column_names[1:]}
    written = pa.BufferOutputStream()
    pq.write_table(pa.table({"person": table["person"], **columns}, schema=table.schema), written)
    return written.getvalue().to_pybytes()


def flipped(content, at):
    changed = bytearray(content)
    changed[at] ^= 1
    return bytes(changed)


def edited(content, change):
    entry = json.loads(content)
    change(entry)
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def zeroed_balances(made):
    """As somebody would write them who knows all that they say, but not the key."""
    return {path: free(opened(path, made.now[path], KEY)) for path in made.now.matching("balances/")}


def zeroed_and_hidden_balances(made):
    return {path: hidden(path, content, OTHER_KEY) for path, content in zeroed_balances(made).items()}


def zeroed_balances_and_hashes(made):
    import hashlib

    free_now, last = zeroed_and_hidden_balances(made), path_of(len(made.now.matching("entries/")) - 2)

    def change(entry):
        for stored in entry["body"]["balances"].values():
            stored[1] = hashlib.sha256(free_now[stored[0]]).hexdigest()

    return {**free_now, last: edited(made.now[last], change)}


def flipped_balance(made):
    path = made.now.matching("balances/")[0]
    return {path: flipped(made.now[path], len(made.now[path]) // 2)}


def swapped_balances(made):
    one, other = made.now.matching("balances/")
    return {one: made.now[other], other: made.now[one]}


def older_balances_in_place_of_newer(made):
    new, old = made.now.matching("balances/"), made.before.matching("balances/")
    return {path: made.before[before] for path, before in zip(new, old, strict=True)}


def emptied_tombstones(made):
    (path,) = made.now.matching("forgotten/")
    table = pq.read_table(pa.BufferReader(opened(path, made.now[path], KEY)))
    written = pa.BufferOutputStream()
    pq.write_table(table.slice(0, 0), written)
    return {path: written.getvalue().to_pybytes()}


def reordered_entries(made):
    numbers = [0, 3, 4, 1, 2]
    return {path_of(at): made.now[path_of(number)] for at, number in enumerate(numbers)}


def _last(made):
    return len(made.now.matching("entries/")) - 1


def truncated_by_one(made):
    return {path_of(_last(made)): None}


def forged_head(made):
    last = Entry.read(made.now[path_of(_last(made))].decode())
    body = {"people": 0, "debits": {}, "balances": {}, "tombstones": []}
    return {path_of(last.number + 1): Entry.after(last, "forgotten", body, Names(OTHER_KEY)).line().encode()}


def _of_another_kind(name, value):
    """Write a value where another kind of value stands, as JSON of Python reads and writes it."""

    def change(made):
        entry = json.loads(made.now[path_of(1)]) | {name: value}
        written = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return {path_of(1): written.encode("utf-8", "surrogatepass")}

    return change


ATTACKS = {
    "zeroed balances": zeroed_balances,
    "zeroed and hidden balances": zeroed_and_hidden_balances,
    "balances that were opened": lambda made: {
        path: opened(path, made.now[path], KEY) for path in made.now.matching("balances/")
    },
    "zeroed balances and hashes": zeroed_balances_and_hashes,
    "flipped balance": flipped_balance,
    "swapped balances": swapped_balances,
    "older balances in place of newer": older_balances_in_place_of_newer,
    "deleted balance": lambda made: {made.now.matching("balances/")[0]: None},
    "emptied tombstones": emptied_tombstones,
    "flipped entry": lambda made: {path_of(1): flipped(made.now[path_of(1)], 40)},
    "spaced entry": lambda made: {path_of(1): made.now[path_of(1)] + b"\n"},
    "wider promise": lambda made: {
        path_of(0): edited(made.now[path_of(0)], lambda entry: entry["body"]["limits"].update(eta=1e9))
    },
    "emptied entry": lambda made: {path_of(3): b""},
    "half an entry": lambda made: {path_of(3): made.now[path_of(3)][:200]},
    "dropped entry": lambda made: {path_of(2): None},
    "swapped entries": lambda made: {path_of(1): made.now[path_of(3)], path_of(3): made.now[path_of(1)]},
    "reordered entries": reordered_entries,
    "truncated by one": truncated_by_one,
    "truncated by two": lambda made: {path_of(_last(made)): None, path_of(_last(made) - 1): None},
    "truncated to the first": lambda made: {path: None for path in made.now if path != path_of(0)},
    "replayed entry": lambda made: {path_of(_last(made) + 1): made.now[path_of(1)]},
    "forged head": forged_head,
    "far entry": lambda made: {path_of(10**12 - 1): made.now[path_of(1)]},
    "nested entry": lambda made: {path_of(_last(made) + 1): b"[" * 10**5},
    "number of another kind": _of_another_kind("number", True),
    "kind of another kind": _of_another_kind("kind", ["debit"]),
    "body of another kind": _of_another_kind("body", [["debits", {}]]),
    "when of another kind": _of_another_kind("when", float("nan")),
    "previous of another kind": _of_another_kind("previous", "\ud800"),
    "seal of another kind": _of_another_kind("seal", "\u00e9"),
    "limits of another kind": lambda made: {
        path_of(0): edited(made.now[path_of(0)], lambda entry: entry["body"].update(limits=7, units=None))
    },
    "older entries alone": lambda made: {path: made.before.get(path) for path in made.now.matching("entries/")},
    "rolled back": lambda made: {**dict.fromkeys(made.now), **made.before},
    "entry of another ledger": lambda made: {path_of(0): made.fresh[path_of(0)]},
    "another ledger in its place": lambda made: {**dict.fromkeys(made.now), **made.fresh},
}
# Nobody can tell these from a ledger of those days; a certificate shows them.
SHOWN = {"another ledger in its place", "rolled back", "truncated by one", "truncated to the first"}


def attacked(made, changes):
    """Lay out a ledger with some files changed, where None is one that is gone."""
    place = made.ground.new()
    files = {**made.now, **changes}
    made.ground.lay(place, {path: content for path, content in files.items() if content is not None})
    return place


def shown(made, ledger):
    return [seepage.certify(*each, ledger=ledger).ledger.value for each in made.certificates]


@pytest.mark.parametrize("name", ATTACKS)
def test_what_was_done_without_the_key_is_refused_at_the_next_post_or_shown_by_a_certificate(made, name):
    place = attacked(made, ATTACKS[name](made))
    if name not in SHOWN:
        # What was spent stays spent: there would be room for another release otherwise.
        with ends(), pytest.raises((seepage.errors.LedgerError, seepage.errors.InputError), match="ledger"):
            Ledger(place, key=KEY).post(leak(), title="one more", units=YEARS)
        with ends(), suppress(seepage.errors.InputError, seepage.errors.LedgerError):
            # It does not open, or an audit names what was done.
            assert Ledger(place, key=KEY).audit()
        return
    assert "rolled back" in shown(made, Ledger(place, key=KEY))
    # It is refused as well by whoever wrote down the head.
    head = str(Entry.read(made.now[path_of(_last(made))].decode()).number)
    head += ":" + Entry.read(made.now[path_of(_last(made))].decode()).seal
    with pytest.raises(seepage.errors.LedgerError, match="kept elsewhere"):
        Ledger(place, key=KEY, head=head)


def test_a_ledger_that_nobody_touched_is_not_blamed(made):
    place = attacked(made, {})
    ledger = Ledger(place, key=KEY)
    assert shown(made, ledger) == ["paid"] * ROOM
    assert Ledger(place, key=KEY, head=ledger.head).audit(head=ledger.head) == ()
    assert ledger.orphans == ()
    with pytest.raises(seepage.errors.PolicyError):
        ledger.post(leak(), title="one more", units=YEARS)


def test_a_debit_that_paid_for_two_releases_is_shown_by_the_first(made, tmp_path):
    place = attacked(made, truncated_by_one(made))
    _, certificate = publish(Ledger(place, key=KEY), tmp_path / "again.toml")
    # Nothing was paid: the debit seemed to be open still.
    ledger = Ledger(place, key=KEY)
    assert len(ledger.releases) == ROOM
    assert seepage.certify(tmp_path / "again.toml", certificate, ledger=ledger).holds
    found = seepage.certify(*made.certificates[-1], ledger=ledger)
    assert (found.holds, found.ledger.value) == (False, "other release")
    assert "two have left" in found.about_ledger()


def test_a_certificate_without_a_ledger_is_not_paid_for(made, tmp_path):
    publish(None, tmp_path / "free.toml")
    free_one = tmp_path / "free.toml", tmp_path / "free.certificate.json"
    assert "ledger" not in json.loads(free_one[1].read_text())
    assert seepage.certify(*free_one).holds
    found = seepage.certify(*free_one, ledger=Ledger(attacked(made, {}), key=KEY))
    assert (found.holds, found.ledger.value) == (False, "unnamed")


def test_two_ledgers_that_are_made_at_once_begin_differently(tmp_path):
    promised = {"key": b"k" * 32, "error_floor": {"age": 1.0}, "units": {"age": "years"}}
    heads = {str(seepage.ledger.Ledger.create(tmp_path / f"{i}", **promised).head) for i in range(5)}
    assert len(heads) == 5
