"""Commands made of functions: the docstring of a function or of its options says what each option is."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from seepage._python import StrEnum
from seepage.cli.terminal import Amount

if TYPE_CHECKING:
    from seepage.cli.input import CommandQuestion, PolicyFile
    from seepage.cli.terminal import Waiting
    from seepage.leakage import Leakage
    from seepage.report import Report

# The words of all arguments: since click 8.5 an argument loses the help that older versions of typer gave it.
ARGUMENTS: dict[str, str] = {}
# A panel of options, or an argument or option with the indented words below it.
_PART = re.compile(r"^(?:(?P<panel>.+)\n-{4,}$|(?P<head>--\S.*|[A-Z]+(?:\.\.\.)?)\n(?P<words>(?: {4}.+\n?)+))", re.M)


class Edition(StrEnum):
    """Who may read a report."""

    internal = "internal"
    publishable = "publishable"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Options of every command about a model and the rows it was fitted on.

    MODEL
        The fitted model: of scikit-learn, written with skops; or a formula and printed numbers in TOML. None with
        --formula.
    DATA...
        The rows it was fitted on: CSV, or Parquet (files, a folder, a pattern in quotes, a URI).

    What is measured
    ----------------
    --formula FORMULA
        Instead of MODEL: "ill ~ age + ward", as R writes it, with --family. It is fitted to the rows.
    --family NAME
        Of the formula: gaussian, binomial, poisson, gamma, cox.
    --target, -t COLUMN
        The column that the model predicts; a table names it itself.
    --time COLUMN
        Of a survival model, instead of --target: the time of the event, or of the last visit.
    --status COLUMN
        Of a survival model: whether the event happened (1) or not (0).
    --private, -p COLUMNS
        The private columns, separated by commas; all by default. The others count as known to the attacker.
    --ids COLUMN
        The person of each row: the rows of one person count together. Without it, each row is a person.
    --sample-weight COLUMN
        The weights that it was fitted with.

    How files are read
    ------------------
    --trust TYPE
        Read this type in the model file too.
    """

    model: Path
    data: list[str] | None = None
    formula: str | None = None
    family: str | None = None
    target: list[str] | None = None
    time: str | None = None
    status: str | None = None
    private: str | None = None
    ids: str | None = None
    sample_weight: str | None = None
    trust: list[str] | None = None

    @property
    def model_file(self) -> Path | None:
        """The file of the model, if it is in one."""
        return None if self.formula is not None else self.model

    @property
    def files(self) -> list[str]:
        """The files of rows: a formula is no file, so that the first argument is one of them."""
        found = [*([] if self.formula is None else [str(self.model)]), *(self.data or [])]
        if not found:
            raise typer.BadParameter(
                f"which rows was the model fitted on? Name their files behind it: {self.model} people.parquet",
                param_hint="DATA",
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Measured(Asked):
    """Options of every command that measures.

    What is measured
    ----------------
    --public-label
        The attacker knows the target column.
    --public-preprocessing STEP
        A step whose constants are public, by its name in the model; may be repeated.
    --noise, -n AMOUNT
        The noise on the published coefficients: a standard deviation (0.1), or standard errors of each ("0.25 se").
    --policy FILE
        The targets of the release, in TOML.
    --unit COLUMN=UNIT
        The column's unit, which must be the ledger's (age=years), or a conversion factor (age=12).
    --new-people
        Confirm that more than a tenth of the people are new to the ledger.

    How files are read
    ------------------
    --stream/--in-memory
        Parquet a batch at a time, or at once. By default at once up to 500 MB.

    What comes out
    --------------
    --report, -r FILE
        Write a report as HTML.
    --edition
        The readers of reports: the internal edition holds values about single people.
    --force
        Replace files that exist.
    --quiet, -q
        Print nothing but errors.
    """

    public_label: bool = False
    public_preprocessing: list[str] | None = None

    def question(
        self, waiting: "Waiting", *, stream: bool | None, file: "PolicyFile | None" = None
    ) -> "CommandQuestion":
        """Return the question of what is measured; the names in a policy are checked before anything is read."""
        from seepage.cli.input import CommandQuestion

        question = CommandQuestion.of(waiting, self, stream=stream)
        if file is not None:
            question.check_names(file)
        return question


@dataclass(frozen=True, kw_only=True)
class Reported(Measured):
    """Options of every command that writes reports."""

    noise: Amount | None = None
    policy: Path | None = None
    report: Path | None = None
    edition: Edition = Edition.internal
    force: bool = False
    quiet: bool = False

    @property
    def is_publishable(self) -> bool:
        """Whether everybody may read the reports."""
        return self.edition is Edition.publishable

    def check_files(self, *files: str, folders: Sequence[str] = (), key: Path | None = None) -> None:
        """Refuse to write onto what is read, onto another output, or where nothing can be written."""
        from seepage.cli.terminal import check_outputs, data_inputs

        outputs, more = ({_flag(name): getattr(self, name) for name in names} for names in (files, folders))
        inputs = {"MODEL": self.model_file, **data_inputs(self.files), "--policy": self.policy, "--ledger-key": key}
        check_outputs(outputs, inputs=inputs, force=self.force)
        check_outputs(more, inputs={**inputs, **outputs}, force=self.force, folders=True)

    def report_of(self, leak: "Leakage", file: "PolicyFile | None", groups: object = None) -> "Report":
        """Return the report of a measurement, with what the file of the policy says."""
        from seepage.report import Report

        policy, decision = (None, None) if file is None else (file.policy, file.decision)
        return Report.of(leak, self.edition.value, policy=policy, decision=decision, groups=groups)


def refuse_options(given: object, why: str, *names: str) -> None:
    """Refuse the options among these that were given."""
    for field in fields(given):  # type: ignore[arg-type]
        if field.name in names and getattr(given, field.name) != field.default:
            raise typer.BadParameter(why, param_hint=_flag(field.name))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class _Entry:
    """An argument or an option, as a docstring states it."""

    names: list[str]
    metavar: str | None
    words: str
    panel: str | None

    def parameter(self, kind: Any, default: object) -> Any:
        """Return the type of a parameter with what typer needs to know of it."""
        shown: dict[str, Any] = {"metavar": self.metavar, "help": self.words, "show_default": isinstance(default, Enum)}
        if not self.names:
            ARGUMENTS[(self.metavar or "").strip(".").lower()] = self.words
            return Annotated[kind, typer.Argument(**shown)]
        if Amount in (kind, *get_args(kind)):
            shown["parser"] = _amount
        return Annotated[kind, typer.Option(*self.names, rich_help_panel=self.panel, **shown)]


def _read(text: str | None) -> tuple[str, dict[str, _Entry]]:
    """Return what a docstring says before its options, and each option by the name of its parameter."""
    text, panel, found = inspect.cleandoc(text or "") + "\n", None, {}
    parts = list(_PART.finditer(text))
    for part in parts:
        if part["panel"]:
            panel = part["panel"]
            continue
        heads = part["head"].split()
        names = [head.strip(",") for head in heads if head.startswith("-")]
        metavar = None if heads[-1].startswith("-") else heads[-1]
        name = (names[0].partition("/")[0] if names else heads[-1].strip(".").lower()).strip("-").replace("-", "_")
        found[name] = _Entry(names, metavar, " ".join(part["words"].split()), panel)
    return text[: parts[0].start()].strip() if parts else text.strip(), found


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function: of its parameters, or of the one dataclass of options that it takes."""
    words, entries = _read(run.__doc__)
    parameters = list(inspect.signature(run).parameters.values())
    options: Any = parameters[0].annotation
    takes_options = is_dataclass(options)
    if takes_options:
        parameters = list(inspect.signature(options).parameters.values())
        for base in options.__mro__:
            entries = {**_read(base.__doc__)[1], **entries}

    def made(**given: object) -> None:
        if takes_options:
            run(options(**given))
        else:
            run(**given)

    # The required ones first, as in a call.
    parameters.sort(key=lambda each: each.default is not each.empty)
    typed = {
        each.name: each.annotation
        if get_origin(each.annotation) is Annotated
        else entries[each.name].parameter(each.annotation, each.default)
        for each in parameters
    }
    made.__name__, made.__doc__, made.__module__, made.__annotations__ = run.__name__, words, run.__module__, typed
    made.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(annotation=typed[each.name], kind=each.KEYWORD_ONLY) for each in parameters]
    )
    return made


_ENTRIES = {**_read(Asked.__doc__)[1], **_read(Measured.__doc__)[1]}
Units = _ENTRIES["unit"].parameter(list[str] | None, None)
NewPeople = _ENTRIES["new_people"].parameter(bool, False)
Quiet = _ENTRIES["quiet"].parameter(bool, False)
Noise = Annotated[Amount, typer.Option("--noise", "-n", metavar="AMOUNT", parser=lambda text: _amount(text))]
ARGUMENTS |= {name: _ENTRIES[name].words for name in ("model", "data")}


def taking(_: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function of options."""
    return command


def units_of(given: list[str] | None) -> dict[str, str | float]:
    """Read units such as age=years, and numbers such as age=12."""
    found: dict[str, str | float] = {}
    for text in given or []:
        name, mark, unit = text.rpartition("=")
        if not (name and mark and unit.strip()):
            raise typer.BadParameter(
                f"{text!r} is not of the form COLUMN=UNIT, such as age=years.", param_hint="--unit"
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
