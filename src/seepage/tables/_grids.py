"""Rows of cells in files: CSV, Excel workbooks, HTML and LaTeX tables."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from seepage.errors import InputError, MissingExtraError

Rows = list[list[str]]
# Signs that word processors put for plain ones.
_PLAIN = {0x2212: "-", 0x2013: "-", 0x2014: "-", 0xA0: " ", 0x2009: " ", 0x202F: " ", 0x2264: "<=", 0x2265: ">="}
FORMATS = (".csv", ".tsv", ".xlsx", ".html", ".htm", ".tex")
# Attributes of HTML that lay a table out.
_LAYOUT = ("style", "class", "border", "align", "valign", "width", "cellspacing", "cellpadding", "scope", "id", "lang")
_SHEET_TAGS = [
    "worksheet",
    "sheetData",
    "row",
    "c",
    "v",
    "f",
    "t",
    "is",
    "cols",
    "col",
    "dimension",
    "sheetViews",
    "sheetView",
    "selection",
    "pane",
    "sheetFormatPr",
    "sheetPr",
    "outlinePr",
    "pageSetUpPr",
    "pageMargins",
    "pageSetup",
    "mergeCells",
    "mergeCell",
]
_WORKBOOK_PART = re.compile(
    r"\[Content_Types\]\.xml|.*\.rels|docProps/(app|core)\.xml|xl/(workbook|styles|sharedStrings|theme/theme\d|"
    r"worksheets/sheet\d+)\.xml"
)
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|addlinespace|centering|noindent|small|footnotesize)\b|"
    r"\\c(?:mid)?(?:line|rule)(?:\([^)]*\))?\{[^}]*\}|\\\[[^\]]*ex\]"
)
_WRAPPED = re.compile(r"\\(?:text\w+|emph|underline|mathbf|mathrm|makecell)\{([^{}]*)\}")
_SPAN = re.compile(r"^\\multicolumn\{(\d+)\}\{[^}]*\}\{(.*)\}$", re.DOTALL)
_SIGNS = {r"\%": "%", r"\_": "_", r"\&": "&", r"\$": "$", r"\#": "#", r"\pm": "±", r"\ge": ">=", r"\le": "<="}


@dataclass(frozen=True)
class PrintedFile:
    """Tables of a file, and its other texts.

    Attributes
    ----------
    grids : tuple of list of list of str
        Cells by row; every row has the same length.
    texts : tuple of str
        Titles, notes, comments and parts that hold no table.
    decimal_comma : bool
        Whether decimals have a comma.
    """

    grids: tuple[Rows, ...]
    texts: tuple[str, ...] = ()
    decimal_comma: bool = False


def read_grids(path: Path) -> PrintedFile:
    """Read the tables of a file; refuse a file without one."""
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        grids, texts = _workbook(path)
    else:
        text = decoded(path)
        reader = {".html": _html, ".htm": _html, ".tex": _latex}.get(suffix, _separated)
        grids, texts = reader(text)
    filled = tuple(_rectangular(rows) for rows in grids if any(any(row) for row in rows))
    if not filled:
        raise InputError(f"{path.name} holds no table.")
    cells = [cell for rows in filled for row in rows for cell in row]
    commas, points = (sum(bool(re.search(rf"\d{mark}\d", cell)) for cell in cells) for mark in (",", r"\."))
    thousands = sum(bool(re.search(r"(?<!\d)\d{1,3}(,\d{3})+(?!\d)", cell)) for cell in cells)
    return PrintedFile(filled, tuple(each for each in texts if each), commas > points and commas > thousands)


def decoded(path: Path) -> str:
    """Return the text of a file in UTF-8, UTF-16 or Latin-1."""
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _rectangular(rows: Rows) -> Rows:
    kept = [[_cell(cell) for cell in row] for row in rows]
    kept = [row for row in kept if any(row)]
    width = max(map(len, kept))
    return [row + [""] * (width - len(row)) for row in kept]


def _cell(text: str) -> str:
    # esttab keeps spreadsheets from guessing: ="0.041".
    plain = re.sub(r'^="?|"$', "", text.translate(_PLAIN).strip())
    return " ".join(plain.split())


def _separated(text: str) -> tuple[list[Rows], list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    marks = [mark for mark in ";\t," if sum(mark in line for line in lines) * 2 > len(lines)]
    return [list(csv.reader(lines, delimiter=marks[0] if marks else ","))], []


def _workbook(path: Path) -> tuple[list[Rows], list[str]]:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(
            'Excel workbooks are read with openpyxl. Install it with: pip install "seepage[cli]"'
        ) from None
    try:
        book, texts = openpyxl.load_workbook(path, data_only=True), []
        with ZipFile(path) as parts:
            texts += [f"part {name}" for name in parts.namelist() if not _WORKBOOK_PART.fullmatch(name)]
            sheets = [parts.read(name).decode() for name in parts.namelist() if name.startswith("xl/worksheets/sheet")]
            shared = parts.read("xl/sharedStrings.xml").decode() if "xl/sharedStrings.xml" in parts.namelist() else ""
    except (BadZipFile, KeyError, ValueError, OSError) as reason:
        raise InputError(f"{path.name} cannot be read as a workbook: {reason}.") from None
    for sheet in sheets:
        texts += [f"element {tag}" for tag in sorted({*re.findall(r"<(\w+)[\s/>]", sheet)} - {*_SHEET_TAGS})]
        texts += re.findall(r"<f[^>]*>([^<]+)</f>", sheet)
    grids = []
    for sheet in book.worksheets:
        rows = [["" if cell.value is None else str(cell.value) for cell in row] for row in sheet.iter_rows()]
        for merged in sheet.merged_cells.ranges:
            for i, j in ((i - 1, j - 1) for i in range(merged.min_row, merged.max_row + 1) for j in _columns(merged)):
                rows[i][j] = rows[merged.min_row - 1][merged.min_col - 1]
        grids.append(rows)
        texts += [cell.comment.text for row in sheet.iter_rows() for cell in row if cell.comment]
        texts += [sheet.title] if not re.fullmatch(r"Sheet\s?\d*", sheet.title) else []
    known = {_cell(cell) for rows in grids for row in rows for cell in row}
    texts += [each for each in re.findall(r"<t[^>]*>([^<]+)</t>", shared) if _cell(_unescaped(each)) not in known]
    about = book.properties
    texts += [each for each in (about.title, about.subject, about.description, about.keywords, about.category) if each]
    texts += [each for each in (about.creator, about.lastModifiedBy) if each and each != "openpyxl"]
    return grids, texts


def _columns(merged: object) -> range:
    return range(merged.min_col, merged.max_col + 1)  # type: ignore[attr-defined]


def _unescaped(text: str) -> str:
    from html import unescape

    return unescape(text)


class _Tables(HTMLParser):
    """Tables of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.grids: list[Rows] = []
        self.texts: list[str] = []
        self._cell: list[str] | None = None
        self._at = self._span = self._down = 0
        self._below: dict[int, tuple[int, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        for name, value in given.items():
            if name not in ("colspan", "rowspan") and (
                name not in _LAYOUT or re.search(r"\d{4}|[^\w\s:;.,%#-]", value)
            ):
                self.texts.append(f"{name}={value}")
        if tag == "table":
            self.grids.append([])
        elif tag == "tr" and self.grids:
            self.grids[-1].append([])
        elif tag in ("td", "th") and self.grids and self.grids[-1]:
            self._cell, self._span = [], int(given.get("colspan") or 1)
            self._down = int(given.get("rowspan") or 1)
        elif tag == "br" and self._cell is not None:
            self._cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            row, text = self.grids[-1][-1], "".join(self._cell)
            self._fill(row)
            for _ in range(self._span):
                if self._down > 1:
                    self._below[len(row)] = (self._down - 1, text)
                row.append(text)
            self._cell = None
        elif tag == "tr" and self.grids and self.grids[-1]:
            self._fill(self.grids[-1][-1])
        elif tag == "table":
            self._below = {}

    def _fill(self, row: list[str]) -> None:
        """Add the cells that reach down from rows above."""
        while len(row) in self._below:
            left, text = self._below.pop(len(row))
            if left > 1:
                self._below[len(row)] = (left - 1, text)
            row.append(text)

    def handle_data(self, data: str) -> None:
        if self._cell is None:
            self.texts.append(data.strip())
        else:
            self._cell.append(data)

    def handle_comment(self, data: str) -> None:
        self.texts.append(data.strip())

    def handle_pi(self, data: str) -> None:
        self.texts.append(data.strip())


def _html(text: str) -> tuple[list[Rows], list[str]]:
    page = _Tables()
    page.feed(text)
    page.close()
    return page.grids, page.texts


def _latex(text: str) -> tuple[list[Rows], list[str]]:
    texts = [each.strip() for each in re.findall(r"(?<!\\)%(.*)", text)]
    text = re.sub(r"(?<!\\)%.*", "", text)
    grids, body = [], re.compile(r"\\begin\{(tabular\w*|longtable)\*?\}(.*?)\\end\{\1\*?\}", re.DOTALL)
    for found in body.finditer(text):
        # The columns of the environment come first, perhaps behind its width.
        inside = re.sub(r"^(\[[^\]]*\]|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})+", "", found[2].strip())
        rows = [[*_latex_row(each)] for each in re.split(r"\\\\(?:\[[^\]]*\])?", _RULES.sub("", inside))]
        grids.append(rows)
    rest = re.sub(
        r"\\(?:begin|end|documentclass|usepackage)(?:\[[^\]]*\])?\{[^}]*\}(?:\[[^\]]*\])?", "", body.sub("", text)
    )
    texts += [
        _plain_latex(re.sub(r"\\(?:caption|label|title|author|date|maketitle)\b", "", line))
        for line in rest.splitlines()
    ]
    return grids, texts


def _latex_row(text: str) -> Iterator[str]:
    for cell in re.split(r"(?<!\\)&", text):
        span = _SPAN.match(cell.strip())
        yield from [_plain_latex(span[2])] * int(span[1]) if span else [_plain_latex(cell)]


def _plain_latex(text: str) -> str:
    for _ in range(4):
        text = _WRAPPED.sub(r"\1", text)
    text = re.sub(r"(?<!\\)\$", "", text)
    for sign, plain in _SIGNS.items():
        text = text.replace(sign, plain)
    return _RULES.sub("", text).replace("~", " ").replace("--", "-").replace("{", "").replace("}", "").strip()
