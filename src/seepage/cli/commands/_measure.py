"""`seepage measure`."""

from dataclasses import dataclass
from pathlib import Path

from seepage.cli.commands._options import Reported, command, refuse_options

# So many decimals of a coefficient are all that a computer holds.
_ALL = 12


@dataclass(frozen=True, kw_only=True)
class _Measure(Reported):
    """Options of one command.

    What is measured
    ----------------
    --noise, -n AMOUNT
        The noise on the published coefficients: a standard deviation (0.1), or standard errors of each ("0.25 se").
        Without it: a table by attacker.
    --digits DIGITS
        Without noise, the precision of the table: decimals (3), or "3 significant". By default as in a table that was
        given rounded, or else to a tenth of a standard error.
    --groups, -g COLUMN
        Compare its groups.

    What comes out
    --------------
    --json FILE
        Write the report as JSON; see it with show.
    --people FILE
        Write the values of every person as Parquet, readable by you alone; a new folder if streamed.
    """

    digits: str | None = None
    groups: str | None = None
    stream: bool | None = None
    json: Path | None = None
    people: Path | None = None


@command
def measure(asked: _Measure) -> None:
    """Measure what publishing a model gives away about each person.

    Without --noise: what a printed table of it gives away, to attackers who know a part of the other people. The file
    of a tree or a forest is measured as it is.

    Parquet is read at once when it takes at most 500 MB in memory, and a batch at a time by all cores otherwise; what
    needs every row at once, such as the success rate of categories, is answered only in memory.
    """
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import Waiting, screen, show, show_people, show_written
    from seepage.pages import lines, section_lines
    from seepage.report import judge

    asked.check_files("report", "json", folders=["people"])
    if asked.is_publishable:
        refuse_options(asked, "the publishable edition holds nothing about single people.", "people")
        refuse_options(asked, "the publishable edition holds verdicts, and compares nobody.", "groups")
    if asked.noise is None:
        _without_noise(asked)
        return
    refuse_options(asked, "digits protect where there is no noise: leave --noise or this out.", "digits")
    report = None
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = None if asked.policy is None else PolicyFile.read(asked.policy)
        question = asked.question(waiting, stream=asked.stream, file=file)
        leak = question.measured(asked.noise, output=asked.people)
        if asked.is_publishable or asked.report is not None or asked.json is not None or asked.people is not None:
            with waiting.doing("writing the report"):
                report = asked.report_of(leak, file, question.named_grouping)
                if asked.report is not None:
                    report.write_html(asked.report)
                if asked.json is not None:
                    report.write_json(asked.json)
                if asked.people is not None and not question.source.stream:
                    report.write_people(asked.people)
        if asked.quiet:
            return
        # The screen of the publishable edition shows what its page shows, and nothing else.
        shown = list(lines(report.document)) if report is not None and asked.is_publishable else []
        if not shown:
            shown += [] if file is None else [*section_lines(judge(leak, file.policy).section(True)), ("", "")]
            shown += [("", line) for line in leak.summary().splitlines()]
            if asked.groups is not None:
                shown += [("", ""), *section_lines(leak.by_group(question.grouping).section())]
    show(screen(), shown)
    if not asked.is_publishable:
        show_people(screen(), asked.ids)
    show_written(screen(), asked.report, asked.json, edition=asked.edition.value)
    show_written(screen(), asked.people, edition="internal")


def _without_noise(asked: _Measure) -> None:
    """Print the table by attacker; of trees, a summary of what their file gives away."""
    from seepage._writing import write_file
    from seepage.attackers import SamplingLeakage
    from seepage.cli.terminal import Waiting, screen, show, show_written
    from seepage.pages import wrapped

    why = "without noise nothing is bounded that could be judged or reported. Give --noise too."
    refuse_options(asked, why, "policy", "report", "people", "groups")
    with Waiting(quiet=asked.quiet).shown() as waiting:
        question = asked.question(waiting, stream=False)
        written = None if question.table is None else question.assembled.decimals
        # A file with all digits is not published, and a table of it is; one that was rounded is.
        is_rounded = written is not None and written < _ALL
        stated = asked.digits.strip() if asked.digits is not None else written if is_rounded else None
        digits = int(stated) if isinstance(stated, str) and stated.isdigit() else stated
        leak = question.measured(None, digits=digits)
        if isinstance(leak, SamplingLeakage):
            statement = leak.statement()
            said = [*str(statement.table).splitlines(), "", *wrapped(statement.paper)]
            if asked.json is not None:
                write_file(asked.json, statement.to_json() + "\n")
        else:
            refuse_options(asked, "trees have no statement: leave it out.", "json")
            said = leak.summary().splitlines()
    if asked.quiet:
        return
    if written is not None and not is_rounded:
        kept = f"{asked.model_file} has {written} decimals, which are not assessed: keep it, and print the table."
        said += ["", *wrapped(f"This is about a rounded table. {kept}")]
    show(screen(), [("", line) for line in said])
    show_written(screen(), asked.json, edition="a statement, no certificate")
