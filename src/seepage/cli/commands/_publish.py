"""`seepage publish`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands import _options as options

# What a certificate adds when a publishable report leaves with the model.
_TOGETHER = "A report for everybody leaves with the model; the targets are met by both together."


def publish(
    model: options.Model,
    data: options.Data,
    noise_scale: options.NoiseScale,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to write the noisy model: .toml for a table, which R reads, .skops for scikit-learn.",
            show_default=False,
            rich_help_panel=options.OUT,
        ),
    ],
    target: options.Target = None,
    policy: options.PolicyOption = None,
    without_policy: Annotated[
        bool,
        typer.Option(
            "--without-policy",
            help="Publish without any target; the certificate says so.",
            rich_help_panel=options.MEASURED,
        ),
    ] = False,
    private: options.Private = None,
    public_label: options.PublicLabel = False,
    sample_weight: options.SampleWeight = None,
    trust: options.Trust = None,
    public_preprocessing: options.PublicPreprocessing = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="The classes that the model tells apart, separated by commas; everybody may know them.",
            show_default=False,
            rich_help_panel=options.MEASURED,
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LEVELS",
            help="The levels of a category of a table, separated by commas, likewise; may be repeated.",
            show_default=False,
            rich_help_panel=options.MEASURED,
        ),
    ] = None,
    noise_chosen_without_data: Annotated[
        bool,
        typer.Option(
            "--noise-chosen-without-data",
            help="Take a scale that is not 1, 2 or 5 times a power of ten; the certificate says so.",
            rich_help_panel=options.MEASURED,
        ),
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write the certificate; beside the model by default.",
            show_default=False,
            rich_help_panel=options.OUT,
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to keep the owner's key to the certificate, readable by you alone; thrown away by default.",
            show_default=False,
            rich_help_panel=options.OUT,
        ),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Sign the certificate with this secret key, made by: seepage key new",
            show_default=False,
            rich_help_panel=options.OUT,
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Pay for the release in this ledger before it is drawn; it needs --ledger-key and --ids.",
            show_default=False,
            rich_help_panel=options.MEASURED,
        ),
    ] = None,
    ledger_key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The key of the ledger.", show_default=False, rich_help_panel=options.MEASURED
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(
            "--ids",
            metavar="COLUMN",
            help="Who each row is: rows of one person count together, and the ledger pays from that person's budget.",
            rich_help_panel=options.MEASURED,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What the ledger calls this release; the kind of model by default.",
            show_default=False,
            rich_help_panel=options.MEASURED,
        ),
    ] = None,
    report: options.Report = None,
    edition: options.EditionOption = options.Edition.internal,
    again: Annotated[
        bool,
        typer.Option("--again", help="Draw although an earlier run did not finish.", rich_help_panel=options.OUT),
    ] = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a copy of a model that carries noise, with a certificate.

    The noise is drawn once by OpenDP's Gaussian mechanism. A policy that is missed publishes nothing (exit code 1).
    All files are written, or none.
    """
    from dataclasses import replace

    from rich.text import Text

    from seepage._errors import PolicyError
    from seepage._writing import NewFile, write_together
    from seepage.cli.commands._endings import LedgerRefusedError
    from seepage.cli.input import PolicyFile, Question
    from seepage.cli.terminal import AGAIN, Journal, Waiting, check_outputs, data_inputs, note, screen, show_promises
    from seepage.ledger import Ledger
    from seepage.release.sealing import Terms, check_name, files_of, levels_given, read_names, ready, secret_key
    from seepage.report import Report

    if (policy is None) == (not without_policy):
        raise typer.BadParameter(
            "say what the release must achieve with --policy, or publish --without-policy.", param_hint="--policy"
        )
    if ledger is not None and (ledger_key is None or ids is None):
        raise typer.BadParameter(
            "name its key with --ledger-key, and who each row is with --ids.", param_hint="--ledger"
        )
    if title is not None and ledger is None:
        raise typer.BadParameter("it is what a ledger calls the release: name one with --ledger.", param_hint="--title")
    for one in categories or ():
        if "=" not in one:
            raise typer.BadParameter(f"{one!r} names no column: write COLUMN=LEVEL,LEVEL.", param_hint="--categories")
    parts = [one.partition("=") for one in categories or ()]
    levels = {column: read_names(text) for column, _, text in parts} or None
    certificate = certificate or out.with_suffix(".certificate.json")
    inputs = {"MODEL": model, **data_inputs(data), "--policy": policy, "--sign": sign, "--ledger-key": ledger_key}
    outputs = {"--out": out, "--certificate": certificate, "--key": key, "--report": report}
    check_outputs(outputs, inputs=inputs, force=force)
    check_name(out)
    journal = Journal.beside(
        out,
        files=[model, *data, policy],
        words=[target, noise_scale, private, public_label, sample_weight, public_preprocessing, classes, categories],
    )
    was_left = journal.was_left(again=again)
    if sign is not None:
        # A key that cannot be used should be known before anything is drawn.
        secret_key(sign)
    books = None if ledger is None or ledger_key is None else Ledger(ledger, key=ledger_key.read_bytes())
    replaced = out.exists()
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
            weight=sample_weight,
            ids=ids,
            stream=False,
        )
        fitted, rows = question.model, question.rows
        if question.table is not None:
            question.assembled.check_publishable()
        targets, decision = (None, None) if file is None else (file.policy, file.decision)
        terms = Terms(
            noise_scale,
            targets,
            sample_weight=rows.weights,
            offset=rows.offset,
            public_label=public_label,
            attributes=question.attributes,
            public_preprocessing=question.public_preprocessing,
            classes=None if classes is None else read_names(classes),
            categories=levels_given(levels, own_encoder=question.table is None),
            noise_chosen_without_data=noise_chosen_without_data,
            decision=decision,
            ids=rows.ids,
        )
        with question.applying():
            release = ready(fitted, rows.X, rows.y, terms)
        success = None if question.table is None else question.table.success
        release.check_written(out, question.target, success)
        others, added, leaves = [], [AGAIN] if was_left else [], release.leak
        if report is not None:
            with waiting.doing("writing the report"):
                page = Report.of(release.leak, edition.value, policy=targets, decision=decision)
            others.append(NewFile(report, page.html(), private=not page.document.is_public))
            if page.document.is_public:
                # It was refused above if model and report together miss a target.
                added.append(_TOGETHER)
                leaves = page.leakage
        debit = None
        if books is not None:
            try:
                debit = release.paid(books, leaves, title=title)
            except PolicyError as reason:
                raise LedgerRefusedError(str(reason), reason.factor) from None
        # From here on somebody might see noise; whoever draws once more should know.
        with journal.kept():
            publication = release.draw()
            said = publication.certificate
            publication = replace(publication, certificate=replace(said, assumptions=(*said.assumptions, *added)))
            written, files = files_of(
                publication,
                out,
                certificate=certificate,
                key=key,
                sign=sign,
                outcome=question.target,
                success=success,
            )
            if books is not None and debit is not None:
                books.released(debit, written.text())
            write_together([*others, *files])
    if replaced:
        note(f"{out} was replaced. Whoever has the earlier one as well has two draws, and knows more.")
    if quiet:
        return
    console = screen()
    console.print(
        Text("Published: the model carries noise, and meets:" if file else "Published: the model carries noise.")
    )
    show_promises(console, written)
    console.print()
    console.print(Text.assemble("May leave the house   ", (str(out), "bold")))
    signed = "" if sign is None else " (signed)"
    console.print(Text.assemble("                      ", (str(certificate), "bold"), signed))
    kept = (str(key), "bold") if key is not None else "nothing: the key was not kept (--key FILE keeps it)"
    console.print(Text.assemble("Stays with you        ", kept))
    if report is not None:
        whose = "May leave the house   " if edition is options.Edition.publishable else "                      "
        console.print(Text.assemble(whose, (str(report), "bold"), f" ({edition.value} report)"))
    if debit is not None:
        people = int(str(debit.body["people"]))
        console.print(
            Text(
                f"Posted to the ledger  {ledger}: entry {debit.number}, {debit.body['title']}, "
                f"{people:,} {'person' if people == 1 else 'people'}"
            )
        )
    console.print()
    console.print(Text("The exact model and the rows stay where they are; never publish both models."))
