"""`seepage publish`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands import _options as options


def publish(
    model: options.Model,
    data: options.Data,
    target: options.Target,
    noise_scale: options.NoiseScale,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to write the noisy model.",
            show_default=False,
            rich_help_panel=options.OUT,
        ),
    ],
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

    from seepage.cli.input import PolicyFile, Question
    from seepage.cli.terminal import AGAIN, Journal, Waiting, check_outputs, data_inputs, note, screen, show_promises
    from seepage.release.sealing import ready, secret_key

    if (policy is None) == (not without_policy):
        raise typer.BadParameter(
            "say what the release must achieve with --policy, or publish --without-policy.", param_hint="--policy"
        )
    certificate = certificate or out.with_suffix(".certificate.json")
    inputs = {"MODEL": model, **data_inputs(data), "--policy": policy, "--sign": sign}
    check_outputs({"--out": out, "--certificate": certificate, "--key": key}, inputs=inputs, force=force)
    journal = Journal.beside(
        out,
        files=[*inputs.values()],
        words=[data, target, noise_scale, private, public_label, sample_weight],
    )
    was_left = journal.was_left(again=again)
    if sign is not None:
        # A key that cannot be used should be known before anything is drawn.
        secret_key(sign)
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
            weight=sample_weight,
            stream=False,
        )
        fitted, rows = question.model, question.rows
        with question.applying():
            release = ready(
                fitted,
                rows.X,
                rows.y,
                noise_scale=noise_scale,
                accept=None if file is None else file.policy,
                sample_weight=rows.weights,
                public_label=public_label,
                attributes=question.attributes,
                decision=None if file is None else file.decision,
            )
        # From here on somebody might see noise; whoever draws once more should know.
        with journal.kept():
            publication = release.draw()
            if was_left:
                said = publication.certificate
                publication = replace(publication, certificate=replace(said, assumptions=(*said.assumptions, AGAIN)))
            written = publication.write(out, certificate=certificate, key=key, sign=sign)
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
    console.print()
    console.print(Text("The exact model and the rows stay where they are; never publish both models."))
