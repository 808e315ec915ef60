"""`seepage ledger`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from seepage.cli.commands import _options as options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seepage._records import Json
    from seepage.ledger import Ledger
    from seepage.pages import Section

ledger = typer.Typer(no_args_is_help=True, help="Keep a promise over all releases, person by person.")

Place = Annotated[
    str,
    typer.Argument(
        metavar="PLACE",
        help="The ledger: a file, or a database such as postgresql://user@server/name.",
        show_default=False,
    ),
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
    floors = {}
    for text in given:
        name, mark, number = text.rpartition("=")
        try:
            floors[name] = float(number)
        except ValueError:
            mark = ""
        if not mark or not name:
            raise typer.BadParameter(f"{text!r} is not of the form COLUMN=NUMBER, such as age=5.", param_hint="--floor")
    return floors


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
    unit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=UNIT",
            help="The unit of a column, such as age=years, which every release has to name.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make a new ledger, and its key.

    The key is written to a file that you alone can read. Without it no person can be looked up in the ledger again.
    """
    import secrets

    from rich.text import Text

    from seepage._writing import write_file
    from seepage.cli.terminal import screen
    from seepage.errors import InputError
    from seepage.ledger import Ledger

    if not floor and eta is None:
        raise typer.BadParameter(
            "a ledger keeps a promise: say how near an unbiased guess may come, such as --floor age=5 --unit "
            "age=years, or --eta 3.",
            param_hint="--floor",
        )
    if key.exists():
        raise InputError(f"{key} exists. Each ledger has a key of its own; name another file.")
    secret = secrets.token_bytes(32)
    # The key first: a ledger without its key can never be opened.
    write_file(key, secret, private=True)
    try:
        Ledger.create(
            place,
            key=secret,
            error_floor=_promises(floor or []),
            eta=eta,
            # Ledger.create validates the units.
            units=cast("dict[str, str]", options.units_of(unit)),
        )
    except BaseException:
        key.unlink(missing_ok=True)
        raise
    console = screen()
    console.print(Text.assemble("The ledger            ", (place, "bold")))
    console.print(Text.assemble("Stays with you        ", (str(key), "bold")))


@dataclass(frozen=True, kw_only=True)
class _Preview(options.Measured):
    place: Place
    key: Key
    model: Annotated[Path, typer.Option("--model", "-m", metavar="FILE", help=options.ARGUMENTS["model"])]
    data: Annotated[list[str], typer.Option("--data", "-d", metavar="FILE", help=options.ARGUMENTS["data"])]
    noise: options.Noise
    # Needed here: without a field of its own it would keep the default that it has elsewhere.
    ids: Annotated[str, typer.Option("--ids", metavar="COLUMN", help="Who each row is.", show_default=False)] = field()
    unit: options.Units = None
    new_people: options.NewPeople = False
    quiet: options.Quiet = False


@ledger.command()
@options.taking(_Preview)
def preview(asked: _Preview) -> None:
    """Preview a release: exit code 0 if it can be posted, 1 if not. Nothing is posted."""
    from rich.text import Text

    from seepage.cli.commands._endings import Ending
    from seepage.cli.terminal import Waiting, screen

    books = _opened(asked.place, asked.key)
    with Waiting(quiet=asked.quiet).shown() as waiting:
        question = asked.question(waiting, stream=False)
        leak, units = question.measured(asked.noise), options.units_of(asked.unit)
        effect = books.preview(leak, units=units, new_people=asked.new_people)
    for sentence in effect.sentences():
        screen().print(Text(sentence))
    raise typer.Exit(Ending.DONE if effect.fits else Ending.MISSED)


@ledger.command()
def show(place: Place, key: Key) -> None:
    """List the promises, and all releases that were paid for."""
    from seepage.pages import NOTHING, Grid, Section

    books = _opened(place, key)
    closest, promises = books.closest(), []
    for name, limit in books.limits.items():
        if name == "eta":
            promises.append(f"largest eta so far: {_digits(closest['eta'])} (promise: at most {limit:g})")
            continue
        unit, floor = books.units[name], closest.get(name, float("inf"))
        so_far = f"±{_digits(floor)} {unit}" if floor < float("inf") else "nothing released"
        promises.append(f"closest {name} so far: {so_far} (promise ±{limit:g} {unit})")
    rows = []
    for entry in books.releases:
        said, people = books.certificate_of(entry), int(str(entry.body["people"]))
        model, noise = _published(said) if said else (NOTHING, NOTHING)
        state = "paid for, not released" if said is None else "released"
        rows.append([entry.number, entry.when[:10], entry.body["title"], model, noise, f"{people:,}", state])
    table = Grid.of("Releases", ("entry", "date", "title", "model", "noise", "people", "state"), rows)
    about = "Floors are the smallest standard error of any unbiased guess, from all releases together."
    _print(Section("Promises", (*promises, about), (table,) if rows else ()))


@ledger.command()
def balance(place: Place, key: Key, ids: Ids) -> None:
    """Show the smallest error of unbiased guesses about people, from all releases together."""
    from seepage.cli.terminal import listing
    from seepage.errors import InputError
    from seepage.pages import Grid, Section

    books = _opened(place, key)
    known = books.knows(ids)
    strangers = [person for person, is_known in zip(ids, known, strict=True) if not is_known]
    if len(strangers) == len(ids):
        raise InputError(f"Not in the ledger: {listing(strangers)}. They were in no release, or are forgotten.")
    found = books.balance(ids)
    categories = sorted(name for name in books.categories if name in found)
    people = [i for i in range(len(ids)) if known[i]]
    rows = [
        [name, *(_error(column[i]) for i in people), f"± {books.limits[name]:g}" if name in books.limits else ""]
        for name, column in found.items()
        if name not in ("eta", "trace", *categories)
    ]
    most = f"at most {books.limits['eta']:g}" if "eta" in books.limits else ""
    rows.append(["eta (more is closer)", *(_digits(found["eta"][i]) for i in people), most])
    caption = "Smallest standard error of any unbiased guess from all releases so far, in the column's own unit"
    said = [f"Categories, which have no unit: {listing(categories)}"] if categories else []
    said += [f"Not in the ledger: {listing(strangers)}"] if strangers else []
    table = Grid.of(caption, ("attribute", *(ids[i] for i in people), "promise"), rows)
    _print(Section("Balance", tuple(said), (table,)))


@ledger.command()
def audit(
    place: Place,
    key: Key,
    head: Annotated[
        str | None,
        typer.Option(metavar="HEAD", help="A head that was printed earlier and must be there.", show_default=False),
    ] = None,
) -> None:
    """Add up all debits again and check all seals: exit code 3 if something does not fit."""
    from rich.text import Text

    from seepage.cli.commands._endings import Ending
    from seepage.cli.terminal import printable, screen

    books, console = _opened(place, key), screen()
    faults = books.audit(head=head)
    for fault in faults:
        console.print(Text(printable(str(fault))))
    if faults:
        raise typer.Exit(Ending.MISMATCH)
    console.print(Text(f"Everything fits: {len(books.entries):,} entries.", style="bold green"))
    console.print(Text(f"Head (keep it elsewhere): {books.head}"))


@ledger.command()
def head(place: Place, key: Key) -> None:
    """Print number and seal of the newest entry.

    Written down elsewhere, it shows whether an older copy of the ledger was put back: seepage ledger audit --head.
    """
    print(_opened(place, key).head)


@ledger.command()
def reverse(
    place: Place,
    key: Key,
    number: Annotated[
        int, typer.Argument(metavar="ENTRY", help="The number of the debit, as show lists it.", show_default=False)
    ],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The mistake, for later readers.", show_default=False)],
) -> None:
    """Take back a debit that was posted by mistake, if its noise was never drawn."""
    from rich.text import Text

    from seepage.cli.terminal import screen
    from seepage.errors import InputError

    books = _opened(place, key)
    debits = [entry for entry in books.releases if entry.number == number]
    if not debits:
        raise InputError(f"Entry {number} is no debit that counts. seepage ledger show lists them.")
    entry = books.reverse(debits[0], reason=reason)
    screen().print(Text(f"Reversed: debit {number}, entry {entry.number}."))


@ledger.command()
def forget(place: Place, key: Key, ids: Ids) -> None:
    """Erase people; a keyed hash of their ids remains, and keeps them out of further releases."""
    from rich.text import Text

    from seepage.cli.terminal import screen

    entry = _opened(place, key).forget(ids)
    people = cast("list[str]", entry.body["people"])
    screen().print(Text(f"Forgotten: {len(people)} people, entry {entry.number}."))


def _published(said: "Mapping[str, Json]") -> tuple[str, str]:
    """Return the model and the noise that a certificate names."""
    from seepage.cli.terminal import printable

    published, noise = cast(dict[str, object], said["published"]), cast(dict[str, object], said["noise"])
    return printable(str(published["estimator"])), f"{noise['scale']:g}" if "scale" in noise else "covariance"


def _print(section: "Section") -> None:
    from seepage.cli.terminal import screen
    from seepage.cli.terminal import show as shown
    from seepage.pages import section_lines

    shown(screen(), section_lines(section))


def _digits(value: float) -> str:
    """Return three digits of a number, without an exponent where people would not write one."""
    from seepage.pages import number

    return number(float(f"{value:.3g}"))


def _error(floor: float) -> str:
    return "says nothing" if floor == float("inf") else f"± {_digits(floor)}"


def _opened(place: str, key: Path) -> "Ledger":
    from seepage.ledger import Ledger

    return Ledger(place, key=key.read_bytes())
