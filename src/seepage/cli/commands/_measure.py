"""`seepage measure`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands import _options as options


def measure(
    model: options.Model,
    data: options.Data,
    noise_scale: options.NoiseScale,
    target: options.Target = None,
    private: options.Private = None,
    public_label: options.PublicLabel = False,
    public_preprocessing: options.PublicPreprocessing = None,
    groups: options.Groups = None,
    ids: options.Ids = None,
    sample_weight: options.SampleWeight = None,
    policy: options.PolicyOption = None,
    trust: options.Trust = None,
    stream: options.Stream = None,
    report: options.Report = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write the report as JSON; see it with show.", rich_help_panel=options.OUT
        ),
    ] = None,
    edition: options.EditionOption = options.Edition.internal,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="FILE",
            help="Write the values of every person as Parquet, readable by you alone; a new folder if streamed.",
            rich_help_panel=options.OUT,
        ),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure what publishing a model gives away about each person.

    Parquet is read at once when it takes at most 500 MB in memory, and a batch at a time by all cores otherwise; what
    needs every row at once, such as the success rate of categories, is answered only in memory.
    """
    from seepage.cli.input import PolicyFile, Question
    from seepage.cli.terminal import (
        Waiting,
        check_outputs,
        data_inputs,
        screen,
        show_people,
        show_report,
        show_summary,
        show_written,
    )
    from seepage.leakage import Summary
    from seepage.report import Report

    inputs = {"MODEL": model, **data_inputs(data), "--policy": policy}
    check_outputs({"--report": report, "--json": json}, inputs=inputs, force=force)
    check_outputs(
        {"--people": people}, inputs={**inputs, "--report": report, "--json": json}, force=force, folders=True
    )
    is_publishable = edition is options.Edition.publishable
    if people is not None and is_publishable:
        raise typer.BadParameter("the publishable edition holds nothing about single people.", param_hint="--people")
    if groups is not None and is_publishable:
        raise typer.BadParameter("the publishable edition holds verdicts, and compares nobody.", param_hint="--groups")
    with Waiting(quiet=quiet).shown() as waiting:
        file = None if policy is None else PolicyFile.read(policy)
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
            groups=groups,
            weight=sample_weight,
            stream=stream,
        )
        leak = question.measured(noise_scale, output=people)
        verdict = None if file is None else file.judge(leak, noise_scale, model)
        if is_publishable or report is not None or json is not None or people is not None:
            with waiting.doing("writing the report"):
                found = Report.of(
                    leak,
                    edition.value,
                    policy=None if file is None else file.policy,
                    decision=None if file is None else file.decision,
                    groups=question.named_grouping,
                )
                if report is not None:
                    found.write_html(report)
                if json is not None:
                    found.write_json(json)
                if people is not None and not question.source.stream:
                    found.write_people(people)
        summary = None
        if not quiet and not is_publishable:
            compared = None if groups is None else leak.by_group(question.grouping)
            summary = Summary.of(leak.information, groups=compared)
    if not quiet:
        console = screen()
        if summary is not None:
            show_summary(console, summary, verdict, grouped_by=groups)
            show_people(console, ids)
        else:
            # What everybody may read is on the screen as it is on the page, and nothing else.
            show_report(console, found)
        for written in (report, json):
            if written is not None:
                show_written(console, written, edition.value)
        if people is not None:
            console.print(f"Written: {people} (personal data)", style="bold", markup=False)
