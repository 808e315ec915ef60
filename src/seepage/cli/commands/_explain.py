"""`seepage explain`."""

from typing import Annotated

import typer

from seepage.cli.commands._options import command


def _names(incomplete: str) -> list[str]:
    from seepage.meaning import glossary

    return [name for name in glossary() if name.startswith(incomplete)]


_WORDS = "For example eta, error_floor, success_rate, epsilon; all names if left out."


@command
def explain(
    quantity: Annotated[
        str | None, typer.Argument(metavar="[QUANTITY]", help=_WORDS, show_default=False, autocompletion=_names)
    ] = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbors: str = "",
    width: float = 1.0,
) -> None:
    """Explain a quantity in three sentences, or a stated epsilon in numbers.

    A stated epsilon
    ----------------
    --epsilon NUMBER
        Explain a guarantee of differential privacy instead of a quantity.
    --delta NUMBER
        Its delta; 0 for pure differential privacy.
    --neighbors WORDS
        Data sets that it compares: "add or remove" (Opacus) or "replace".
    --width NUMBER
        Length of the interval that a value is known to lie in, in its unit.
    """
    if epsilon is not None:
        _explain_epsilon(epsilon, delta, neighbors, width)
        return
    from seepage.cli.terminal import did_you_mean, listing, screen, shortened, show_sections
    from seepage.errors import InputError
    from seepage.meaning import glossary, name_of
    from seepage.pages import Section

    terms = glossary()
    if quantity is None:
        ask = "Ask about one of these, such as: seepage explain eta"
        show_sections(screen(), Section(ask, (", ".join(sorted(terms)),)))
        return
    name = name_of(quantity)
    if name is None:
        known = [word for term in terms for word in (term, *terms[term].also)]
        raise InputError(
            f"There is no quantity {shortened(quantity)!r}. {did_you_mean(quantity, known)}"
            f"There are: {listing(sorted(terms), 50)}."
        )
    see = (("See also", ", ".join(terms[name].see)),) if terms[name].see else ()
    show_sections(screen(), Section(name, terms[name].sentences, terms=see))


def _explain_epsilon(epsilon: float, delta: float | None, neighbors: str, width: float) -> None:
    from seepage.cli.terminal import screen, show_sections
    from seepage.meaning import from_epsilon
    from seepage.pages import Section

    stated = from_epsilon(epsilon, delta, neighbors=neighbors)  # type: ignore[arg-type]
    membership = (1 + stated.membership_advantage) / 2
    said = (
        f"{membership:.1%}: at most right about who is in the data (50% by guessing).",
        f"{stated.success_rate():.1%}: at most right between two values of a person (50% by guessing).",
        f"{stated.reconstruction_rate(0.01):.1%}: at most right about one of 100 equally likely records (1%).",
        f"{stated.error_floor(width):.3g}: error of any guess of a value within {width:g} ({width / 2:g} by guessing).",
        f"{stated.error_floor(width, unbiased=True):.3g}: error of a guess without bias.",
        "For every person, against an attacker who knows all other records, whatever the mechanism.",
        "Errors are root mean squares over the two ends of the interval.",
    )
    show_sections(screen(), Section(f"epsilon {epsilon:g}, delta {delta:g}, {neighbors}", said))
