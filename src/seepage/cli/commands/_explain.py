"""`seepage explain`."""

from typing import Annotated

import typer

from seepage.cli.input._options import ARGUMENTS


def _names(incomplete: str) -> list[str]:
    from seepage.cli._words import MEANINGS

    return [name for name in MEANINGS if name.startswith(incomplete)]


def explain(
    quantity: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUANTITY]",
            help=ARGUMENTS["quantity"],
            show_default=False,
            autocompletion=_names,
        ),
    ] = None,
) -> None:
    """Say what a quantity means, in three sentences."""
    from rich.padding import Padding
    from rich.text import Text

    from seepage._errors import InputError
    from seepage.cli._words import MEANINGS, OTHER_NAMES, meaning_of
    from seepage.cli.input._near import did_you_mean
    from seepage.cli.terminal._console import listing, screen, shortened

    console = screen()
    if quantity is None:
        console.print(Text("Ask about one of these, such as: seepage explain eta", style="bold"))
        console.print(Padding(Text(", ".join(sorted(MEANINGS))), (0, 2)))
        return
    found = meaning_of(quantity)
    if found is None:
        raise InputError(
            f"There is no quantity {shortened(quantity)!r}. {did_you_mean(quantity, [*MEANINGS, *OTHER_NAMES])}"
            f"There are: {listing(sorted(MEANINGS), 50)}."
        )
    name, meaning = found
    console.print(Text(name, style="bold"))
    for sentence in meaning.sentences:
        console.print(Padding(Text(sentence), (0, 2)))
    if meaning.see:
        console.print(Padding(Text(f"See also: {', '.join(meaning.see)}", style="dim"), (1, 2, 0, 2)))
