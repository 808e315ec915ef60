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
    str, typer.Argument(metavar="PLACE", help="The ledger: a folder, or a URI of an object store.", show_default=False)
]
Key = Annotated[
    Path,
    typer.Option(
        "--key", "-k", metavar="FILE", help="The key of the ledger, which stays with you.", show_default=False
    ),
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of people.", show_default=False)]

_Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a person.", show_default=False)]


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

    The key is written to a file that you alone can read. Without it nobody can be found in the ledger again.
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
    # The key first: nobody could ever open a ledger whose key was not kept.
    write_file(key, secret, private=True)
    try:
        Ledger.create(
            place,
            key=secret,
            error_floor=_promises(floor or []),
            eta=eta,
            # What is no word is refused there.
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
    quiet: options.Quiet = False


@ledger.command()
@options.taking(_Preview)
def preview(asked: _Preview) -> None:
    """Say whether a release would fit: exit code 0 if it does, 1 if a promise would be broken. Nothing is posted."""
    from rich.text import Text

    from seepage.cli.commands._endings import Ending
    from seepage.cli.terminal import Waiting, screen

    books = _opened(asked.place, asked.key)
    with Waiting(quiet=asked.quiet).shown() as waiting:
        question = asked.question(waiting, stream=False)
        found = books.preview(question.measured(asked.noise), units=options.units_of(asked.unit))
    for sentence in found.sentences():
        screen().print(Text(sentence))
    raise typer.Exit(Ending.DONE if found.fits else Ending.MISSED)


@ledger.command()
def show(place: Place, key: Key) -> None:
    """List what is promised, and every release that was paid for."""
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
    """Show how near an unbiased guess of people can come from all releases together."""
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
    """Add everything up again and check every seal and file: exit code 3 if something does not fit."""
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
    if orphans := books.orphans:
        console.print(
            Text(
                f"Files that no entry names: {len(orphans):,}. They are being written now, or were left by whoever "
                "was stopped: seepage ledger sweep deletes them."
            )
        )
        for path in orphans:
            console.print(Text(f"  {printable(path)}"))
    console.print(Text(f"Head (keep it elsewhere): {books.head}"))


@ledger.command()
def head(place: Place, key: Key) -> None:
    """Print number and seal of the newest entry.

    Written down elsewhere, it shows whether an older copy of the ledger was put back: seepage ledger audit --head.
    """
    print(_opened(place, key).head)


@ledger.command()
def merge(place: Place, key: Key, one: _Id, other: _Id) -> None:
    """Count two ids as one person, in earlier releases and in further ones."""
    from rich.text import Text

    from seepage.cli.terminal import screen

    entry = _opened(place, key).merge(one, other)
    screen().print(
        Text(f"One person from now on, entry {entry.number}. See what is left of the promises: ledger balance")
    )


@ledger.command()
def rekey(
    place: Place,
    key: Key,
    new_key: Annotated[
        Path, typer.Option("--new-key", metavar="FILE", help="Where to write the new key.", show_default=False)
    ],
) -> None:
    """Change the key: people get other names in every file, and the old key opens nothing any more.

    The new key is written to a file that you alone can read before anything is changed.
    """
    import secrets

    from rich.text import Text

    from seepage._writing import write_file
    from seepage.cli.terminal import screen
    from seepage.errors import InputError

    books = _opened(place, key)
    if new_key.exists():
        raise InputError(f"{new_key} exists. Each key has a file of its own; name another.")
    secret = secrets.token_bytes(32)
    # First: a ledger whose key nobody has is lost.
    write_file(new_key, secret, private=True)
    entry = books.rotate(secret)
    console = screen()
    console.print(Text(f"The key was changed, entry {entry.number}."))
    console.print(Text.assemble("Stays with you        ", (str(new_key), "bold")))
    console.print(Text(f"Delete {key} wherever it is; older copies of the ledger open with it."))


@ledger.command()
def sweep(place: Place, key: Key) -> None:
    """Delete files that no entry names, which whoever was stopped has left; a post under way begins again."""
    from rich.text import Text

    from seepage.cli.terminal import screen

    books = _opened(place, key)
    before = len(books.orphans)
    entry = books.sweep()
    screen().print(Text(f"Deleted: {before - len(books.orphans):,} files, entry {entry.number}."))


@ledger.command()
def forget(place: Place, key: Key, ids: Ids) -> None:
    """Erase people; the keyed hash of their ids stays, and keeps them out of further releases."""
    from rich.text import Text

    from seepage.cli.terminal import screen

    entry = _opened(place, key).forget(ids)
    screen().print(Text(f"Forgotten: {entry.body['people']} people, entry {entry.number}."))


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
