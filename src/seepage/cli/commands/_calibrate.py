"""`seepage calibrate`."""

from typing import Annotated

import typer

from seepage.cli.commands import _options as options


def calibrate(
    model: options.Model,
    data: options.Data,
    policy: options.Policy,
    target: options.Target = None,
    private: options.Private = None,
    public_label: options.PublicLabel = False,
    public_preprocessing: options.PublicPreprocessing = None,
    ids: options.Ids = None,
    sample_weight: options.SampleWeight = None,
    trust: options.Trust = None,
    stream: options.Stream = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Print all digits, which depend on one person.", rich_help_panel=options.OUT),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the number alone.", rich_help_panel=options.OUT)
    ] = False,
) -> None:
    """Find noise with which a model meets a policy.

    The answer is rounded up to 1, 2 or 5 times a power of ten: the most exposed person decides the digits.
    """
    from rich.text import Text

    from seepage.cli.input import PolicyFile, Question
    from seepage.cli.terminal import Waiting, screen, shortened, show_people

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
        leak = question.measured(1.0)
        from seepage.release import calibrate as smallest

        targets = file.policy
        scale = smallest(
            leak,
            error_floor=targets.error_floor,
            success_rate=targets.success_rate,
            eta=targets.eta,
            quantile=targets.quantile,
            exact=exact,
        )
    assert isinstance(scale, float)
    digits = repr(scale) if exact else f"{scale:g}"
    if quiet:
        typer.echo(digits)
        return
    console = screen()
    console.print(Text.assemble("A noise scale of ", (digits, "bold"), " meets:"))
    for sentence in targets.sentences():
        console.print(Text(f"- {sentence}"))
    if left := targets.untargeted(leak).sentence(shortened):
        console.print(Text(left))
    show_people(console, ids)
    if exact:
        console.print(Text("All digits together tell how exposed the most exposed person is: keep them to yourself."))
