"""`seepage measure`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands import _options as options

# So many decimals of a coefficient are all that a computer holds.
_ALL = 12


@dataclass(frozen=True, kw_only=True)
class _Measure(options.Measured):
    noise: options.AnyNoise = None
    digits: options.Digits = None
    groups: options.Groups = None
    policy: options.PolicyOption = None
    stream: options.Stream = None
    report: options.Report = None
    json: Annotated[
        Path | None, options.option(options.OUT, "FILE", "Write the report as JSON; see it with show.", "--json")
    ] = None
    edition: options.EditionOption = options.Edition.internal
    people: Annotated[
        Path | None,
        options.option(
            options.OUT,
            "FILE",
            "Write the values of every person as Parquet, readable by you alone; a new folder if streamed.",
            "--people",
        ),
    ] = None
    force: options.Force = False
    quiet: options.Quiet = False


@options.taking(_Measure)
def measure(asked: _Measure) -> None:
    """Measure what publishing a model gives away about each person.

    Without --noise: what a printed table of it gives away, to attackers who know a part of the other people.

    Parquet is read at once when it takes at most 500 MB in memory, and a batch at a time by all cores otherwise; what
    needs every row at once, such as the success rate of categories, is answered only in memory.
    """
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import Waiting, check_outputs, data_inputs, screen, show, show_people, show_written
    from seepage.pages import lines, section_lines
    from seepage.report import Report, judge

    inputs = {"MODEL": asked.model_file, **data_inputs(asked.files), "--policy": asked.policy}
    check_outputs({"--report": asked.report, "--json": asked.json}, inputs=inputs, force=asked.force)
    inputs |= {"--report": asked.report, "--json": asked.json}
    check_outputs({"--people": asked.people}, inputs=inputs, force=asked.force, folders=True)
    is_publishable = asked.edition is options.Edition.publishable
    if asked.people is not None and is_publishable:
        raise typer.BadParameter("the publishable edition holds nothing about single people.", param_hint="--people")
    if asked.groups is not None and is_publishable:
        raise typer.BadParameter("the publishable edition holds verdicts, and compares nobody.", param_hint="--groups")
    if asked.noise is None:
        _without_noise(asked)
        return
    if asked.digits is not None:
        raise typer.BadParameter(
            "digits protect where there is no noise: leave --noise or this out.", param_hint="--digits"
        )
    report = None
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = None if asked.policy is None else PolicyFile.read(asked.policy)
        question = asked.question(waiting, stream=asked.stream, groups=asked.groups, file=file)
        leak = question.measured(asked.noise, output=asked.people)
        if is_publishable or asked.report is not None or asked.json is not None or asked.people is not None:
            with waiting.doing("writing the report"):
                report = Report.of(
                    leak,
                    asked.edition.value,
                    policy=None if file is None else file.policy,
                    decision=None if file is None else file.decision,
                    groups=question.named_grouping,
                )
                if asked.report is not None:
                    report.write_html(asked.report)
                if asked.json is not None:
                    report.write_json(asked.json)
                if asked.people is not None and not question.source.stream:
                    report.write_people(asked.people)
        if asked.quiet:
            return
        # What everybody may read is on the screen as it is on the page, and nothing else.
        shown = list(lines(report.document)) if report is not None and is_publishable else []
        if not shown:
            verdict = None if file is None else judge(leak, file.policy)
            shown += [] if verdict is None else section_lines(verdict.section(is_personal=True))
            shown += [("", line) for line in (*([""] if shown else []), *leak.summary().splitlines())]
            if asked.groups is not None:
                shown += [("", ""), *section_lines(leak.by_group(question.grouping).section())]
    console = screen()
    show(console, shown)
    if not is_publishable:
        show_people(console, asked.ids)
    for written in (asked.report, asked.json):
        if written is not None:
            show_written(console, written, asked.edition.value)
    if asked.people is not None:
        console.print(f"Written: {asked.people} (personal data)", style="bold", markup=False)


def _without_noise(asked: _Measure) -> None:
    """Print the table by attacker."""
    from seepage._writing import write_file
    from seepage.attackers import SamplingLeakage
    from seepage.cli.terminal import Waiting, screen

    bounds = {"--policy": asked.policy, "--report": asked.report, "--people": asked.people, "--groups": asked.groups}
    for name, value in bounds.items():
        if value is not None:
            raise typer.BadParameter(
                "without noise nothing is bounded that could be judged or reported. Give --noise too.",
                param_hint=name,
            )
    with Waiting(quiet=asked.quiet).shown() as waiting:
        question = asked.question(waiting, stream=False)
        written = None if question.table is None else question.assembled.decimals
        # A file with all digits is kept, and a table of it printed; one that was rounded is what leaves.
        is_rounded = written is not None and written < _ALL
        digits = options.digits_of(asked.digits) if asked.digits is not None else written if is_rounded else None
        leak = question.measured(None, digits=digits)
        assert isinstance(leak, SamplingLeakage)
        statement = leak.statement()
    if asked.json is not None:
        write_file(asked.json, statement.to_json() + "\n")
    if asked.quiet:
        return
    console = screen()
    console.print(str(statement.table), markup=False, highlight=False, soft_wrap=True)
    console.print()
    console.print(statement.paper, markup=False, highlight=False)
    if written is not None and not is_rounded:
        console.print()
        console.print(
            f"All of this is about a rounded table. {asked.model_file} has {written} decimals, of which nothing is "
            "claimed: keep it, and print the table.",
            markup=False,
            highlight=False,
        )
    if asked.json is not None:
        console.print(f"Written: {asked.json} (a statement, no certificate)", style="bold", markup=False)
