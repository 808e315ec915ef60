"""`seepage check`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seepage.cli.commands import _options as options
from seepage.cli.commands._formats import Format, as_json, as_sarif

if TYPE_CHECKING:
    from seepage.request import Verdict


@dataclass(frozen=True, kw_only=True)
class _Check(options.Measured):
    noise: options.AnyNoise = None
    policy: options.PolicyOption = None
    people: Annotated[
        str | None,
        options.option(options.MEASURED, "FILE", "Of a folder of outputs: everybody they are about.", "--people"),
    ] = None
    earlier: Annotated[
        list[Path] | None,
        options.option(
            options.MEASURED,
            "FOLDER",
            "Of a folder of outputs: the folder of an earlier request, whose outputs are compared with these; may be "
            "repeated.",
            "--earlier",
        ),
    ] = None
    draft: Annotated[
        bool, typer.Option("--draft", help="Of a folder of outputs: describe each of them, and check nothing.")
    ] = False
    stream: options.Stream = None
    format: Annotated[Format, typer.Option("--format", "-f", help="For a pipeline.", rich_help_panel=options.OUT)] = (
        Format.text
    )
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A file instead of standard output.", rich_help_panel=options.OUT
        ),
    ] = None
    report: options.Report = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="A new folder of the report as HTML, text, JSON and PNG, each complete by itself.",
            rich_help_panel=options.OUT,
        ),
    ] = None
    sacro: Annotated[
        Path | None,
        typer.Option(
            "--sacro",
            metavar="FOLDER",
            help="Of a folder of outputs: a new folder that SACRO Viewer opens, with the publishable edition.",
            rich_help_panel=options.OUT,
        ),
    ] = None
    edition: options.EditionOption = options.Edition.internal
    force: options.Force = False
    quiet: options.Quiet = False

    # What says something of a folder of outputs.
    _OF_A_REQUEST = ("model", "data", "people", "ids", "policy", "earlier", "draft", "format", "output", "report")
    _FOLDERS = ("out", "sacro", "edition")
    _OF_BOTH = ("force", "quiet")

    def refuse_beside_requests(self) -> None:
        """Refuse what is about one model."""
        for each in fields(self):
            if (
                each.name in (*self._OF_A_REQUEST, *self._FOLDERS, *self._OF_BOTH)
                or getattr(self, each.name) == each.default
            ):
                continue
            raise typer.BadParameter(
                f"{self.model} is a folder of outputs, which say themselves what they are of: leave it out.",
                param_hint=f"--{each.name.replace('_', '-')}",
            )

    def refuse_beside_a_model(self) -> None:
        """Refuse what is about a folder of outputs, and ask for what a model needs."""
        for name, value in (
            ("--people", self.people),
            ("--earlier", self.earlier),
            ("--draft", self.draft or None),
            ("--sacro", self.sacro),
        ):
            if value is not None:
                raise typer.BadParameter(
                    f"{self.model} is no folder of outputs: leave it out, and name the rows behind the model.",
                    param_hint=name,
                )
        if self.noise is None:
            options.no_noise()
        if self.policy is None:
            raise typer.BadParameter(
                "what must hold? Name a file of targets: --policy policy.toml.", param_hint="--policy"
            )


@options.taking(_Check)
def check(asked: _Check) -> None:
    """Hold a release, or a folder of outputs, against a policy: exit code 0 if it is met, 1 if not.

    Reasons are on the screen. With another format than text they go to standard error, and the document to standard
    output or the file given. What is told of missed targets is rounded, and nothing names a person; with `--edition
    publishable` only whether each target is met is told. Attributes without a target are named: give each a target, or
    declare them public in the policy, with other_attributes = "public".

    A folder of outputs without noise takes `--people everybody.parquet`: each output is checked by itself, then all of
    them together, then with `--earlier`. What it prints names people who are not protected. Several folders make one
    worksheet (CSV).

    With `--out folder` the report is a page, text of 80 columns, JSON and PNG, for places that show no pages. `--sacro
    folder` writes one that SACRO Viewer opens: the outputs and the word of each.
    """
    if asked.model.is_dir() and asked.formula is None:
        _requests(asked)
        return
    asked.refuse_beside_a_model()
    _release(asked)


def _release(asked: _Check) -> None:
    """Check one model with noise."""
    from seepage._writing import write_file
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import (
        Waiting,
        aside,
        check_outputs,
        data_inputs,
        screen,
        show,
        show_people,
        show_written,
    )
    from seepage.errors import UnansweredError
    from seepage.pages import section_lines
    from seepage.report import Report, judge, without_factors

    assert asked.noise is not None
    assert asked.policy is not None
    if asked.output is not None and asked.format is Format.text:
        raise typer.BadParameter("say in which format with --format json or sarif.", param_hint="--output")
    inputs = {"MODEL": asked.model_file, **data_inputs(asked.files), "--policy": asked.policy}
    check_outputs({"--output": asked.output, "--report": asked.report}, inputs=inputs, force=asked.force)
    check_outputs({"--out": asked.out}, inputs=inputs, force=asked.force, folders=True)
    is_publishable = asked.edition is options.Edition.publishable
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = PolicyFile.read(asked.policy)
        question = asked.question(waiting, stream=asked.stream, file=file)
        leak = question.measured(asked.noise)
        # What the noise of targets that are met could be is decided by the most exposed person, and travels here.
        verdict = without_factors(judge(leak, file.policy), all_of_them=is_publishable)
        if verdict.status == "withheld":
            raise UnansweredError(verdict.reason)
        if asked.report is not None or asked.out is not None:
            with waiting.doing("writing the report"):
                page = Report.of(leak, asked.edition.value, policy=file.policy, decision=file.decision)
                if asked.report is not None:
                    page.write_html(asked.report)
                if asked.out is not None:
                    page.write(asked.out, replace=asked.force)
    if asked.format is not Format.text:
        is_json = asked.format is Format.json
        document = as_json(verdict, file, asked.model, asked.noise) if is_json else as_sarif(verdict, file, asked.model)
        if asked.output is None:
            typer.echo(document)
        else:
            write_file(asked.output, document + "\n")
    if not asked.quiet:
        console = screen() if asked.format is Format.text else aside()
        show(console, section_lines(verdict.section(is_personal=not is_publishable)))
        public = (one.sentence() for one in leak.information.assumptions if one.kind == "preprocessing")
        # A verdict is about the rows that were given, under what it takes for granted.
        show(console, [("", " ".join([f"About {leak.information.count:,} people.", *public]))])
        show_people(console, asked.ids)
        for written in (asked.report, asked.out):
            if written is not None:
                show_written(console, written, asked.edition.value)
    raise typer.Exit(Ending.DONE if verdict.status == "met" else Ending.MISSED)


def _requests(asked: _Check) -> None:
    """Check folders of outputs without noise."""
    from seepage._writing import write_file
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import PolicyFile, whole_frame
    from seepage.cli.terminal import Waiting, aside, check_outputs, printable, screen, show_written
    from seepage.release import Policy
    from seepage.request import check as checked
    from seepage.request import draft

    asked.refuse_beside_requests()
    folders = [asked.model, *map(Path, asked.data or ())]
    for folder in folders:
        if not folder.is_dir():
            raise typer.BadParameter(
                f"{folder} is no folder, and {asked.model} is one of outputs: their people come with --people FILE.",
                param_hint="DATA",
            )
    if asked.people is None:
        raise typer.BadParameter(
            "whom are the outputs about? Name the file of everybody in them: --people people.parquet.",
            param_hint="--people",
        )
    if asked.format not in (Format.text, Format.json):
        raise typer.BadParameter("a request is told as text or json.", param_hint="--format")
    of_one: dict[str, object] = {"--report": asked.report, "--out": asked.out, "--sacro": asked.sacro}
    of_one["--format"] = None if asked.format is Format.text else asked.format
    for name, value in of_one.items():
        if len(folders) > 1 and value is not None:
            raise typer.BadParameter(
                "several requests make one worksheet (CSV): check one folder for a page or JSON.", param_hint=name
            )
    inputs: dict[str, str | Path | None] = {"--people": Path(asked.people), "--policy": asked.policy}
    check_outputs({"--output": asked.output, "--report": asked.report}, inputs=inputs, force=asked.force)
    # What is written is never read as an output, neither now nor next time.
    inputs["MODEL"] = asked.model
    inputs |= {f"--earlier {folder}": folder for folder in asked.earlier or ()}
    check_outputs({"--out": asked.out, "--sacro": asked.sacro}, inputs=inputs, force=asked.force, folders=True)
    verdicts: list[Verdict] = []
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = None if asked.policy is None else PolicyFile.read(asked.policy, outputs=True)
        # A file with nothing but a risk appetite leaves the rule for all columns as it is.
        policy = None if file is None or file.policy == Policy() else file.policy
        with waiting.doing(f"reading {asked.people}"):
            people = whole_frame(asked.people)
        drafts = [
            path for folder in folders if asked.draft for path in draft(folder, people=people, ids=asked.ids or "id")
        ]
        for folder in () if asked.draft else folders:
            with waiting.doing(f"checking {folder.name}"):
                found = checked(
                    folder,
                    people=people,
                    ids=asked.ids or "id",
                    policy=policy,
                    earlier=asked.earlier or (),
                    risk_appetite=None if file is None else file.risk_appetite,
                )
            verdicts.append(found if asked.edition is options.Edition.internal else found.for_everybody())
    if asked.draft:
        screen().print("\n".join(f"{path}\n{path.read_text()}" for path in drafts), markup=False, highlight=False)
        raise typer.Exit(Ending.DONE)
    document = _document(verdicts, asked.format)
    if asked.output is not None:
        write_file(asked.output, document + "\n", private=asked.edition is options.Edition.internal)
    elif not asked.quiet or asked.format is Format.json:
        screen().print(printable(document), markup=False, highlight=False, soft_wrap=True)
    if asked.report is not None:
        write_file(asked.report, verdicts[0].html(), private=asked.edition is options.Edition.internal)
    if asked.out is not None:
        verdicts[0].write(asked.out, replace=asked.force)
    if asked.sacro is not None:
        verdicts[0].to_sacro(asked.sacro)
    editions = {asked.report: asked.edition.value, asked.out: asked.edition.value, asked.sacro: "publishable"}
    for written, edition in editions.items():
        if written is not None and not asked.quiet:
            show_written(aside() if asked.format is Format.json else screen(), written, edition)
    raise typer.Exit(Ending.DONE if all(each.word == "pass" for each in verdicts) else Ending.MISSED)


def _document(verdicts: "Sequence[Verdict]", form: Format) -> str:
    """Return what is decided: as text or JSON of one request, as a worksheet of several."""
    if len(verdicts) == 1:
        return verdicts[0].to_json() if form is Format.json else verdicts[0].text()
    import csv
    from io import StringIO

    written = StringIO()
    sheet = csv.writer(written, lineterminator="\n")
    sheet.writerow(("request", "output", "what", "verdict", "why"))
    for each in verdicts:
        sheet.writerows(each.worksheet())
    return written.getvalue().rstrip("\n")
