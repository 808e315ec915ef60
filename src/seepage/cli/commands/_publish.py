"""`seepage publish`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from seepage.cli.commands._options import Reported, command, no_noise, refuse_options, units_of
from seepage.cli.terminal import Amount

if TYPE_CHECKING:
    from seepage._writing import NewFile
    from seepage.cli.input import CommandQuestion, PolicyFile
    from seepage.ledger import Entry
    from seepage.release import Certificate, ResultTable
    from seepage.release.sealing import Terms


_TABLES: "dict[str, Callable[[ResultTable], str]]" = {
    ".csv": lambda table: table.to_csv(),
    ".md": lambda table: table.to_markdown(),
    ".tex": lambda table: table.to_latex(),
}


@dataclass(frozen=True, kw_only=True)
class _Publish(Reported):
    """Options of one command.

    What is measured
    ----------------
    --noise, -n AMOUNT
        The noise on the published coefficients: a standard deviation (0.1), or standard errors of each ("0.25 se").
        Without it: the noise that meets the policy and costs least.
    --without-policy
        Publish without any target; the certificate says so.
    --classes NAMES
        The classes of the model, separated by commas; everybody may know them.
    --categories COLUMN=LEVELS
        The levels of a category of a table, separated by commas, likewise; may be repeated.
    --public-penalty
        Take a penalty that a search chose with these rows as known to everybody; the certificate says so.
    --noise-chosen-without-data
        Take a scale that is not 1, 2 or 5 times a power of ten; the certificate says so.
    --ledger PLACE
        Pay for the release in this ledger before it is drawn; it needs --ledger-key and --ids.
    --ledger-key FILE
        The key of the ledger.
    --title TEXT
        The title of the release in the ledger; the kind of model by default.

    What comes out
    --------------
    --out, -o FILE
        The file of the noisy model: .toml for a table, which R reads, .skops for scikit-learn.
    --table FILE
        Publish standard errors too, with noise of their own, and write a table with intervals: .csv, .md or .tex. It
        needs noise in standard errors.
    --certificate FILE
        The file of the certificate; next to the model by default.
    --key FILE
        The file of the owner's key to the certificate, readable by you alone; thrown away by default.
    --again
        Draw although an earlier run did not finish.
    """

    out: Path
    without_policy: bool = False
    classes: str | None = None
    categories: list[str] | None = None
    public_penalty: bool = False
    noise_chosen_without_data: bool = False
    table: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    ledger: str | None = None
    ledger_key: Path | None = None
    title: str | None = None
    unit: list[str] | None = None
    new_people: bool = False
    again: bool = False

    def check(self) -> None:
        """Refuse options that do not go together."""
        if (self.policy is None) == (not self.without_policy):
            raise typer.BadParameter(
                "state the targets of the release with --policy, or publish --without-policy.", param_hint="--policy"
            )
        if self.noise is None and self.policy is None:
            no_noise()
        if self.table is not None and self.table.suffix not in _TABLES:
            raise typer.BadParameter(
                f"{str(self.table)!r} has no format: end it in {', '.join(_TABLES)}.", param_hint="--table"
            )
        if self.ledger is None:
            why = "it is about a ledger: name one with --ledger."
            refuse_options(self, why, "title", "unit", "new_people", "ledger_key")
        elif self.ledger_key is None or self.ids is None:
            raise typer.BadParameter(
                "name its key with --ledger-key, and the column of ids with --ids.", param_hint="--ledger"
            )
        for text in self.categories or ():
            if "=" not in text:
                raise typer.BadParameter(
                    f"{text!r} names no column: write COLUMN=LEVEL,LEVEL.", param_hint="--categories"
                )


@command
def publish(asked: _Publish) -> None:
    """Write a copy of a model that carries noise, with a certificate.

    The noise is drawn once by OpenDP's Gaussian mechanism. Without --noise it is the noise that keeps the policy and
    costs the model least. A policy that is missed publishes nothing (exit code 1). All files are written, or none.
    """
    from seepage._writing import NewFile, write_together
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import AGAIN, Waiting, drawing, note, was_left
    from seepage.ledger import Ledger
    from seepage.release import calibrate
    from seepage.release.sealing import check_leaving, check_name, files_of, ready

    asked.check()
    units = units_of(asked.unit)
    certificate = asked.certificate or asked.out.with_suffix(".certificate.json")
    asked = replace(asked, certificate=certificate)
    asked.check_files("out", "certificate", "key", "report", "table", key=asked.ledger_key)
    check_name(asked.out)
    is_second = was_left(asked.out, again=asked.again)
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
            if asked.noise is None and file is not None:
                # Finding the noise takes longest, and what has to be stated or changed does not wait for it.
                check_leaving(fitted, rows.X, rows.y, terms)
                unit = Amount(1.0, standard_errors=terms.published is not None)
                targets: Any = file.policy.entries()
                leak = question.measured(unit, published=terms.published)
                terms = replace(terms, noise_scale=calibrate(leak, **targets))
            release = ready(fitted, rows.X, rows.y, terms)
        success = None if question.table is None else question.table.success
        release.check_written(asked.out, question.target, success)
        page, others = None, []
        if asked.report is not None:
            with waiting.doing("writing the report"):
                page = asked.report_of(release.leak, file)
        debit = None if books is None else release.paid(books, units, asked.title, asked.new_people)
        # From here on noise may be read; a second draw has to be stated.
        with drawing(asked.out):
            publication = release.draw(debit)
            drawn = publication.certificate
            assumptions = (*drawn.assumptions, *([AGAIN] if is_second else []))
            publication = replace(publication, certificate=replace(drawn, assumptions=assumptions))
            written, files = files_of(
                publication, asked.out, certificate=certificate, key=asked.key, outcome=question.target, success=success
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
        note(f"{asked.out} was replaced. An attacker with both draws knows more than either certificate states.")
    if not asked.quiet:
        cost = release.leak.information.cost()
        _show(asked, written, debit, None if cost is None else cost.sentence())


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
        public_preprocessing=asked.public_preprocessing or (),
        public_penalty=asked.public_penalty,
        classes=None if asked.classes is None else read_names(asked.classes),
        categories=levels_given(levels, own_encoder=question.table is None),
        noise_chosen_without_data=asked.noise_chosen_without_data,
        decision=None if file is None else file.decision,
        ids=rows.ids,
        published=published,
        remarks=() if question.table is None else question.assembled.remarks,
    )


def _show(asked: _Publish, written: "Certificate", debit: "Entry | None", price: str | None) -> None:
    """Print what was published, and where everything is."""
    from seepage.cli.terminal import screen, show_people, show_sections
    from seepage.pages import Section

    report = [] if asked.report is None else [f"{asked.report} ({asked.edition.value} report)"]
    table = [] if asked.table is None else [f"{asked.table} (a table with intervals)"]
    leaves = [str(asked.out), str(asked.certificate), *table, *(report if asked.is_publishable else [])]
    stays = ["nothing: the key was not kept (--key FILE keeps it)" if asked.key is None else str(asked.key)]
    stays += [] if asked.is_publishable else report
    terms = [("To publish", ", ".join(leaves)), ("Stays with you", ", ".join(stays))]
    if debit is not None:
        people = int(str(debit.body["people"]))
        terms.append(("Ledger", f"{asked.ledger}: entry {debit.number}, {debit.body['title']}, {people:,} people"))
    said = [] if price is None else [f"{price} That is about these rows, and stays with you."]
    said.append("The exact model and the rows stay where they are; never publish both models.")
    published = Section("Published: the model carries noise", tuple(said), terms=tuple(terms))
    show_sections(screen(), written.document().sections[0], published)
    show_people(screen(), asked.ids)
