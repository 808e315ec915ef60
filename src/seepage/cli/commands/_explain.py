"""`seepage explain`."""

from typing import Annotated

import typer

from seepage.cli.commands._options import ARGUMENTS


def _names(incomplete: str) -> list[str]:
    from seepage.meaning import glossary

    return [name for name in glossary() if name.startswith(incomplete)]


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

    from seepage.cli.terminal import did_you_mean, listing, screen, shortened
    from seepage.errors import InputError
    from seepage.meaning import glossary, name_of

    console, terms = screen(), glossary()
    if quantity is None:
        console.print(Text("Ask about one of these, such as: seepage explain eta", style="bold"))
        console.print(Padding(Text(", ".join(sorted(terms))), (0, 2)))
        return
    name = name_of(quantity)
    if name is None:
        known = [each for term in terms for each in (term, *terms[term].also)]
        raise InputError(
            f"There is no quantity {shortened(quantity)!r}. {did_you_mean(quantity, known)}"
            f"There are: {listing(sorted(terms), 50)}."
        )
    console.print(Text(name, style="bold"))
    for sentence in terms[name].sentences:
        console.print(Padding(Text(sentence), (0, 2)))
    if terms[name].see:
        console.print(Padding(Text(f"See also: {', '.join(terms[name].see)}", style="dim"), (1, 2, 0, 2)))
