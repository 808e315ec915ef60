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
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a copy of a model that carries noise, with a certificate.

    The noise is drawn once by OpenDP's Gaussian mechanism. A policy that is missed publishes nothing (exit code 1).
    """
    from rich.text import Text

    from seepage._writing import write_file
    from seepage.cli.input import PolicyFile, Question, write_model
    from seepage.cli.terminal import Waiting, check_new, screen

    if (policy is None) == (not without_policy):
        raise typer.BadParameter(
            "say what the release must achieve with --policy, or publish --without-policy.", param_hint="--policy"
        )
    certificate = certificate or out.with_suffix(".certificate.json")
    check_new(out, certificate, key, force=force)
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
        from seepage.release import publish as published

        publication = published(
            fitted,
            rows.X,
            rows.y,
            noise_scale=noise_scale,
            accept=None if file is None else file.policy,
            sample_weight=rows.weights,
            public_label=public_label,
            attributes=question.attributes,
        )
        write_model(publication.estimator, out)
        publication.certificate.write(certificate)
        if key is not None:
            write_file(key, publication.key, private=True)
    if quiet:
        return
    console = screen()
    targets = publication.certificate.targets
    console.print(
        Text("Published: the model carries noise, and meets:" if file else "Published: the model carries noise.")
    )
    for sentence in targets:
        console.print(Text(f"- {sentence}"))
    console.print()
    console.print(Text.assemble("May leave the house   ", (str(out), "bold")))
    console.print(Text.assemble("                      ", (str(certificate), "bold")))
    kept = (str(key), "bold") if key is not None else "nothing: the key was not kept (--key FILE keeps it)"
    console.print(Text.assemble("Stays with you        ", kept))
    console.print()
    console.print(Text("The exact model and the rows stay where they are; never publish both models."))
