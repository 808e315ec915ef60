"""Arguments and options that several commands share, and commands made of them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from seepage._python import StrEnum
from seepage.cli.terminal import Amount

if TYPE_CHECKING:
    from seepage.cli.input import CommandQuestion, PolicyFile
    from seepage.cli.terminal import Waiting

MEASURED = "What is measured"
READ = "How files are read"
OUT = "What comes out"


def option(panel: str, metavar: str, words: str, *names: str) -> Any:
    """Return an option that takes a value, under the heading of a panel."""
    return typer.Option(*names, metavar=metavar, help=words, show_default=False, rich_help_panel=panel)


ARGUMENTS = {
    "model": "The fitted model: of scikit-learn, written with skops; or a formula and printed numbers in TOML. None "
    "with --formula.",
    "data": "The rows it was fitted on: CSV, Parquet (files, a folder, a pattern in quotes, a URI) or Arrow.",
    "quantity": "For example eta, error_floor, success_rate, epsilon; all names if left out.",
    "paths": "What is to leave: files, or folders of them.",
    "file": "A report or a certificate, as JSON.",
    "published": "The published model, in a file of any kind.",
    "certificate": "The certificate that came with it.",
}

Model = Annotated[Path, typer.Argument(metavar="MODEL", help=ARGUMENTS["model"], show_default=False)]
Data = Annotated[list[str] | None, typer.Argument(metavar="DATA...", help=ARGUMENTS["data"], show_default=False)]
Formula = Annotated[
    str | None,
    option(
        MEASURED,
        "FORMULA",
        'Instead of MODEL: "ill ~ age + ward", as R writes it, with --family. It is fitted to the rows.',
        "--formula",
    ),
]
Family = Annotated[
    str | None,
    option(
        MEASURED,
        "NAME",
        "Of the formula: gaussian, binomial, poisson, gamma, cox.",
        "--family",
    ),
]
Target = Annotated[
    list[str] | None,
    option(MEASURED, "COLUMN", "The column that the model predicts; a table names it itself.", "--target", "-t"),
]
Units = Annotated[
    list[str] | None,
    option(
        MEASURED,
        "COLUMN=UNIT",
        "The column's unit, which must be the ledger's, such as age=years; or how many of it are one of those.",
        "--unit",
    ),
]


NewPeople = Annotated[
    bool,
    typer.Option(
        "--new-people",
        help="Confirm that more than a tenth of the people are new to the ledger.",
        rich_help_panel=MEASURED,
    ),
]


def units_of(given: list[str] | None) -> dict[str, str | float]:
    """Read units such as age=years, and numbers such as age=12."""
    found: dict[str, str | float] = {}
    for each in given or []:
        name, mark, unit = each.rpartition("=")
        if not (name and mark and unit.strip()):
            raise typer.BadParameter(
                f"{each!r} is not of the form COLUMN=UNIT, such as age=years.", param_hint="--unit"
            )
        try:
            found[name] = float(unit)
        except ValueError:
            found[name] = unit
    return found


def _amount(text: str) -> Amount:
    """Read an amount of noise; not every version of typer quotes what is none."""
    try:
        return Amount.read(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no amount of noise: write a standard deviation, such as 0.1, or standard errors, such as "
            '"0.25 se".'
        ) from None


def no_noise() -> Amount:
    """Say what to enter, instead of that something is missing."""
    raise typer.BadParameter(
        "how much noise will the published coefficients carry? Enter its standard deviation, such as --noise 0.1, or "
        'how many standard errors of each coefficient, such as --noise "0.25 se"; `seepage calibrate` finds what meets '
        "a policy. If the model carries noise already, it has a certificate: `seepage certify` says what that "
        "promises.",
        param_hint="--noise",
    )


def _noise(words: str, **more: Any) -> Any:
    """Return the option of a noise, which commands do without in ways of their own."""
    return typer.Option(
        "--noise",
        "-n",
        metavar="AMOUNT",
        parser=_amount,
        help=words,
        show_default=False,
        rich_help_panel=MEASURED,
        **more,
    )


_AMOUNT = 'The noise on the published coefficients: a standard deviation (0.1), or standard errors of each ("0.25 se").'
Noise = Annotated[Amount, _noise(f"Needed. {_AMOUNT}", default_factory=no_noise)]
AnyNoise = Annotated[Amount | None, _noise(f"{_AMOUNT} Without it: a table by attacker.")]
LeastNoise = Annotated[Amount | None, _noise(f"{_AMOUNT} Without it: what keeps the policy and costs least.")]
Private = Annotated[
    str | None,
    option(
        MEASURED,
        "COLUMNS",
        "The private columns, separated by commas; all by default. The others count as known to the attacker.",
        "--private",
        "-p",
    ),
]
Digits = Annotated[
    str | None,
    option(
        MEASURED,
        "DIGITS",
        'Without noise, how exactly the table is printed: decimals (3), or "3 significant". By default as in a table '
        "that was given rounded, or else to a tenth of a standard error.",
        "--digits",
    ),
]


def digits_of(given: str) -> int | str:
    """Read a number of decimals, or leave words such as "3 significant" to the library."""
    return int(given) if given.strip().isdigit() else given


PublicLabel = Annotated[
    bool, typer.Option("--public-label", help="The attacker knows the target column.", rich_help_panel=MEASURED)
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", "-g", metavar="COLUMN", help="Compare its groups.", rich_help_panel=MEASURED),
]
Ids = Annotated[
    str | None,
    typer.Option(
        "--ids",
        metavar="COLUMN",
        help="Whose each row is: the rows of one person count together. Without it, each row is a person.",
        rich_help_panel=MEASURED,
    ),
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        "--sample-weight", metavar="COLUMN", help="The weights that it was fitted with.", rich_help_panel=MEASURED
    ),
]
PublicPreprocessing = Annotated[
    list[str] | None,
    option(
        MEASURED,
        "STEP",
        "A step whose constants are public, by its name in the model; may be repeated.",
        "--public-preprocessing",
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy", metavar="FILE", help="Targets to hold the release against, in TOML.", rich_help_panel=MEASURED
    ),
]
Policy = Annotated[
    Path,
    option(MEASURED, "FILE", "The targets to hold the release against, in TOML.", "--policy"),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--in-memory",
        help="Parquet a batch at a time, or at once. By default at once up to 500 MB.",
        show_default=False,
        rich_help_panel=READ,
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="Read this type in the model file too.", rich_help_panel=READ),
]


class Edition(StrEnum):
    """Who may read a report."""

    internal = "internal"
    publishable = "publishable"


Report = Annotated[
    Path | None,
    typer.Option("--report", "-r", metavar="FILE", help="Write a report as HTML.", rich_help_panel=OUT),
]
EditionOption = Annotated[
    Edition,
    typer.Option("--edition", help="Whether reports may hold values about single people.", rich_help_panel=OUT),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUT)]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=OUT)]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What every command takes that is about a model and the rows it was fitted on."""

    model: Model
    data: Data = None
    formula: Formula = None
    family: Family = None
    target: Target = None
    private: Private = None
    ids: Ids = None
    sample_weight: SampleWeight = None
    trust: Trust = None

    @property
    def model_file(self) -> Path | None:
        """The file of the model, if it is in one."""
        return None if self.formula is not None else self.model

    @property
    def files(self) -> list[str]:
        """The files of rows: a formula is no file, so that what stands first is one of them."""
        found = [*([] if self.formula is None else [str(self.model)]), *(self.data or [])]
        if not found:
            raise typer.BadParameter(
                f"which rows was the model fitted on? Name their files behind it: {self.model} people.parquet",
                param_hint="DATA",
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Measured(Asked):
    """What every command takes that measures."""

    public_label: PublicLabel = False
    public_preprocessing: PublicPreprocessing = None

    def question(
        self, waiting: "Waiting", *, stream: bool | None, groups: str | None = None, file: "PolicyFile | None" = None
    ) -> "CommandQuestion":
        """Return the question of what is measured; the names in a policy are checked before anything is read."""
        from seepage.cli.input import CommandQuestion

        question = CommandQuestion.of(waiting, self, stream=stream, groups=groups)
        if file is not None:
            question.check_names(file)
        return question


Options = TypeVar("Options")


def taking(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Make a command of a function of options, which a dataclass declares: typer takes each from a parameter."""

    def made(run: Callable[[Options], None]) -> Callable[..., None]:
        def command(**given: object) -> None:
            run(kind(**given))

        # What is needed first, as in a call.
        listed = sorted(inspect.signature(kind).parameters.values(), key=lambda each: each.default is not each.empty)
        command.__name__, command.__doc__, command.__module__ = run.__name__, run.__doc__, run.__module__
        command.__annotations__ = {each.name: each.annotation for each in listed}
        command.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
        return command

    return made
