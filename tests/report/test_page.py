"""The page: names that try to break it, readers who do not see it, and nothing from outside."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE, Checker
from sklearn.linear_model import Ridge

import seepage

COUNT = 1200


@pytest.fixture(scope="module")
def reports():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(COUNT, len(HOSTILE))), columns=HOSTILE)
    y = pd.Series(X.sum(axis=1) + random.normal(size=COUNT), name=HOSTILE[0] + "y")
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=0.1)
    assert leak.information.attribute_names[: len(HOSTILE)] == tuple(HOSTILE)
    groups = {HOSTILE[2]: np.array(HOSTILE[:8] + HOSTILE[9:])[np.arange(COUNT) % 9], HOSTILE[8]: np.arange(COUNT) % 2}
    units = {name: name for name in HOSTILE[:8]}
    policy = seepage.Policy(error_floor={HOSTILE[0]: 1e-3, HOSTILE[8]: 1e-3})
    options = {"units": units, "policy": policy, "title": f"lone surrogate \ud800 {HOSTILE[0]}{HOSTILE[8]}"}
    return {
        "internal": seepage.Report.of(leak, "internal", groups=groups, **options),
        "publishable": seepage.Report.of(leak, "publishable", **options),
    }


@pytest.mark.parametrize("edition", ["internal", "publishable"])
@pytest.mark.parametrize("form", ["html", "html_snippet"])
def test_names_are_shown_and_never_obeyed(reports, edition, form):
    page = getattr(reports[edition], form)()
    found = Checker(page)
    text = " ".join(found.text)
    assert "<script>alert(1)</script>" in text
    assert "</title></style></svg>" in text
    assert "年龄" in text
    assert not {"\u202e", "\x00", "\x1b", "\ud800"} & set(page)
    assert "x" * 200 not in page
    assert page.encode("utf-8")
    assert "<script" not in page
    assert "javascript:" not in re.sub(r">[^<]*<", "><", page)


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_pictures_are_valid_xml(reports, edition):
    pictures = re.findall(r"<svg.*?</svg>", reports[edition].html(), re.DOTALL)
    # What everybody sees has no pictures of people.
    assert len(pictures) >= 2 if edition == "internal" else not pictures
    for picture in pictures:
        ElementTree.fromstring(picture)


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_markdown_shows_names_as_they_are(reports, edition):
    text = reports[edition].markdown()
    for wrong in ("<script", "<img", "[link](", "**bold**"):
        assert wrong not in text
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_json_holds_names_in_full(reports, edition):
    content = json.loads(reports[edition].json())
    names = {entry["name"] for kind in ("numbers", "categories") for entry in content[kind]}
    assert names >= set(HOSTILE)
    assert reports[edition].json().encode("ascii")


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_a_screen_reader_finds_its_way(reports, edition):
    found = Checker(reports[edition].html())
    tags = [tag for tag, _ in found.seen]
    assert dict(found.seen)["html"]["lang"] == "en"
    assert tags.count("main") == found.headings.count(1) == found.headings[0] == 1
    assert all(after - before <= 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
    for tag, attributes in found.seen:
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
        if tag == "svg":
            assert attributes["role"] == "img"
            assert set(attributes["aria-labelledby"].split()) <= set(found.ids)
    assert tags.count("caption") == tags.count("table") > (2 if edition == "internal" else 0)
    assert len(found.ids) == len(set(found.ids))


def test_two_reports_fit_in_one_notebook(reports):
    both = reports["internal"]._repr_html_() + reports["publishable"]._repr_html_()
    found = Checker(both)
    assert len(found.ids) == len(set(found.ids))
    assert found.headings[0] == 2
    # Rules reach nothing outside of the report.
    rules = re.search(r"<style>(.*?)</style>", both, re.DOTALL).group(1)
    for selector in re.findall(r"(?:^|\})\s*([^@{}]+)\{", rules):
        assert all(part.strip().startswith(".seepage-report") for part in selector.split(",")), selector


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_nothing_comes_from_outside(reports, edition):
    page = reports[edition].html()
    assert re.findall(r"https?://[^\"' <]+", page.replace("http://www.w3.org/2000/svg", "")) == []
    for wrong in ("url(", "@import", "@font-face"):
        assert wrong not in page
    assert "default-src 'none'" in page
    assert len(page) < 300_000
