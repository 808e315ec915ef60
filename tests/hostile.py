"""Names that try to break a page, and a reader of HTML that believes nothing."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "input", "link", "hr"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style></svg><h1>gotcha</h1>",
    "&lt;b&gt; & &amp; ' \" `",
    "näïve 年龄 возраст 🧑‍⚕️",
    "\u202eegdaB\u202c \u200f",
    "tab\there\nand a line | a pipe | **bold** [link](javascript:alert(1)) $x$",
    "\x00 null \x1b[31m red",
    "x" * 10_000,
    "",
]


class Checker(HTMLParser):
    """Parse strictly: every tag is known and closed."""

    ALLOWED = frozenset(
        re.findall(
            r"\w+",
            "html head meta title style body main article header section footer h1 h2 h3 p ul li dl dt dd div table "
            "caption thead tbody tr th td span bdi code figure bdi svg g defs use clippath path rect line text",
        )
    )

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.text, self.headings, self.ids = [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in self.ALLOWED, tag
        names = [name for name, _ in attrs]
        assert not [name for name in names if name.startswith("on") or name in ("src", "srcset")]
        # A picture refers to its own parts, and has styles of its own.
        assert all("svg" in self.open and value.startswith("#") for name, value in attrs if name == "href")
        assert tag == "svg" or "svg" in self.open or "style" not in names
        self.seen.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)
