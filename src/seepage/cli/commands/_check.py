"""`seepage check`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands import _options as options
from seepage.cli.terminal import Format


@dataclass(frozen=True, kw_only=True)
class _Check(options.Measured):
    noise: options.Noise
    policy: options.Policy
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
    edition: options.EditionOption = options.Edition.internal
    force: options.Force = False
    quiet: options.Quiet = False


@options.taking(_Check)
def check(asked: _Check) -> None:
    """Hold a release against a policy: exit code 0 if it is met, 1 if not.

    Reasons are on the screen. With another format than text they go to standard error, and the document to standard
    output or the file given. What is told of missed targets is rounded, and nothing names a person; with `--edition
    publishable` only whether each target is met is told. Attributes without a target are named: give each a target, or
    declare them public in the policy, with unnamed = "public".
    """
    from seepage._writing import write_file
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import (
        WRITERS,
        Waiting,
        aside,
        check_outputs,
        data_inputs,
        screen,
        show_people,
        show_verdict,
        show_written,
    )
    from seepage.report import Report

    if asked.output is not None and asked.format is Format.text:
        raise typer.BadParameter("say in which format with --format json, sarif or junit.", param_hint="--output")
    inputs = {"MODEL": asked.model_file, **data_inputs(asked.files), "--policy": asked.policy}
    check_outputs({"--output": asked.output, "--report": asked.report}, inputs=inputs, force=asked.force)
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = PolicyFile.read(asked.policy)
        question = asked.measured(waiting, stream=asked.stream)
        leak = question.measured(asked.noise)
        verdict = file.judge(leak, asked.noise, asked.model)
        if asked.edition is options.Edition.publishable:
            verdict = verdict.for_everybody()
        if asked.report is not None:
            with waiting.doing("writing the report"):
                page = Report.of(leak, asked.edition.value, policy=file.policy, decision=file.decision)
                page.write_html(asked.report)
    if asked.format is not Format.text:
        document = WRITERS[asked.format](verdict)
        if asked.output is None:
            typer.echo(document)
        else:
            write_file(asked.output, document + "\n")
    if not asked.quiet:
        console = screen() if asked.format is Format.text else aside()
        show_verdict(console, verdict)
        show_people(console, asked.ids)
        if asked.report is not None:
            show_written(console, asked.report, asked.edition.value)
    raise typer.Exit(Ending.DONE if verdict.passed else Ending.MISSED)
