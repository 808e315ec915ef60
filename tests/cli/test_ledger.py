"""A ledger, from the command line alone."""

import re
import stat

import pandas as pd
import skops.io

import seepage
from cli.terminal import Answer, Terminal

ASK = "--target progression --ids patient"
UNIT = "--unit age=years"


def _flat(answer: Answer) -> str:
    """Return what was printed as one line, whatever was drawn around it."""
    return re.sub(r"[│\s]+", " ", answer.text)


def test_a_ledger_is_made_only_where_its_key_was_kept_and_a_key_only_with_its_ledger(terminal: Terminal) -> None:
    lost = terminal.run("seepage ledger create books --key no-folder/books.key --eta 1")
    assert lost.code != 0
    assert not (terminal.folder / "books").exists()
    (terminal.folder / "taken").mkdir()
    (terminal.folder / "taken" / "file").touch()
    taken = terminal.run("seepage ledger create taken --key taken.key --eta 1")
    assert (taken.code, "is not empty" in _flat(taken)) == (2, True)
    assert not (terminal.folder / "taken.key").exists()


def test_a_ledger_from_its_key_to_the_release_that_must_not_follow(terminal: Terminal) -> None:
    folder, books = terminal.folder, "books --key books.key"
    made = terminal.run(f"seepage ledger create {books} --floor age=10 {UNIT}")
    assert made.code == 0, made.text
    assert stat.S_IMODE((folder / "books.key").stat().st_mode) == 0o600
    assert "exists" in terminal.run("seepage ledger create others --key books.key --eta 1").text

    preview = f"seepage ledger preview {books} --model model.skops --data people.csv {ASK} {UNIT}"
    assert terminal.run(f"{preview} --noise 2").code == 0
    closer = terminal.run(f"{preview} --noise 0.2")
    assert closer.code == 1
    assert "times as large would fit" in closer.text

    paying = "--without-policy --ledger books --ledger-key books.key"
    publish = f"seepage publish model.skops people.csv {ASK} {paying} {UNIT}"
    for unit, words in (("", "does not say in which unit"), ("--unit age=months", "has it in 'months'")):
        for command in (preview, f"{publish} --out first.skops"):
            unsaid = terminal.run(f"{command.replace(UNIT, unit)} --noise 2")
            assert (unsaid.code, words in _flat(unsaid)) == (2, True), unsaid.text
            assert "--unit age=years" in _flat(unsaid)
    assert not (folder / "first.skops").exists()
    paid = terminal.run(f"{publish} --noise 2 --out first.skops --title 'Risk score'")
    assert paid.code == 0, paid.text
    assert "Ledger: books: entry 1, Risk score, 442 people" in paid.text
    refused = terminal.run(f"{publish} --noise 0.2 --out second.skops")
    assert refused.code == 1
    # No policy was given, and none is missed.
    assert "The ledger does not allow this release" in refused.text
    assert "policy" not in refused.text
    assert not (folder / "second.skops").exists()

    shown = terminal.run(f"seepage ledger show {books}").text
    people = pd.read_csv(folder / "people.csv")
    model = skops.io.load(folder / "model.skops")
    leak = seepage.measure(model, people[list(model.feature_names_in_)], people["progression"], noise_scale=2.0)
    floors = leak.error_floor()
    assert f"closest age so far: ±{floors['age'].min():.3g} years (promise ±10 years)" in shown
    assert re.search(r"1 +\d{4}-\d\d-\d\d +Risk score +Ridge +2 +442 +released", shown)
    balance = terminal.run(f"seepage ledger balance {books} P0007 stranger").text
    assert "Smallest standard error of any unbiased guess from all releases so far" in balance
    assert re.search(rf"\n +progression +± {floors['progression'][7]:.3g}\n", balance)
    # Whether so much is nothing depends on how ages are spread, which a ledger does not know.
    assert re.search(rf"\n +age +± {floors['age'][7]:.3g} +± 10\n", balance)
    assert "Categories, which have no unit: sex" in balance
    assert not re.search(r"\n +sex|e\+\d", balance)
    assert "Not in the ledger: stranger" in balance
    nobody = terminal.run(f"seepage ledger balance {books} stranger")
    assert (nobody.code, "Not in the ledger" in nobody.text) == (2, True)

    balance_file = next((folder / "books" / "balances").rglob("*.bin"))
    content = balance_file.read_bytes()
    balance_file.write_bytes(content[:-1] + b"x")
    for command in (f"{preview} --noise 2", f"{publish} --noise 2 --out third.skops"):
        changed = terminal.run(command)
        assert (changed.code, balance_file.name in changed.text) == (3, True), changed.text
    assert not (folder / "third.skops").exists()
    balance_file.write_bytes(content)

    assert terminal.run(f"seepage ledger forget {books} P0007").code == 0
    assert "One person" in terminal.run(f"{preview} --noise 2").text
    assert "Everything fits" in terminal.run(f"seepage ledger audit {books}").text
    head = terminal.run(f"seepage ledger head {books}").text.strip()
    assert re.fullmatch(r"3:[0-9a-f]{64}", head)
    assert terminal.run(f"seepage ledger audit {books} --head {head}").code == 0
    gone = terminal.run(f"seepage ledger audit {books} --head 9{head}")
    assert (gone.code, "kept elsewhere" in gone.text) == (3, True)

    certify = "seepage certify first.skops first.certificate.json --ledger books"
    assert "name both" in _flat(terminal.run(certify))
    paid = terminal.run(f"{certify} --ledger-key books.key")
    assert (paid.code, "It has paid for this release" in _flat(paid)) == (0, True), paid.text
    last = folder / "books" / "entries" / "000000000003.json"
    content = last.read_bytes()
    last.write_bytes(content + b"x")
    damaged = terminal.run(f"seepage ledger audit {books}")
    assert (damaged.code, last.name in damaged.text) == (3, True)
    last.write_bytes(content)

    (folder / "books" / "debits" / f"0-{'a' * 16}").mkdir()
    (folder / "books" / "debits" / f"0-{'a' * 16}" / "7.bin").write_text("left")
    found = terminal.run(f"seepage ledger audit {books}")
    assert (found.code, "Files that no entry names: 1" in _flat(found)) == (0, True)
    assert "Deleted: 1 files, entry 4" in terminal.run(f"seepage ledger sweep {books}").text
    assert "One person from now on, entry 5" in terminal.run(f"seepage ledger merge {books} P0008 P0009").text
    assert terminal.run(f"seepage ledger rekey {books} --new-key new.key").code == 0
    assert stat.S_IMODE((folder / "new.key").stat().st_mode) == 0o600
    changed = terminal.run(f"seepage ledger show {books}")
    assert (changed.code, "has another key since entry 6" in _flat(changed)) == (2, True)
    assert terminal.run("seepage ledger audit books --key new.key").code == 0


def test_what_is_missing_is_named(terminal: Terminal) -> None:
    answer = terminal.run(
        "seepage publish model.skops people.csv --target progression --without-policy --noise 2 --out x.skops "
        "--ledger books"
    )
    assert answer.code == 2
    assert "--ledger-key" in answer.text
    assert "COLUMN=NUMBER" in terminal.run("seepage ledger create b --key b.key --floor age").text
    made = "seepage ledger create b --key b.key --floor age=5"
    for unit, words in (("", "no unit of it is named"), ("--unit age", "COLUMN=UNIT"), ("--unit age=12", "name it")):
        answer = terminal.run(f"{made} {unit}")
        assert (answer.code, words in _flat(answer)) == (2, True), answer.text
    assert not (terminal.folder / "b.key").exists()


def test_a_table_names_its_outcome_to_a_ledger_too(wards: Terminal) -> None:
    assert wards.run(f"seepage ledger create tables --key tables.key --floor age=10 {UNIT}").code == 0
    ask = f"--model ill.toml --data wards.parquet --ids patient --noise 1 {UNIT}"
    found = wards.run(f"seepage ledger preview tables --key tables.key {ask}")
    assert (found.code, "still hold" in found.text) == (0, True), found.text
    twice = wards.run(f"seepage ledger preview tables --key tables.key {ask} --target ill")
    assert (twice.code, "leave --target out" in twice.text) == (2, True)


def test_a_ledger_without_a_promise_is_told_how_one_is_made(terminal: Terminal) -> None:
    answer = terminal.run("seepage ledger create empty --key empty.key")
    assert answer.code == 2
    assert "--floor age=5" in answer.text
    assert "error_floor=" not in answer.text
    assert not (terminal.folder / "empty.key").exists()


def test_a_title_and_a_unit_need_a_ledger(terminal: Terminal) -> None:
    ask = "model.skops people.csv -t progression -n 2 --without-policy --out titled.skops"
    for option in ("--title x", UNIT):
        assert "--ledger" in terminal.run(f"seepage publish {ask} {option}").text
