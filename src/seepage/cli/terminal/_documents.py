"""Documents that were written earlier: which they are, and how they look on a screen."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from seepage._writing import write_file
from seepage.cli.terminal._console import screen
from seepage.errors import InputError
from seepage.pages import SCHEMA, Document, html, lines

if TYPE_CHECKING:
    from seepage.release import Certificate

_CERTIFICATE = "urn:seepage:certificate:"
_STYLES = {"title": "bold", "head": "bold", "met": "green", "open": "yellow", "missed": "red"}


def show_document(path: Path, page: Path | None = None) -> None:
    """Print a document, or write its page to a file."""
    schema = str(_read(path).get("schema", ""))
    if schema.startswith(_CERTIFICATE):
        from seepage.release import Certificate

        document = Certificate.read(path).document()
    elif schema == SCHEMA:
        document = Document.read(path)
    else:
        raise InputError(
            f"{path} is JSON, but neither a report (seepage measure --json) nor a certificate (seepage publish)."
        )
    if page is None:
        show(screen(), document)
    else:
        write_file(page, html(document), private=document.edition == "internal")


def show(console: Console, document: Document) -> None:
    """Print a document."""
    for style, line in lines(document):
        console.print(Text(line, style=_STYLES.get(style, "")), soft_wrap=True)


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


def show_promises(console: Console, certificate: "Certificate") -> None:
    """Print the first section of a certificate: its targets, their meaning, and who decided."""
    document = certificate.document()
    for style, line in lines(replace(document, title="", about="", sections=document.sections[:1])):
        if line:
            console.print(Text(line, style=_STYLES.get(style, "")), soft_wrap=True)
