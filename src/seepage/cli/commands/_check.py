"""`seepage check`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands import _options as options
from seepage.cli.terminal import Format


def check(
    model: options.Model,
    data: options.Data,
    noise_scale: options.NoiseScale,
    policy: options.Policy,
    target: options.Target = None,
    private: options.Private = None,
    public_label: options.PublicLabel = False,
    public_preprocessing: options.PublicPreprocessing = None,
    ids: options.Ids = None,
    sample_weight: options.SampleWeight = None,
    trust: options.Trust = None,
    stream: options.Stream = None,
    format: Annotated[  # noqa: A002
        Format, typer.Option("--format", "-f", help="For a pipeline.", rich_help_panel=options.OUT)
    ] = Format.text,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A file instead of standard output.", rich_help_panel=options.OUT
        ),
    ] = None,
    report: options.Report = None,
    edition: options.EditionOption = options.Edition.internal,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Hold a release against a policy: exit code 0 if it is met, 1 if not.

    Reasons are on the screen. With another format than text they go to standard error, and the document to standard
    output or the file given. What is told of missed targets is rounded, and nothing names a person; with `--edition
    publishable` only whether each target is met is told. Attributes without a target are named: give each a target, or
    declare them public in the policy, with unnamed = "public".
    """
    from seepage._writing import write_file
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import PolicyFile, Question
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

    if output is not None and format is Format.text:
        raise typer.BadParameter("say in which format with --format json, sarif or junit.", param_hint="--output")
    inputs = {"MODEL": model, **data_inputs(data), "--policy": policy}
    check_outputs({"--output": output, "--report": report}, inputs=inputs, force=force)
    with Waiting(quiet=quiet).shown() as waiting:
        file = PolicyFile.read(policy)
        question = Question.of(
            waiting,
            model,
            data,
            target,
            private=private,
            trust=trust,
            public_label=public_label,
            public_preprocessing=public_preprocessing,
            ids=ids,
            weight=sample_weight,
            stream=stream,
        )
        leak = question.measured(noise_scale)
        verdict = file.judge(leak, noise_scale, model)
        if edition is options.Edition.publishable:
            verdict = verdict.for_everybody()
        if report is not None:
            with waiting.doing("writing the report"):
                page = Report.of(leak, edition.value, policy=file.policy, decision=file.decision)
                page.write_html(report)
    if format is not Format.text:
        document = WRITERS[format](verdict)
        if output is None:
            typer.echo(document)
        else:
            write_file(output, document + "\n")
    if not quiet:
        console = screen() if format is Format.text else aside()
        show_verdict(console, verdict)
        show_people(console, ids)
        if report is not None:
            show_written(console, report, edition.value)
    raise typer.Exit(Ending.DONE if verdict.passed else Ending.MISSED)
