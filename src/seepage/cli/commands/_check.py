"""`seepage check`."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seepage.cli.commands._formats import Format, as_json, as_sarif
from seepage.cli.commands._options import Reported, command, no_noise, refuse_options

if TYPE_CHECKING:
    from seepage.request import Verdict

_OF_REQUESTS = ("people", "earlier", "draft", "sacro")
_OF_BOTH = ("model", "data", "ids", "policy", "format", "output", "report", "out", "edition", "force", "quiet")


@dataclass(frozen=True, kw_only=True)
class _Check(Reported):
    """Options of one command.

    A folder of outputs
    -------------------
    --people FILE
        Of a folder of outputs: everybody they are about.
    --earlier FOLDER
        Of a folder of outputs: the folder of an earlier request, whose outputs are compared with these; may be
        repeated.
    --draft
        Of a folder of outputs: describe each of them, and check nothing.
    --sacro FOLDER
        Of a folder of outputs: a new folder that SACRO Viewer opens, with the publishable edition.

    What comes out
    --------------
    --format, -f
        For a pipeline.
    --output, -o FILE
        A file instead of standard output.
    --out FOLDER
        A new folder of the report as HTML, text, JSON and PNG, each complete by itself.
    """

    people: str | None = None
    earlier: list[Path] | None = None
    draft: bool = False
    stream: bool | None = None
    format: Format = Format.text
    output: Path | None = None
    out: Path | None = None
    sacro: Path | None = None


@command
def check(asked: _Check) -> None:
    """Compare a release, or a folder of outputs, with a policy: exit code 0 if it is met, 1 if not.

    Reasons are on the screen. With another format than text they go to standard error, and the document to standard
    output or the file given. The factors of missed targets are rounded, and nothing names a person; `--edition
    publishable` states only whether each target is met. Attributes without a target are named: give each a target, or
    declare them public in the policy, with other_attributes = "public".

    A folder of outputs without noise takes `--people everybody.parquet`: each output is checked by itself, then all of
    them together, then with `--earlier`. The screen names people who are not protected. Several folders make one
    worksheet (CSV).

    With `--out folder` the report is a page, text of 80 columns, JSON and PNG, for places that show no pages. `--sacro
    folder` writes one that SACRO Viewer opens: the outputs and the decision on each.
    """
    if asked.model.is_dir() and asked.formula is None:
        _requests(asked)
        return
    why = f"{asked.model} is no folder of outputs: leave it out, and name the rows behind the model."
    refuse_options(asked, why, *_OF_REQUESTS)
    _release(asked)


def _release(asked: _Check) -> None:
    """Check one model with noise."""
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import Waiting, aside, print_or_write, screen, show, show_people, show_written
    from seepage.errors import UnansweredError
    from seepage.pages import section_lines
    from seepage.report import judge, without_factors

    noise = no_noise() if asked.noise is None else asked.noise
    if asked.policy is None:
        raise typer.BadParameter(
            "which targets must be met? Name a file of targets: --policy policy.toml.", param_hint="--policy"
        )
    if asked.format is Format.text:
        refuse_options(asked, "say in which format with --format json or sarif.", "output")
    asked.check_files("output", "report", folders=["out"])
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = PolicyFile.read(asked.policy)
        leak = asked.question(waiting, stream=asked.stream, file=file).measured(noise)
        # The noise that would meet a target that is met already reveals something of the most exposed person.
        verdict = without_factors(judge(leak, file.policy), all_of_them=asked.is_publishable)
        if verdict.status == "withheld":
            raise UnansweredError(verdict.reason)
        if asked.report is not None or asked.out is not None:
            with waiting.doing("writing the report"):
                page = asked.report_of(leak, file)
                if asked.report is not None:
                    page.write_html(asked.report)
                if asked.out is not None:
                    page.write(asked.out, replace=asked.force)
    if asked.format is not Format.text:
        is_json = asked.format is Format.json
        print_or_write(
            as_json(verdict, file, asked.model, noise) if is_json else as_sarif(verdict, file, asked.model),
            asked.output,
        )
    if not asked.quiet:
        console = screen() if asked.format is Format.text else aside()
        show(console, section_lines(verdict.section(is_personal=not asked.is_publishable)))
        public = (one.sentence() for one in leak.information.assumptions if one.kind == "preprocessing")
        show(console, [("", " ".join([f"About {leak.information.count:,} people.", *public]))])
        show_people(console, asked.ids)
        show_written(console, asked.report, asked.out, edition=asked.edition.value)
    raise typer.Exit(Ending.DONE if verdict.status == "met" else Ending.MISSED)


def _requests(asked: _Check) -> None:
    """Check folders of outputs without noise."""
    from seepage._writing import write_file
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import PolicyFile, whole_frame
    from seepage.cli.terminal import Waiting, aside, check_outputs, print_or_write, screen, show_written
    from seepage.release import Policy
    from seepage.request import check as checked
    from seepage.request import draft

    why = f"{asked.model} is a folder of outputs, which state themselves what they are of: leave it out."
    refuse_options(asked, why, *({field.name for field in fields(asked)} - {*_OF_REQUESTS, *_OF_BOTH}))
    folders = [asked.model, *map(Path, asked.data or ())]
    for folder in folders:
        if not folder.is_dir():
            raise typer.BadParameter(
                f"{folder} is no folder, and {asked.model} is one of outputs: their people come with --people FILE.",
                param_hint="DATA",
            )
    if asked.people is None:
        raise typer.BadParameter(
            "who are the people in the outputs? Name the file of all of them: --people people.parquet.",
            param_hint="--people",
        )
    if asked.format is Format.sarif:
        raise typer.BadParameter("a request is reported as text or json.", param_hint="--format")
    if len(folders) > 1:
        why = "several requests make one worksheet (CSV): check one folder for a page or JSON."
        refuse_options(asked, why, "report", "out", "sacro", "format")
    reads: dict[str, str | Path | None] = {"--people": Path(asked.people), "--policy": asked.policy}
    check_outputs({"--output": asked.output, "--report": asked.report}, inputs=reads, force=asked.force)
    # Outputs of this command are never read as outputs to check, neither now nor next time.
    reads |= {"MODEL": asked.model, **{f"--earlier {folder}": folder for folder in asked.earlier or ()}}
    check_outputs({"--out": asked.out, "--sacro": asked.sacro}, inputs=reads, force=asked.force, folders=True)
    verdicts: list[Verdict] = []
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = None if asked.policy is None else PolicyFile.read(asked.policy, outputs=True)
        # A file with nothing but a risk appetite leaves the rule for all columns as it is.
        policy = None if file is None or file.policy == Policy() else file.policy
        with waiting.doing(f"reading {asked.people}"):
            people = whole_frame(asked.people)
        ids = asked.ids or "id"
        if asked.draft:
            drafts = [path for folder in folders for path in draft(folder, people=people, ids=ids)]
            print_or_write("\n".join(f"{path}\n{path.read_text()}" for path in drafts), None)
            raise typer.Exit(Ending.DONE)
        for folder in folders:
            with waiting.doing(f"checking {folder.name}"):
                verdict = checked(
                    folder,
                    people=people,
                    ids=ids,
                    policy=policy,
                    earlier=asked.earlier or (),
                    risk_appetite=None if file is None else file.risk_appetite,
                )
            verdicts.append(verdict.for_everybody() if asked.is_publishable else verdict)
    if asked.output is not None or not asked.quiet or asked.format is Format.json:
        print_or_write(_document(verdicts, asked.format), asked.output, private=not asked.is_publishable)
    if asked.report is not None:
        write_file(asked.report, verdicts[0].html(), private=not asked.is_publishable)
    if asked.out is not None:
        verdicts[0].write(asked.out, replace=asked.force)
    if asked.sacro is not None:
        verdicts[0].to_sacro(asked.sacro)
    if not asked.quiet:
        console = aside() if asked.format is Format.json else screen()
        show_written(console, asked.report, asked.out, edition=asked.edition.value)
        show_written(console, asked.sacro, edition="publishable")
    raise typer.Exit(Ending.DONE if all(each.word == "pass" for each in verdicts) else Ending.MISSED)


def _document(verdicts: "Sequence[Verdict]", form: Format) -> str:
    """Return the verdict on one request as text or JSON, or those on several as a worksheet."""
    if len(verdicts) == 1:
        return verdicts[0].to_json() if form is Format.json else verdicts[0].text()
    written = StringIO()
    sheet = csv.writer(written, lineterminator="\n")
    sheet.writerow(("request", "output", "what", "verdict", "why"))
    for verdict in verdicts:
        sheet.writerows(verdict.worksheet())
    return written.getvalue().rstrip("\n")
