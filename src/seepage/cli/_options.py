"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

_ROWS = "What is measured"
_OUT = "What comes out"

Model = Annotated[
    Path,
    typer.Argument(
        help="The fitted model: a scikit-learn estimator or Pipeline, written with skops.", show_default=False
    ),
]
Data = Annotated[
    list[str],
    typer.Argument(
        help="The rows it was fitted on: CSV, Parquet (a file, a folder, a pattern in quotes, or a URI) or Arrow.",
        show_default=False,
    ),
]
Target = Annotated[
    list[str],
    typer.Option(
        "--target", "-t", help="The column that the model predicts.", show_default=False, rich_help_panel=_ROWS
    ),
]
NoiseScale = Annotated[
    float,
    typer.Option(
        "--noise-scale",
        "-n",
        help="Standard deviation of the noise on the published coefficients.",
        show_default=False,
        rich_help_panel=_ROWS,
    ),
]
Private = Annotated[
    str | None,
    typer.Option(
        "--private",
        "-p",
        help="The private columns, separated by commas; all by default. The others count as known to the attacker.",
        show_default=False,
        rich_help_panel=_ROWS,
    ),
]
PublicLabel = Annotated[
    bool, typer.Option("--public-label", help="The attacker knows the target column.", rich_help_panel=_ROWS)
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", "-g", help="Compare the groups of this column.", rich_help_panel=_ROWS),
]
Ids = Annotated[
    str | None, typer.Option("--ids", help="The column that names people on the screen.", rich_help_panel=_ROWS)
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        "--sample-weight", help="The column of weights that the model was fitted with.", rich_help_panel=_ROWS
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", help="Targets to hold the release against, in TOML.", rich_help_panel=_ROWS),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust", metavar="MODULE.CLASS", help="A type in the model file to read all the same.", rich_help_panel=_ROWS
    ),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--in-memory",
        help="Read Parquet a batch at a time, or at once. By default at once up to 500 MB (uncompressed).",
        show_default=False,
        rich_help_panel=_ROWS,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=_OUT)]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=_OUT)]
OUT = _OUT
