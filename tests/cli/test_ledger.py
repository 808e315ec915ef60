"""A ledger, from the command line alone."""

import re
import sqlite3
import stat
from contextlib import closing

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
    (terminal.folder / "taken").touch()
    taken = terminal.run("seepage ledger create taken --key taken.key --eta 1")
    assert (taken.code, "File exists" in _flat(taken)) == (2, True)
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
    assert "Not published" in refused.text
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

    with closing(sqlite3.connect(folder / "books")) as database, database:
        database.execute("UPDATE seepage_sums SET hash = hash || 'x'")
    for command in (f"{preview} --noise 2", f"{publish} --noise 2 --out third.skops"):
        changed = terminal.run(command)
        assert (changed.code, "the table of sums is not the one" in _flat(changed)) == (3, True), changed.text
    assert not (folder / "third.skops").exists()
    with closing(sqlite3.connect(folder / "books")) as database, database:
        database.execute("UPDATE seepage_sums SET hash = replace(hash, 'x', '')")

    assert terminal.run(f"seepage ledger forget {books} P0007").code == 0
    assert "One person" in terminal.run(f"{preview} --noise 2").text
    assert "Everything fits" in terminal.run(f"seepage ledger audit {books}").text
    head = terminal.run(f"seepage ledger head {books}").text.strip()
    assert re.fullmatch(r"3:[0-9a-f]{64}", head)
    assert terminal.run(f"seepage ledger audit {books} --head {head}").code == 0
    gone = terminal.run(f"seepage ledger audit {books} --head 9{head}")
    assert (gone.code, "written down" in gone.text) == (3, True)

    certify = "seepage certify first.skops first.certificate.json --ledger books"
    assert "name both" in _flat(terminal.run(certify))
    paid = terminal.run(f"{certify} --ledger-key books.key")
    assert (paid.code, "It has paid for this release" in _flat(paid)) == (0, True), paid.text
    published = terminal.run(f"seepage ledger reverse {books} 1 --reason mistaken")
    assert (published.code, "was published already" in _flat(published)) == (2, True), published.text
    assert "no debit that counts" in _flat(terminal.run(f"seepage ledger reverse {books} 2 --reason mistaken"))


def test_new_people_are_confirmed_and_a_debit_is_reversed(terminal: Terminal) -> None:
    folder, books = terminal.folder, "cohort --key cohort.key"
    assert terminal.run(f"seepage ledger create {books} --floor age=1 {UNIT}").code == 0
    people = pd.read_csv(folder / "people.csv")
    model = skops.io.load(folder / "model.skops")
    ledger = seepage.ledger.Ledger(folder / "cohort", key=(folder / "cohort.key").read_bytes())
    rows, label = people[list(model.feature_names_in_)], people["progression"]
    leak = seepage.measure(model, rows, label, noise_scale=2.0, ids=[f"{i}" for i in range(len(people))])
    ledger.post(leak, title="wrong ids", units={"age": "years"})
    ask = f"seepage ledger preview {books} --model model.skops --data people.csv {ASK} {UNIT} --noise 2"
    unconfirmed = terminal.run(ask)
    assert (unconfirmed.code, "442 of 442 people are new" in _flat(unconfirmed)) == (1, True)
    assert "--new-people" in unconfirmed.text
    assert terminal.run(f"{ask} --new-people").code == 0
    paying = "--without-policy --ledger cohort --ledger-key cohort.key"
    publish = f"seepage publish model.skops people.csv {ASK} {paying} {UNIT} --noise 2 --out cohort.skops"
    assert (terminal.run(publish).code, (folder / "cohort.skops").exists()) == (2, False)
    assert "Reversed: debit 1, entry 2." in terminal.run(f"seepage ledger reverse {books} 1 --reason 'wrong ids'").text
    assert terminal.run(publish).code == 0
    assert "Everything fits: 5 entries" in terminal.run(f"seepage ledger audit {books}").text


def test_what_is_missing_is_named(terminal: Terminal) -> None:
    answer = terminal.run(
        "seepage publish model.skops people.csv --target progression --without-policy --noise 2 --out x.skops "
        "--ledger books"
    )
    assert answer.code == 2
    assert "--ledger-key" in answer.text
    assert "COLUMN=NUMBER" in terminal.run("seepage ledger create b --key b.key --floor age").text
    made = "seepage ledger create b --key b.key --floor age=5"
    for unit, words in (("", "name it, such as"), ("--unit age", "COLUMN=UNIT"), ("--unit age=12", "name it")):
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
