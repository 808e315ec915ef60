"""Documents that were written earlier: which they are, and how they look on a screen."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from seepage._decision import Decision
from seepage.cli.terminal._console import printable, screen
from seepage.cli.terminal._screen import item
from seepage.errors import InputError

if TYPE_CHECKING:
    from seepage.release import Certificate
    from seepage.report import Report

_CERTIFICATE = "urn:seepage:certificate:"
_REPORT = "urn:seepage:report:"


def show_document(path: Path, page: Path | None = None) -> None:
    """Print a document, or write its page to a file."""
    found = _read(path)
    schema = str(found.get("schema", ""))
    if schema.startswith(_CERTIFICATE):
        from seepage.release import Certificate

        certificate = Certificate.read(path)
        _show_certificate(screen(), certificate) if page is None else certificate.write_html(page)
        return
    if schema.startswith(_REPORT):
        from seepage.report import Report

        report = Report.read(path)
        show_report(screen(), report) if page is None else report.write_html(page)
        return
    raise InputError(
        f"{path} is JSON, but neither a report (seepage measure --json) nor a certificate (seepage publish)."
    )


def show_report(console: Console, report: "Report") -> None:
    """Print a report."""
    from rich.markdown import Markdown

    console.print(Markdown(printable(report.markdown()), hyperlinks=False))


def is_certificate(path: Path) -> bool:
    """Return whether a file says that it is a certificate."""
    try:
        return str(_read(path).get("schema", "")).startswith(_CERTIFICATE)
    except InputError:
        return False


def show_written(console: Console, path: Path, edition: str) -> None:
    """Print where a report is, and who may read it."""
    whose = "internal edition: personal data, for you alone" if edition == "internal" else f"{edition} edition"
    console.print(Text(f"Written: {path} ({whose})", style="bold"))


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except OSError as reason:
        raise InputError(f"{path} cannot be read: {reason.strerror}.") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply: it is neither a report nor a certificate.") from None
    except ValueError:
        way_out = " Open it with a browser." if path.suffix == ".html" else ""
        raise InputError(f"{path} is not JSON.{way_out} Reports are written by: seepage measure --json FILE") from None
    return found if isinstance(found, dict) else {}


def _show_certificate(console: Console, certificate: "Certificate") -> None:
    console.print(Text(certificate.title, style="bold"))
    for name, words in certificate.facts().items():
        console.print(item(f"{name:<11}", words))
    console.print()
    console.print(Text("Targets" if certificate.policy is None else "Targets that are met", style="bold"))
    show_promises(console, certificate)
    console.print()
    console.print(Text("What the rows decided", style="bold"))
    for choice in certificate.chosen():
        console.print(item("-", choice.sentence()))
    console.print()
    console.print(Text("Assumptions", style="bold"))
    for sentence in certificate.assumptions:
        console.print(item("-", sentence))


def show_promises(console: Console, certificate: "Certificate") -> None:
    """Print the targets of a certificate and what they mean and do not mean, what has none, and who decided."""
    promises = list(zip(certificate.targets, certificate.qualifications, strict=False))
    for meaning in dict.fromkeys(certificate.qualifications):
        for target in (target for target, own in promises if own == meaning):
            console.print(item("-", target))
        console.print(item(" ", meaning))
    if left := certificate.left_open():
        # No promise, so it does not stand among them.
        console.print(item("!", left))
    if certificate.decision is not None:
        console.print(item("-", Decision.of(certificate.decision).whole()))
