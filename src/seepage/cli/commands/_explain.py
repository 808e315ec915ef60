"""`seepage explain`."""

from typing import Annotated

import typer

from seepage.cli.commands._options import ARGUMENTS, option

STATED = "A stated epsilon"


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
    epsilon: Annotated[
        float | None,
        option(STATED, "NUMBER", "Explain a guarantee of differential privacy instead of a quantity.", "--epsilon"),
    ] = None,
    delta: Annotated[float, option(STATED, "NUMBER", "Its delta; 0 for pure differential privacy.", "--delta")] = 0.0,
    neighbors: Annotated[
        str,
        option(STATED, "WORDS", 'Data sets that it compares: "add or remove" (Opacus) or "replace".', "--neighbors"),
    ] = "",
    width: Annotated[
        float,
        option(STATED, "NUMBER", "Length of the interval that a value is known to lie in, in its unit.", "--width"),
    ] = 1.0,
) -> None:
    """Explain a quantity in three sentences, or a stated epsilon in numbers."""
    if epsilon is not None:
        _explain_epsilon(epsilon, delta, neighbors, width)
        return
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


def _explain_epsilon(epsilon: float, delta: float, neighbors: str, width: float) -> None:
    from rich.table import Table
    from rich.text import Text

    from seepage.cli.terminal import screen
    from seepage.meaning import from_epsilon

    stated, console = from_epsilon(epsilon, delta, neighbors=neighbors), screen()  # type: ignore[arg-type]
    console.print(Text(f"epsilon {epsilon:g}, delta {delta:g}, {neighbors}", style="bold"))
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(justify="right")
    table.add_column()
    for number, words in (
        (f"{(1 + stated.membership_advantage) / 2:.1%}", "at most right about who is in the data (50% by guessing)"),
        (f"{stated.success_rate():.1%}", "at most right between two values of a person (50% by guessing)"),
        (f"{stated.reconstruction_rate(0.01):.1%}", "at most right about one of 100 equally likely records (1%)"),
        (
            f"{stated.error_floor(width):.3g}",
            f"error of any guess of a value within {width:g} ({width / 2:g} by guessing)",
        ),
        (f"{stated.error_floor(width, unbiased=True):.3g}", "error of a guess without bias"),
    ):
        table.add_row(number, words)
    console.print(table)
    console.print(
        "For every person, against an attacker who knows all other records, whatever the mechanism.\n"
        "Errors are root mean squares over the two ends of the interval.",
        style="dim",
    )
