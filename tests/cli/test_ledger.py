"""A ledger, from the command line alone."""

import stat

import pandas as pd
import skops.io

import seepage
from cli.terminal import Terminal

ASK = "--target progression --ids patient"


def test_a_ledger_from_its_key_to_the_release_that_must_not_follow(terminal: Terminal) -> None:
    folder, books = terminal.folder, "books --key books.key"
    made = terminal.run(f"seepage ledger create {books} --floor age=10 --sqlite")
    assert made.code == 0, made.text
    assert stat.S_IMODE((folder / "books.key").stat().st_mode) == 0o600
    assert "exists" in terminal.run("seepage ledger create others --key books.key --eta 1").text

    preview = f"seepage ledger preview {books} --model model.skops --data people.csv {ASK}"
    assert terminal.run(f"{preview} --noise-scale 2").code == 0
    closer = terminal.run(f"{preview} --noise-scale 0.2")
    assert closer.code == 1
    assert "times as large would fit" in closer.text

    paying = "--without-policy --ledger books --ledger-key books.key"
    publish = f"seepage publish model.skops people.csv {ASK} {paying}"
    paid = terminal.run(f"{publish} --noise-scale 2 --out first.skops")
    assert paid.code == 0, paid.text
    refused = terminal.run(f"{publish} --noise-scale 0.2 --out second.skops")
    assert refused.code == 1
    assert not (folder / "second.skops").exists()

    shown = terminal.run(f"seepage ledger show {books}").text
    assert "age: no unbiased guess below 10" in shown
    assert "442  left" in shown
    people = pd.read_csv(folder / "people.csv")
    model = skops.io.load(folder / "model.skops")
    leak = seepage.measure(model, people[list(model.feature_names_in_)], people["progression"], noise_scale=2.0)
    floor = f"{leak.error_floor()['age'][7]:.3g}"
    assert floor in terminal.run(f"seepage ledger balance {books} P0007").text

    assert terminal.run(f"seepage ledger forget {books} P0007").code == 0
    assert "One person" in terminal.run(f"{preview} --noise-scale 2").text
    assert "Everything fits" in terminal.run(f"seepage ledger audit {books}").text
    assert terminal.run("seepage key new auditing.key").code == 0
    unsigned = terminal.run(f"seepage ledger audit {books} --signer auditing.pub")
    assert (unsigned.code, "is not signed" in unsigned.text) == (3, True)
    with (folder / "books" / "releases.sqlite").open("ab") as file:
        file.write(b"x")
    damaged = terminal.run(f"seepage ledger audit {books}")
    assert damaged.code == 3
    assert "releases.sqlite" in damaged.text


def test_what_is_missing_is_named(terminal: Terminal) -> None:
    answer = terminal.run(
        "seepage publish model.skops people.csv --target progression --without-policy --noise-scale 2 --out x.skops "
        "--ledger books"
    )
    assert answer.code == 2
    assert "--ledger-key" in answer.text
    assert "COLUMN=NUMBER" in terminal.run("seepage ledger create b --key b.key --floor age").text
