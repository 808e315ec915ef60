"""`seepage ledger`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seepage.cli.commands import _options as options

if TYPE_CHECKING:
    from seepage.ledger import Ledger

ledger = typer.Typer(no_args_is_help=True, help="Keep a promise over all releases, person by person.")

Place = Annotated[
    str, typer.Argument(metavar="PLACE", help="The ledger: a folder, or a URI of an object store.", show_default=False)
]
Key = Annotated[
    Path,
    typer.Option(
        "--key", "-k", metavar="FILE", help="The key of the ledger, which stays with you.", show_default=False
    ),
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of people.", show_default=False)]


@ledger.callback()
def _ledger() -> None:
    """Keep a promise over all releases, person by person."""


def _promises(given: list[str]) -> dict[str, float]:
    """Read promises such as age=5."""
    found = {}
    for each in given:
        name, mark, number = each.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            mark = ""
        if not mark or not name:
            raise typer.BadParameter(f"{each!r} is not of the form COLUMN=NUMBER, such as age=5.", param_hint="--floor")
    return found


@ledger.command()
def create(
    place: Place,
    key: Key,
    floor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="The standard error that no unbiased guess may fall below, from all releases together.",
            show_default=False,
        ),
    ] = None,
    eta: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="The largest eta, from all releases.", show_default=False)
    ] = None,
    sqlite: Annotated[bool, typer.Option("--sqlite", help="For one machine; a Delta table otherwise.")] = False,
) -> None:
    """Make a new ledger, and its key.

    The key is written to a file that you alone can read. Without it nobody can be found in the ledger again.
    """
    import secrets

    from rich.text import Text

    from seepage._errors import InputError
    from seepage._writing import write_file
    from seepage.cli.terminal import screen
    from seepage.ledger import Ledger

    if key.exists():
        raise InputError(f"{key} exists. Each ledger has a key of its own; name another file.")
    secret = secrets.token_bytes(32)
    Ledger.create(place, key=secret, error_floor=_promises(floor or []), eta=eta, store="sqlite" if sqlite else "delta")
    write_file(key, secret, private=True)
    console = screen()
    console.print(Text.assemble("The ledger            ", (place, "bold")))
    console.print(Text.assemble("Stays with you        ", (str(key), "bold")))


@ledger.command()
def preview(
    place: Place,
    key: Key,
    model: Annotated[Path, typer.Option("--model", "-m", metavar="FILE", help=options.ARGUMENTS["model"])],
    data: Annotated[list[str], typer.Option("--data", "-d", metavar="FILE", help=options.ARGUMENTS["data"])],
    target: options.Target,
    noise_scale: options.NoiseScale,
    ids: Annotated[str, typer.Option("--ids", metavar="COLUMN", help="Who each row is.", show_default=False)],
    private: options.Private = None,
    public_label: options.PublicLabel = False,
    public_preprocessing: options.PublicPreprocessing = None,
    sample_weight: options.SampleWeight = None,
    trust: options.Trust = None,
    quiet: options.Quiet = False,
) -> None:
    """Say whether a release would fit: exit code 0 if it does, 1 if a promise would be broken. Nothing is posted."""
    from rich.text import Text

    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import Question
    from seepage.cli.terminal import Waiting, screen

    books = _opened(place, key)
    with Waiting(quiet=quiet).shown() as waiting:
        question = Question.of(
            waiting,
            model,
            data,
            target,
            private=private,
            trust=trust,
            public_label=public_label,
            public_preprocessing=public_preprocessing,
            weight=sample_weight,
            ids=ids,
            stream=False,
        )
        found = books.preview(question.measured(noise_scale))
    for sentence in found.sentences():
        screen().print(Text(sentence))
    raise typer.Exit(Ending.DONE if found.fits else Ending.MISSED)


@ledger.command()
def show(place: Place, key: Key) -> None:
    """List what is promised, and every release that was paid for."""
    from rich.table import Table
    from rich.text import Text

    from seepage.cli.terminal import printable, screen

    books, console = _opened(place, key), screen()
    for name, limit in books.limits.items():
        words = f"eta at most {limit:g}" if name == "eta" else f"{name}: no unbiased guess below {limit:g}"
        console.print(Text(printable(words), style="bold"))
    left = {int(str(entry.body["debit"])) for entry in books.entries if entry.kind == "release"}
    table = Table(box=None, pad_edge=False)
    for heading in ("entry", "when", "release", "people", ""):
        table.add_column(heading, justify="right" if heading in ("entry", "people") else "left")
    for entry in books.releases:
        state = "left" if entry.number in left else "paid for, not left"
        title, people = printable(str(entry.body["title"])), int(str(entry.body["people"]))
        table.add_row(str(entry.number), entry.when, title, f"{people:,}", state)
    console.print(table)


@ledger.command()
def balance(place: Place, key: Key, ids: Ids) -> None:
    """Show how closely people can be guessed from all releases together."""
    from rich.table import Table

    from seepage.cli.terminal import printable, screen

    found = _opened(place, key).balance(ids)
    shown = {name: column for name, column in found.items() if name != "trace"}
    table = Table(box=None, pad_edge=False)
    for heading in ("person", *shown):
        table.add_column(printable(heading), justify="left" if heading == "person" else "right")
    for i, person in enumerate(ids):
        table.add_row(printable(person), *(f"{column[i]:.3g}" for column in shown.values()))
    screen().print(table)


@ledger.command()
def audit(
    place: Place,
    key: Key,
    head: Annotated[
        str | None,
        typer.Option(metavar="SEAL", help="A seal that was printed earlier and must be there.", show_default=False),
    ] = None,
    signer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The public key that must have signed every certificate.", show_default=False
        ),
    ] = None,
) -> None:
    """Add everything up again and check every seal, file and signature: exit code 3 if something does not fit."""
    from rich.text import Text

    from seepage.cli.commands._endings import Ending
    from seepage.cli.terminal import printable, screen

    books, console = _opened(place, key), screen()
    faults = books.audit(head=head, signer=signer)
    for fault in faults:
        console.print(Text(printable(str(fault))))
    if faults:
        raise typer.Exit(Ending.MISMATCH)
    console.print(Text(f"Everything fits: {len(books.entries):,} entries.", style="bold green"))
    console.print(Text(f"Newest seal (keep it elsewhere): {books.head}"))


@ledger.command()
def forget(place: Place, key: Key, ids: Ids) -> None:
    """Erase people; the keyed hash of their ids stays, and keeps them out of further releases."""
    from rich.text import Text

    from seepage.cli.terminal import screen

    entry = _opened(place, key).forget(ids)
    screen().print(Text(f"Forgotten: {entry.body['people']} people, entry {entry.number}."))


def _opened(place: str, key: Path) -> "Ledger":
    from seepage.ledger import Ledger

    return Ledger(place, key=key.read_bytes())
