"""Documents that were written earlier: which they are, and how they look on a screen."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from seepage._errors import InputError
from seepage.cli.terminal._console import printable, screen
from seepage.cli.terminal._screen import item

_CERTIFICATE = "urn:seepage:certificate:"
_REPORT = "urn:seepage:report:"


def show_document(path: Path) -> None:
    """Print a document."""
    found = _read(path)
    schema = str(found.get("schema", ""))
    if schema.startswith(_CERTIFICATE):
        _show_certificate(screen(), path)
        return
    if schema.startswith(_REPORT):
        from rich.markdown import Markdown

        from seepage.report import Report

        screen().print(Markdown(printable(Report.read(path).markdown()), hyperlinks=False))
        return
    raise InputError(
        f"{path} is JSON, but neither a report (seepage measure --json) nor a certificate (seepage publish)."
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except OSError as reason:
        raise InputError(f"{path} cannot be read: {reason.strerror}.") from None
    except ValueError:
        way_out = " Open it with a browser." if path.suffix == ".html" else ""
        raise InputError(f"{path} is not JSON.{way_out} Reports are written by: seepage measure --json FILE") from None
    return found if isinstance(found, dict) else {}


def _show_certificate(console: Console, path: Path) -> None:
    from seepage.release import Certificate

    certificate = Certificate.read(path)
    published, noise = certificate.published, certificate.noise
    console.print(Text(f"Certificate of a {published['estimator']}", style="bold"))
    amount = f"scale {noise['scale']:g}" if "scale" in noise else "the covariance in the file"
    rows = {
        "published": f"{certificate.created}, {published['count']} parameters",
        "fitted on": f"{certificate.people:,} people",
        "noise": f"{noise['distribution']}, {amount} ({noise['mechanism']})",
        "private": ", ".join(certificate.private["attributes"]),
        "label": certificate.private["label"],
    }
    for name, words in rows.items():
        console.print(item(f"{name:<10}", words))
    for title, sentences in (("Targets that are met", certificate.targets), ("Assumptions", certificate.assumptions)):
        console.print()
        console.print(Text(title, style="bold"))
        for sentence in sentences:
            console.print(item("-", sentence))
