"""`seepage publish`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seepage.cli.commands import _options as options
from seepage.cli.terminal import Amount

if TYPE_CHECKING:
    from seepage._writing import NewFile
    from seepage.cli.input import CommandQuestion, PolicyFile
    from seepage.ledger import Entry
    from seepage.release import Certificate, GaussianNoise, ResultTable
    from seepage.release.sealing import Terms


# Options that change no draw: two runs that differ in these alone are one request.
_NO_REQUEST = ("model", "data", "policy", "out", "certificate", "key", "report", "edition", "again", "force", "quiet")
_TABLES: "dict[str, Callable[[ResultTable], str]]" = {
    ".csv": lambda table: table.to_csv(),
    ".md": lambda table: table.to_markdown(),
    ".tex": lambda table: table.to_latex(),
}


@dataclass(frozen=True, kw_only=True)
class _Publish(options.Measured):
    noise: options.LeastNoise = None
    out: Annotated[
        Path,
        options.option(
            options.OUT,
            "FILE",
            "Where to write the noisy model: .toml for a table, which R reads, .skops for scikit-learn.",
            "--out",
            "-o",
        ),
    ]
    policy: options.PolicyOption = None
    without_policy: Annotated[
        bool,
        typer.Option(
            "--without-policy",
            help="Publish without any target; the certificate says so.",
            rich_help_panel=options.MEASURED,
        ),
    ] = False
    classes: Annotated[
        str | None,
        options.option(
            options.MEASURED,
            "NAMES",
            "The classes that the model tells apart, separated by commas; everybody may know them.",
        ),
    ] = None
    categories: Annotated[
        list[str] | None,
        options.option(
            options.MEASURED,
            "COLUMN=LEVELS",
            "The levels of a category of a table, separated by commas, likewise; may be repeated.",
        ),
    ] = None
    public_penalty: Annotated[
        bool,
        typer.Option(
            "--public-penalty",
            help="Take a penalty that a search chose with these rows as known to everybody; the certificate says so.",
            rich_help_panel=options.MEASURED,
        ),
    ] = False
    noise_chosen_without_data: Annotated[
        bool,
        typer.Option(
            "--noise-chosen-without-data",
            help="Take a scale that is not 1, 2 or 5 times a power of ten; the certificate says so.",
            rich_help_panel=options.MEASURED,
        ),
    ] = False
    table: Annotated[
        Path | None,
        options.option(
            options.OUT,
            "FILE",
            "Publish standard errors too, with noise of their own, and write a table with intervals: .csv, .md or "
            ".tex. It needs noise in standard errors.",
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        options.option(options.OUT, "FILE", "Where to write the certificate; beside the model by default."),
    ] = None
    key: Annotated[
        Path | None,
        options.option(
            options.OUT,
            "FILE",
            "Where to keep the owner's key to the certificate, readable by you alone; thrown away by default.",
        ),
    ] = None
    ledger: Annotated[
        str | None,
        options.option(
            options.MEASURED,
            "PLACE",
            "Pay for the release in this ledger before it is drawn; it needs --ledger-key and --ids.",
        ),
    ] = None
    ledger_key: Annotated[
        Path | None,
        options.option(options.MEASURED, "FILE", "The key of the ledger."),
    ] = None
    title: Annotated[
        str | None,
        options.option(options.MEASURED, "TEXT", "What the ledger calls this release; the kind of model by default."),
    ] = None
    unit: options.Units = None
    new_people: options.NewPeople = False
    report: options.Report = None
    edition: options.EditionOption = options.Edition.internal
    again: Annotated[
        bool,
        typer.Option("--again", help="Draw although an earlier run did not finish.", rich_help_panel=options.OUT),
    ] = False
    force: options.Force = False
    quiet: options.Quiet = False

    def check(self) -> None:
        """Refuse options that do not go together."""
        if (self.policy is None) == (not self.without_policy):
            raise typer.BadParameter(
                "say what the release must achieve with --policy, or publish --without-policy.", param_hint="--policy"
            )
        if self.noise is None and self.policy is None:
            options.no_noise()
        if self.table is not None and self.table.suffix not in _TABLES:
            raise typer.BadParameter(
                f"{str(self.table)!r} does not say what it will hold: end it in {', '.join(_TABLES)}.",
                param_hint="--table",
            )
        if self.ledger is not None and (self.ledger_key is None or self.ids is None):
            raise typer.BadParameter(
                "name its key with --ledger-key, and who each row is with --ids.", param_hint="--ledger"
            )
        if self.title is not None and self.ledger is None:
            raise typer.BadParameter(
                "it is what a ledger calls the release: name one with --ledger.", param_hint="--title"
            )
        for one in self.categories or ():
            if "=" not in one:
                raise typer.BadParameter(
                    f"{one!r} names no column: write COLUMN=LEVEL,LEVEL.", param_hint="--categories"
                )
        if (self.unit or self.new_people) and self.ledger is None:
            raise typer.BadParameter("they are compared with a ledger: name one with --ledger.", param_hint="--unit")


@options.taking(_Publish)
def publish(asked: _Publish) -> None:
    """Write a copy of a model that carries noise, with a certificate.

    The noise is drawn once by OpenDP's Gaussian mechanism. Without --noise it is the noise that keeps the policy and
    costs the model least. A policy that is missed publishes nothing (exit code 1). All files are written, or none.
    """
    from seepage._writing import NewFile, write_together
    from seepage.cli.commands._endings import LedgerRefusedError
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import AGAIN, Journal, Waiting, check_outputs, data_inputs, note
    from seepage.errors import PolicyError
    from seepage.ledger import Ledger
    from seepage.release.sealing import check_leaving, check_name, files_of, ready
    from seepage.report import Report

    asked.check()
    units = options.units_of(asked.unit)
    certificate = asked.certificate or asked.out.with_suffix(".certificate.json")
    inputs = {
        "MODEL": asked.model_file,
        **data_inputs(asked.files),
        "--policy": asked.policy,
        "--ledger-key": asked.ledger_key,
    }
    outputs = {
        "--out": asked.out,
        "--certificate": certificate,
        "--key": asked.key,
        "--report": asked.report,
        "--table": asked.table,
    }
    check_outputs(outputs, inputs=inputs, force=asked.force)
    check_name(asked.out)
    journal = Journal.beside(
        asked.out,
        files=[asked.model_file, *asked.files, asked.policy],
        words=[getattr(asked, each.name) for each in fields(asked) if each.name not in _NO_REQUEST],
    )
    was_left = journal.was_left(again=asked.again)
    books = None
    if asked.ledger is not None and asked.ledger_key is not None:
        books = Ledger(asked.ledger, key=asked.ledger_key.read_bytes())
    replaced = asked.out.exists()
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = None if asked.policy is None else PolicyFile.read(asked.policy)
        question = asked.question(waiting, stream=False, file=file)
        fitted, rows = question.model, question.rows
        if question.table is not None:
            fitted = question.assembled.with_steps().model
        with question.applying():
            terms = _terms(asked, question, file)
            if asked.noise is None:
                # Finding the noise takes longest, and what has to be said or changed does not wait for it.
                check_leaving(fitted, rows.X, rows.y, terms)
                terms = replace(terms, noise_scale=_least_noise(question, file, terms.published))
            release = ready(fitted, rows.X, rows.y, terms)
        success = None if question.table is None else question.table.success
        release.check_written(asked.out, question.target, success)
        page, others, added = None, [], [AGAIN] if was_left else []
        if asked.report is not None:
            with waiting.doing("writing the report"):
                targets, decision = (None, None) if file is None else (file.policy, file.decision)
                page = Report.of(release.leak, asked.edition.value, policy=targets, decision=decision)
        debit = None
        if books is not None:
            try:
                debit = release.paid(books, units, asked.title, asked.new_people)
            except PolicyError as reason:
                raise LedgerRefusedError(str(reason), reason.factor) from None
        # From here on somebody might see noise; whoever draws once more should know.
        with journal.kept():
            publication = release.draw(debit)
            said = publication.certificate
            publication = replace(publication, certificate=replace(said, assumptions=(*said.assumptions, *added)))
            written, files = files_of(
                publication,
                asked.out,
                certificate=certificate,
                key=asked.key,
                outcome=question.target,
                success=success,
            )
            if asked.table is not None:
                others.append(NewFile(asked.table, _TABLES[asked.table.suffix](publication.table())))
            if page is not None and asked.report is not None:
                page = page.with_certificate(written)
                others.append(NewFile(asked.report, page.html(), private=not page.document.is_public))
            _check_nobody_inside([*others, *files], question)
            if books is not None and debit is not None:
                books.released(debit, written.text())
            write_together([*others, *files])
    if replaced:
        note(f"{asked.out} was replaced. Whoever has the earlier one as well has two draws, and knows more.")
    if not asked.quiet:
        cost = release.leak.information.cost()
        _show(asked, written, certificate, debit, None if cost is None else cost.sentence())


def _check_nobody_inside(files: "Sequence[NewFile]", question: "CommandQuestion") -> None:
    """Refuse to write a file for others that holds people as they are: whatever went wrong, it stays here."""
    from seepage.errors import PolicyError
    from seepage.inspection import Finder

    finder = Finder.of(question.rows.X)
    for file in files:
        if file.private or not isinstance(file.content, str | bytes):
            continue
        content = file.content.encode() if isinstance(file.content, str) else file.content
        found = finder.inspected_bytes(content, Path(file.path).name)
        if found.verdict == "fail":
            raise PolicyError(f"Nothing was written. {found.findings[0].sentence()}")


def _terms(asked: _Publish, question: "CommandQuestion", file: "PolicyFile | None") -> "Terms":
    """Return what the release is published by; a noise that is still to be found is one for now."""
    from seepage.release.sealing import Terms, levels_given, read_names

    published = None if asked.table is None else ["coefficients", "standard errors"]
    rows, parts = question.rows, [one.partition("=") for one in asked.categories or ()]
    levels = {column: read_names(text) for column, _, text in parts} or None
    return Terms(
        1.0 if asked.noise is None else asked.noise.noise,
        None if file is None else file.policy,
        sample_weight=rows.weights,
        offset=rows.offset,
        public_label=asked.public_label,
        attributes=question.attributes,
        public_preprocessing=question.public_preprocessing,
        public_penalty=asked.public_penalty,
        classes=None if asked.classes is None else read_names(asked.classes),
        categories=levels_given(levels, own_encoder=question.table is None),
        noise_chosen_without_data=asked.noise_chosen_without_data,
        decision=None if file is None else file.decision,
        ids=rows.ids,
        published=published,
        remarks=() if question.table is None else question.assembled.remarks,
    )


def _least_noise(
    question: "CommandQuestion", file: "PolicyFile | None", published: Sequence[str] | None
) -> "GaussianNoise":
    """Return the noise that keeps a policy and costs the model least."""
    from seepage.release import calibrate

    assert file is not None
    return calibrate(
        question.measured(Amount(1.0, standard_errors=published is not None), published=published),
        error_floor=file.policy.error_floor,
        success_rate=file.policy.success_rate,
        eta=file.policy.eta,
        quantile=file.policy.quantile,
    )


def _show(asked: _Publish, written: "Certificate", certificate: Path, debit: "Entry | None", price: str | None) -> None:
    """Print what was published, and where everything is."""
    from seepage.cli.terminal import screen, show_people, show_sections
    from seepage.pages import Section

    console, is_public = screen(), asked.edition is options.Edition.publishable
    report = [] if asked.report is None else [f"{asked.report} ({asked.edition.value} report)"]
    table = [] if asked.table is None else [f"{asked.table} (a table with intervals)"]
    leaves = [str(asked.out), str(certificate), *table, *(report if is_public else [])]
    stays = ["nothing: the key was not kept (--key FILE keeps it)" if asked.key is None else str(asked.key)]
    terms = [("To publish", ", ".join(leaves)), ("Stays with you", ", ".join([*stays, *([] if is_public else report)]))]
    if debit is not None:
        people = int(str(debit.body["people"]))
        counted = f"{people:,} {'person' if people == 1 else 'people'}"
        terms.append(("Ledger", f"{asked.ledger}: entry {debit.number}, {debit.body['title']}, {counted}"))
    said = [] if price is None else [f"{price} That is about these rows, and stays with you."]
    said.append("The exact model and the rows stay where they are; never publish both models.")
    published = Section("Published: the model carries noise", tuple(said), terms=tuple(terms))
    show_sections(console, written.document().sections[0], published)
    show_people(console, asked.ids)
