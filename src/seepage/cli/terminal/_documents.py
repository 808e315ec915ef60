"""Documents on a screen: reports, verdicts and certificates, just made or written earlier."""

import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from seepage._writing import write_file
from seepage.cli.terminal._console import printable, screen
from seepage.errors import InputError
from seepage.pages import SCHEMA, Document, Section, html, lines, section_lines

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
        show(screen(), lines(document))
    else:
        write_file(page, html(document), private=document.edition == "internal")


def show(console: Console, styled: Iterable[tuple[str, str]]) -> None:
    """Print the lines of a document, or of a section."""
    for style, line in styled:
        console.print(Text(line, style=_STYLES.get(style, "")), soft_wrap=True)


def print_or_write(document: str, path: Path | None, *, private: bool = False) -> None:
    """Print the document of a pipeline, or write it to a file."""
    if path is None:
        print(printable(document))
    else:
        write_file(path, document + "\n", private=private)


def show_sections(console: Console, *sections: Section) -> None:
    """Print sections, with an empty line after each but the last."""
    for place, section in enumerate(sections, 1):
        show(console, section_lines(section))
        show(console, [("", "")] if place < len(sections) else [])


def is_certificate(path: Path) -> bool:
    """Return whether a file says that it is a certificate."""
    try:
        return str(_read(path).get("schema", "")).startswith(_CERTIFICATE)
    except InputError:
        return False


def show_people(console: Console, ids: str | None) -> None:
    """Say that each row was counted as a person, where nobody said whose they are: that is never guessed."""
    if ids is None:
        words = "Each row is counted as one person; --ids names the column that says otherwise."
        console.print(Text(words, style="dim"))


def show_written(console: Console, *paths: Path | None, edition: str) -> None:
    """Print where files are, and who may read them."""
    whose = {"internal": "internal edition: personal data, for you alone", "publishable": "publishable edition"}
    for path in filter(None, paths):
        console.print(Text(f"Written: {path} ({whose.get(edition, edition)})", style="bold"))


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
