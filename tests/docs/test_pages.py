"""Every Python block of README, tutorial and how-to pages runs, and prints what the page says it prints."""

import os
import re

import matplotlib
import pytest
from pages import ROOT, blocks, run

PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md", *sorted((ROOT / "docs").glob("tutorial/*.md"))]
PAGES += sorted((ROOT / "docs").glob("how-to/*.md"))
# Pages that train networks have tests of their own at night, which also look at what they computed.
NETWORKS = {"opacus.md", "causal-language-model.md"}
# So have pages about other software.
ELSEWHERE = {*NETWORKS, "flower.md", "lora.md", "r-and-stata.md"}


@pytest.fixture(autouse=True)
def _pictures_are_not_shown():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("path", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.stem)
def test_a_page_runs_as_it_stands(path, tmp_path, monkeypatch):
    # What a page writes goes where it does no harm.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path))
    run(path)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_the_page_about_lora_runs_and_knows_every_note(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run(ROOT / "docs" / "how-to" / "lora.md").names
    for leak in (names["leak"], names["accountant"].leakage()):
        assert len(leak.examples) == 64
        assert (leak.examples["dfil"] > 0).all()


@pytest.mark.parametrize("terms", ["age", "age + C(ward)", "age + C(ward, Sum)"])
def test_the_table_of_the_statsmodels_page_is_that_of_any_formula(terms):
    page = run(ROOT / "docs" / "how-to" / "statsmodels.md").names
    people, results = page["people"], page["smf"].logit(f"ill ~ {terms}", page["people"]).fit(disp=0)
    given = {"categories": page["wards"]} if "ward" in terms else {}
    publication = page["seepage"].publish(
        results, noise_scale=1e-9, accept=None, noise_chosen_without_data=True, **given
    )
    table = page["table_of"](publication)
    for _, person in people[:20].iterrows():
        level = table.get(f"ward = {person['ward']}", 0.0)
        margin = table["intercept"] + table["age"] * person["age"] + level
        row = people.loc[[person.name]]
        assert margin == pytest.approx(results.predict(row, which="linear").item(), abs=1e-5)


def test_the_pages_for_beginners_show_code():
    for path in PAGES:
        if path.parent.name in ("tutorial", "how-to") and path.stem not in ("command-line", "install"):
            assert any(language == "python" for language, _ in blocks(path)), f"{path.name} has no code."


def test_readme_is_read_in_a_minute():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 100


def _read():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


# The pages of experiments have a row for each line of a paper.
@pytest.mark.parametrize("page", [page for page in _read() if page.parent.name != "experiments"], ids=lambda p: p.stem)
def test_no_cell_of_a_table_is_a_paragraph(page):
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", re.sub(r"\]\([^)]*\)", "]", row))]
    assert [cell for cell in cells if len(cell) > 160] == []


def test_the_files_that_readme_links_to_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", text)
    files = [one or other for one, other in links if not (one or other).startswith("http")]
    assert len(files) > 5
    assert all((ROOT / file).exists() for file in files)
