"""`seepage certify`."""

from pathlib import Path
from shlex import quote

import typer

from seepage.cli.commands._options import command


@command
def certify(
    published: Path,
    certificate: Path,
    *,
    ledger: str | None = None,
    ledger_key: Path | None = None,
    quiet: bool = False,
) -> None:
    """Check that a certificate is about a file, and print the guarantee.

    Nothing in the file is run. Exit code 3 if the file is another one, the certificate was edited, or the ledger was
    put back to an older copy.

    PUBLISHED
        The published model, in a file of any kind.
    CERTIFICATE
        The certificate that came with it.

    What is checked
    ---------------
    --ledger PLACE
        The ledger that should have paid for it; it needs --ledger-key.
    --ledger-key FILE
        The key of the ledger.

    What comes out
    --------------
    --quiet, -q
        Print nothing but errors.
    """
    from seepage.cli.commands._endings import Ending
    from seepage.cli.terminal import is_certificate, screen, show_sections
    from seepage.errors import InputError
    from seepage.ledger import Ledger
    from seepage.pages import Section
    from seepage.release import certify as compared
    from seepage.release.sealing import amount_of

    if is_certificate(published) and not is_certificate(certificate):
        raise InputError(
            f"{published} is the certificate, and {certificate} is none: name the file first, then its certificate: "
            f"seepage certify {quote(str(certificate))} {quote(str(published))}"
        )
    if (ledger is None) != (ledger_key is None):
        raise typer.BadParameter("a ledger is opened with its key: name both.", param_hint="--ledger, --ledger-key")
    books = None if ledger is None or ledger_key is None else Ledger(ledger, key=ledger_key.read_bytes())
    found = compared(published, certificate, ledger=books)
    if not quiet:
        head = "File and certificate belong together." if found.holds else "Do not rely on this certificate."
        said = {"file": found.about_file(), "certificate": found.about_certificate(), "ledger": found.about_ledger()}
        terms = tuple((term, words) for term, words in said.items() if words is not None)
        sections = [Section(head, terms=terms, mark="met" if found.holds else "missed")]
        if found.holds:
            drawn = found.certificate.noise
            noise = Section("Noise", (f"{drawn['distribution']} noise of {amount_of(drawn)}",))
            sections += [found.certificate.document().sections[0], noise]
        show_sections(screen(), *sections)
    raise typer.Exit(Ending.DONE if found.holds else Ending.MISMATCH)
