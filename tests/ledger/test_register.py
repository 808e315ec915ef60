"""What was let out is remembered: about whom it was, hidden by the key, and which of it comes near a new output."""

from itertools import permutations

import numpy as np
import pytest
from race import YEARS

import seepage
from seepage.ledger import Ledger
from seepage.ledger._store import FolderStore

KEY, NEW = bytes(range(32)), bytes(32)
FILES = {"table.toml": 'of = ["income"]\nwhere = "age >= 65"', "table.csv": "income\n41.5"}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=2)


def opened(tmp_path, key=KEY):
    return Ledger(tmp_path / "ledger", key=key)


def record(ledger, **outputs):
    for name, people in outputs.items():
        ledger.record(name, FILES, people)


def people_of(ledger, everybody):
    """Return who is in each output, among some."""
    register = ledger._books.register(ledger._books.state())
    at = register.places_of(ledger._books.who(ledger._books.names.of(everybody), ledger._books.seen))
    return {
        each.name: [person for person, place in zip(everybody, at, strict=True) if place in each.places()]
        for each in register.outputs
    }


def names(outputs):
    return [each.name for each in outputs]


def test_outputs_are_recorded_with_their_people_and_come_back(ledger, tmp_path):
    record(ledger, one=range(10), two=["5", "x", "007"], three=[3])
    found = opened(tmp_path)
    assert names(found.outputs) == ["one", "two", "three"]
    assert dict(found.outputs[0].files) == FILES
    everybody = [*range(12), "x", "y"]
    assert people_of(found, everybody) == {"one": [*range(10)], "two": [5, 7, "x"], "three": [3]}
    assert found.audit() == ()
    # The same again is one output, whoever was killed in between.
    again = found.record("one", FILES, reversed(range(10)))
    assert (again.number, len(found.outputs)) == (1, 3)
    with pytest.raises(seepage.errors.InputError, match="about nobody"):
        found.record("none", FILES, [])


def test_no_file_says_who_or_what(ledger, tmp_path):
    record(ledger, secret=range(1000))
    for path in (tmp_path / "ledger").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(word in content for word in (b"secret", b"income", b"table.toml", b"41.5"))
            assert not any(bytes(name) in content for name in ledger._books.names.of(range(1000)))


def test_an_edited_or_swapped_or_lost_output_is_noticed(ledger, tmp_path):
    record(ledger, one=range(10), two=range(4))
    files = sorted((tmp_path / "ledger" / "outputs").iterdir())
    contents = [path.read_bytes() for path in files]
    changes = [
        (contents[0][:-1] + bytes([contents[0][-1] ^ 1]), contents[1]),
        (contents[1], contents[0]),
        (None, contents[1]),
    ]
    for change in changes:
        for path, content in zip(files, change, strict=True):
            path.unlink() if content is None else path.write_bytes(content)
        damaged = opened(tmp_path)
        assert damaged.audit()
        for ask in (lambda: damaged.near([1], fewer_than=3), lambda: damaged.record("three", FILES, [1])):  # noqa: B023
            with pytest.raises(seepage.errors.LedgerError, match="outputs/"):
                ask()
        for path, content in zip(files, contents, strict=True):
            path.write_bytes(content)
    assert opened(tmp_path).audit() == ()


def test_whoever_is_killed_while_recording_loses_nothing(ledger, tmp_path, monkeypatch):
    record(ledger, one=range(10))
    create = FolderStore.create

    class Stopped(BaseException):
        pass

    def stop(store, path, content):
        if path.startswith("entries/"):
            raise Stopped
        return create(store, path, content)

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "create", stop)
        patch.setattr(FolderStore, "delete", lambda *_: None)
        with pytest.raises(Stopped):
            record(opened(tmp_path), two=range(3))
    found = opened(tmp_path)
    assert names(found.outputs) == ["one"]
    assert len(found.orphans) == 1
    record(found, two=range(3))
    assert people_of(found, range(10)) == {"one": [*range(10)], "two": [0, 1, 2]}
    found.sweep()
    assert (found.orphans, found.audit()) == ((), ())


def test_who_is_forgotten_is_in_no_output_and_the_others_stay(ledger, tmp_path):
    record(ledger, one=range(10), two=range(5, 15))
    ledger.forget([7, 12, "nobody ever"])
    for one in (ledger, opened(tmp_path)):
        assert people_of(one, range(15)) == {
            "one": [i for i in range(10) if i != 7],
            "two": [i for i in range(5, 15) if i not in (7, 12)],
        }
        assert (one.audit(), one.orphans) == ((), ())
    with pytest.raises(seepage.errors.InputError, match="1 people who are forgotten"):
        record(ledger, three=[1, 7])
    ledger.forget([8])
    record(ledger, three=[1, 100])
    assert people_of(opened(tmp_path), [1, 7, 8, 12, 100])["three"] == [1, 100]


def test_outputs_follow_people_who_are_found_to_be_one_and_another_key(ledger, tmp_path):
    record(ledger, one=[1, 2, 3], two=[2, 4], three=[5])
    ledger.merge(1, 2)
    ledger.merge("not in any", 5)
    expected = {"one": [1, 2, 3], "two": [1, 2, 4], "three": [5]}
    assert people_of(ledger, range(6)) == expected
    assert sorted(len(each.places()) for each in ledger.outputs) == [1, 2, 2]
    ledger.forget([4])
    ledger.rotate(NEW)
    expected["two"] = [1, 2]
    for one in (ledger, opened(tmp_path, NEW)):
        assert people_of(one, range(6)) == expected
        assert (one.audit(), one.orphans) == ((), ())
    record(ledger, four=[2, 9])
    assert people_of(opened(tmp_path, NEW), range(10))["four"] == [1, 2, 9]


def test_who_came_early_and_who_came_late_are_one_in_either_order(ledger, tmp_path):
    record(ledger, early=range(10), late=range(40, 70), both=[3, 60, 61])
    ledger.merge(3, 60)
    ledger.merge(61, 4)
    expected = {"early": [*range(10), 60, 61], "late": [3, 4, *range(40, 70)], "both": [3, 4, 60, 61]}
    for one in (ledger, opened(tmp_path)):
        assert people_of(one, range(70)) == expected
        assert [len(each.places()) for each in one.outputs] == [10, 30, 2]
        assert (one.audit(), one.orphans) == ((), ())


def nearby(outputs, new, few):
    """Say the same by sets: which outputs are in a relation with the new one that fewer people break."""

    def alike(one, other):
        return len(one ^ other) < few

    found = {name for name, held in outputs.items() if alike(held, new)}
    for (one, i), (other, j) in permutations(outputs.items(), 2):
        if alike(i, j):
            continue
        for left, right, alone in (
            (new, i | j, (i, j)),
            (new, i - j, (i,)),
            (i, new | j, (i,)),
            (i, new - j, (i,)),
            (i, j - new, ()),
        ):
            if alike(left, right) and not any(alike(new, each) for each in alone):
                found |= {one, other}
    # Those about the very same people go together.
    return {name for name, held in outputs.items() if any(held == outputs[each] for each in found)}


@pytest.mark.parametrize("seed", range(12))
def test_what_comes_near_is_what_sets_say(ledger, tmp_path, seed, monkeypatch):
    # So small that words are read in several steps.
    monkeypatch.setattr("seepage.ledger._wholes._FIRST_WORDS", 1)
    monkeypatch.setattr("seepage.ledger._wholes._PAIRS", 5)
    random = np.random.default_rng(seed)
    everybody, count = np.arange(400), 9
    outputs = {}
    for number in range(count):
        made = list(outputs.values())
        kind = random.integers(4) if len(made) > 1 else 0
        if kind == 0:
            people = set(random.choice(everybody, random.integers(20, 200), replace=False).tolist())
        else:
            i, j = (made[at] for at in random.choice(len(made), 2, replace=False))
            people = {1: i | j, 2: i - j, 3: set(i)}[int(kind)]
            people ^= set(random.choice(everybody, random.integers(0, 6), replace=False).tolist())
        outputs[f"output {number}"] = people or {0}
    new = outputs.popitem()[1] | ({1000, 1001} if seed % 3 == 0 else set())
    record(ledger, **outputs)
    for few in (1, 3, 5, 9):
        wanted = nearby(outputs, new, few)
        assert {each.name for each in ledger.near(new, fewer_than=few)} == wanted, few
    # Others of one request count like recorded ones, and are none of them.
    others = {f"output {number}": outputs.pop(f"output {number}") for number in (6, 7)}
    again = Ledger.create(tmp_path / "again", key=KEY, eta=1.0)
    record(again, **outputs)
    for few in (1, 3, 5, 9):
        wanted = nearby(outputs | others, new, few) & outputs.keys()
        assert {each.name for each in again.near(new, fewer_than=few, beside=others.values())} == wanted, few
    # Many outputs about the same people are no reason to read them with somebody else's.
    assert ledger.near({5000}, fewer_than=1) == ()


def test_a_new_ledger_has_nothing_that_comes_near(ledger):
    assert ledger.near([1, 2], fewer_than=10) == ()
