"""Verdicts on the papers: each follows from stored numbers by its criterion, and each can fail."""

import copy
import importlib
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from pages import ROOT

import experiments.__main__ as command
from experiments import g22_private_sgd
from experiments._criterion import VERDICTS, Criterion, Decision, Interval, together
from experiments._made import mixture, settings, stored
from experiments._result import plain, rounded
from experiments._seeds import interval, pooled
from experiments._table import PAPERS, RESULTS, verdicts
from experiments._work import Work

RESULT_FILES = sorted(path for path in RESULTS.glob("*.json") if path.stem not in ("verdicts", "printed"))
ROWS = [
    pytest.param(row, id=f"{paper} {row.where} {place}")
    for paper, module in PAPERS.items()
    for place, row in enumerate(module.ROWS)
    if row.criteria
]


def numbers_of(experiment):
    return json.loads((RESULTS / f"{experiment}.json").read_text())


def test_the_verdicts_that_are_kept_are_those_that_the_criteria_give():
    assert json.loads((RESULTS / "verdicts.json").read_text()) == verdicts(RESULTS)


@pytest.mark.parametrize("row", ROWS)
def test_every_criterion_would_decide_otherwise_if_numbers_were_others(row):
    for criterion in row.criteria:
        numbers = numbers_of(row.experiment)
        here = criterion.decide(numbers).verdict
        assert any(criterion.decide(numbers).verdict != here for _ in moved(numbers, criterion)), criterion.what


def moved(numbers, criterion):
    """Yield after all numbers of one name were moved, to one value or into an order, and put them back."""
    named = {}
    for inside, key, name in leaves(numbers):
        named.setdefault(name, []).append((inside, key, inside[key]))
    ends = [end for end in (criterion.above, criterion.below) if abs(end) < 1e300]
    values = [sum(ends) / len(ends), 2.0, -2.0, 1e-9, 0.4]
    for name, places in named.items():
        if name in ("quick", "version", "commit"):
            continue
        orders = [range(1, len(places) + 1), range(len(places), 0, -1)] if len(places) > 3 else []
        for several in (*orders, *([value] * len(places) for value in values)):
            for (inside, key, kept), value in zip(places, several, strict=True):
                # What is counted stays a count, and what is named a name.
                inside[key] = max(4, int(value)) if isinstance(kept, int) else float(value)
                inside[key] = "another" if isinstance(kept, str) else inside[key]
            yield
        for inside, key, kept in places:
            inside[key] = kept


def leaves(value, name=""):
    """Yield where every number is, and the name that it has."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        inner = key if isinstance(key, str) else name
        if isinstance(each, dict | list):
            yield from leaves(each, inner)
        elif isinstance(each, int | float | str) and not isinstance(each, bool):
            yield value, key, inner


@pytest.mark.parametrize("path", RESULT_FILES, ids=lambda path: path.stem)
def test_every_result_is_of_one_version_of_its_script_at_a_commit_with_its_settings(path):
    made, script = json.loads(path.read_text())["made"], importlib.import_module(f"experiments.{path.stem}")
    assert made["version"] == script.VERSION
    assert mixture(made) == []
    for commit in {made["commit"], *(piece["commit"] for piece in made["pieces"].values())}:
        assert re.fullmatch(r"[0-9a-f]{12}", commit), "made from files that are in no commit"
    assert made["settings"] == settings(script)


def test_what_is_not_a_number_is_null_which_every_reader_of_json_knows():
    numbers = rounded({"a": np.array([np.nan, 1.23456789]), "b": {"c": float("inf")}, "d": 2})
    assert json.dumps(numbers, allow_nan=False) == '{"a": [null, 1.23457], "b": {"c": null}, "d": 2}'


def test_a_mixture_of_versions_is_found():
    pieces = {"a": {"version": 3, "commit": "x"}, "b": {"version": 4, "commit": "x"}}
    assert mixture({"version": 4, "pieces": pieces}) == ["version 3"]


def moved_in(path, *names, to):
    """Move one number of a file of results."""
    found = inside = json.loads(path.read_text())
    for name in names[:-1]:
        inside = inside[name]
    inside[names[-1]] = to
    path.write_text(json.dumps(found))


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(RESULTS, tmp_path / "results")


@pytest.mark.parametrize("names", [("made", "version"), ("made", "settings", "iterations"), ("quick",)])
def test_a_result_of_another_version_or_with_other_settings_is_none(folder, names):
    path, script = folder / "h21_table_1.json", importlib.import_module("experiments.h21_table_1")
    assert stored(path, script, quick=False)
    moved_in(path, *names, to=99)
    assert stored(path, script, quick=False) == {}
    assert stored(folder / "nowhere.json", script, quick=False) == {}


def test_all_runs_nothing_that_has_results_and_decides_every_verdict_from_them(folder, monkeypatch, capsys):
    pages = {path.name: path.read_text() for path in folder.glob("*.md")}
    monkeypatch.setattr(command, "NAMES", [path.stem for path in RESULT_FILES])
    monkeypatch.setattr("sys.argv", ["experiments", "all", "--output", str(folder)])
    for name in command.NAMES:
        monkeypatch.setattr(importlib.import_module(f"experiments.{name}"), "run", pytest.fail)
    command.main()
    assert capsys.readouterr().out.count("as it is, version") == len(RESULT_FILES)
    assert {path.name: path.read_text() for path in folder.glob("*.md")} == pages
    moved_in(folder / "h21_table_1.json", "rows", "cifar linear", "mean", to=0.2601)
    command.main()
    row = next(line for line in (folder / "papers.md").read_text().splitlines() if "CIFAR-10, linear: mean" in line)
    assert "**confirmed**" in row
    assert "**not confirmed**" in next(line for line in pages["papers.md"].splitlines() if "linear: mean of" in line)
    assert json.loads((folder / "verdicts.json").read_text()) != verdicts(RESULTS)


def files(folder):
    """Return what is in each file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["all", "g22_section_4"])
def test_a_quick_run_does_not_take_the_place_of_a_full_one(folder, monkeypatch, capsys, name):
    before = files(folder)
    monkeypatch.setattr("sys.argv", ["experiments", name, "--quick", "--output", str(folder)])
    with pytest.raises(SystemExit):
        command.main()
    said = capsys.readouterr().err
    assert "g22_section_4, " in f"{said.partition('full results of ')[2]}, "
    assert "name another folder with --output" in said
    assert files(folder) == before


def test_results_of_a_quick_run_decide_nothing(folder):
    row = next(row for row in PAPERS["H21"].ROWS if row.criteria)
    assert row.record(folder)["verdict"] == "confirmed"
    moved_in(folder / f"{row.experiment}.json", "quick", to=True)
    assert row.record(folder)["verdict"] == "not run"
    assert "**not run** (these are the numbers of a quick run)" in row.line(folder)


def test_a_part_of_an_experiment_does_not_take_the_place_of_the_whole(folder, monkeypatch, tmp_path):
    before, state = files(folder), tmp_path / "state"
    asked = ["plis", "--only", "regression-seed0", "--output", str(folder), "--state", str(state)]
    monkeypatch.setattr("sys.argv", ["experiments", *asked])
    with pytest.raises(SystemExit, match=r"it holds what this run does not, mnist-plain-400, .* and 10 more"):
        command.main()
    assert files(folder) == before
    # Nothing was in vain: the piece is kept, and a whole run goes on from it.
    assert [path.name for path in (state / "plis").iterdir()] == ["regression-seed0.json"]


def test_the_grid_goes_on_from_the_runs_that_are_kept_and_does_none_of_them_again(data_home, monkeypatch):
    monkeypatch.setenv("SEEPAGE_DATA", str(data_home))
    monkeypatch.setattr(g22_private_sgd, "train", pytest.fail)
    kept = numbers_of("g22_private_sgd")
    work = Work("g22_private_sgd", only=("nothing more",), version=g22_private_sgd.VERSION, before=kept)
    result = g22_private_sgd.run(quick=False, work=work)
    assert rounded(result.numbers["runs"]) == numbers_of("g22_private_sgd")["runs"]
    assert work.stamps == kept["made"]["pieces"]


def test_a_run_that_went_on_takes_the_place_of_what_was_kept_of_it():
    setting = g22_private_sgd.Setting(1.0, 0.1, 8.0)
    longer = replace(setting, readings=(1000, 2000))
    other = g22_private_sgd.Setting(2.0, 0.1, 8.0)
    kept = {each.run: {"readings": [{"steps": 1000}]} for each in (setting, other)}
    assert g22_private_sgd.left(kept, [setting, longer, other]) == [longer]
    found = g22_private_sgd.joined(kept, {longer.key: {"readings": [{"steps": 1000}, {"steps": 2000}]}})
    # In the order of the grid.
    assert {key: len(run["readings"]) for key, run in found.items()} == {other.run: 1, setting.run: 2}
    assert list(found) == [other.run, setting.run]


def test_every_run_that_is_kept_has_a_setting_of_the_grid():
    grid = {each.run: {**plain(each.__dict__), "readings": None} for each in g22_private_sgd.grid()}
    for key, run in numbers_of("g22_private_sgd")["runs"].items():
        assert {**run["setting"], "readings": None} == grid[key]


def test_seeds_that_are_run_later_join_the_earlier_ones_as_if_all_had_been_run_at_once():
    def summary(rows):
        pairs = [interval(column) for column in rows.T]
        over = dict(zip(("mean", "half_width"), map(list, zip(*pairs, strict=True)), strict=True))
        return {"seeds": len(rows), "layers": ["a"], "auc": {**over, "leads": ["a"] * len(rows)}}

    values = np.random.default_rng(0).normal(size=(5, 3))
    whole = summary(values)
    for first in (1, 2, 3, 4):
        found = pooled(summary(values[:first]), summary(values[first:]))
        assert found["auc"]["half_width"] == pytest.approx(whole["auc"]["half_width"], rel=1e-12)
        assert found["auc"]["mean"] == pytest.approx(whole["auc"]["mean"], rel=1e-12)
        assert (found["seeds"], found["auc"]["leads"]) == (5, ["a"] * 5)
    with pytest.raises(ValueError, match="layers"):
        pooled(whole, {**whole, "layers": ["b"]})


def test_a_piece_of_another_version_is_done_again(tmp_path):
    def done(version):
        return Work("some", tmp_path, version=version, commit="x").pieces({"a": lambda: version})["a"]

    assert [done(1), done(1), done(2), done(2), done(1)] == [1, 1, 2, 2, 1]


def test_an_interval_on_the_claimed_side_confirms_and_one_across_it_decides_nothing():
    def verdict(*ends):
        several = [Interval(*each) for each in ends]
        return Criterion("x", lambda _: several, above=0.0, below=1.0).decide({}).verdict

    assert verdict((0.2, 0.3)) == "confirmed"
    assert verdict((-0.2, 0.3)) == "undecided"
    assert verdict((1.1, 1.3)) == verdict((-0.2, 0.0)) == "not confirmed"
    # Of every one of several: one is enough against it.
    assert verdict((0.2, 0.3), (0.4, 0.9)) == "confirmed"
    assert verdict((0.2, 0.3), (-2.0, -1.0)) == "not confirmed"
    assert verdict((0.2, 0.3), (-2.0, 0.5)) == "undecided"


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["confirmed", "confirmed"], "confirmed"),
        (["confirmed", "not confirmed"], "partly"),
        (["confirmed", "not confirmed", "undecided"], "partly"),
        (["confirmed", "undecided"], "undecided"),
        (["not confirmed", "undecided"], "not confirmed"),
        (["confirmed", "not run"], "not run"),
        ([], "not run"),
    ],
)
def test_a_statement_of_several_parts_holds_as_far_as_they_do(parts, whole):
    assert together([Decision("x", 0.0, 1.0, None, part) for part in parts]) == whole
    assert whole in VERDICTS


def test_few_seeds_that_agree_decide_less_than_many():
    # 5 of 5 seeds leave open whether more than half do; 10 of 10 do not.
    assert Interval.share(5, 5).low < 0.5 < Interval.share(10, 10).low
    assert Interval.share(0, 3).high > 0.5
    assert Interval.around(0.3, None).low == -float("inf")
    apart = Interval(0.8, 1.0).minus(Interval(0.4, 0.6))
    assert (apart.low, apart.high) == pytest.approx((0.4 - 0.02**0.5, 0.4 + 0.02**0.5))


# Names that hold digits, and numbers that count or name a thing without measuring it.
NAMES = re.compile(
    r"\bH21\b|\bG22\b|\bM21\b|\(\d{4}\)|\bet al\.,? \d{4}|\b(?:19|20)\d\d\b|CIFAR-10|ResNet-18|VGG11Net|VKORC1|"
    r"\b(?:figures?|tables?|sections?|theorems?|eqs?\.|equations?|algorithm|panels?|layers?|line|appendix|footnote|"
    r"columns?|digits?|levels?|fc|conv|version)\s*[A-Z]?[\d.]+(?:(?:, | and | or | to )[\d.]+)*[a-d]?|"
    r"\bfc\d|\bconv\d|L-?\d|\d+/dfil|\d/dFIL|0/1|1/[a-zA-Z(\\]|\^\d|-1 and 1|between 0 and (?:1|a width)|"
    r"of order 2|norm 1\b|95% interval",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?%?")


def sentences(text):
    """Yield each paragraph or table that a person wrote, without what is written from the results and without code."""
    # What accounting costs is measured by the benchmarks, which keep no files.
    text = text.partition("## What accounting costs")[0]
    text = re.sub(r"<!-- (.+?) -->.*?<!-- end of \1 -->", "", text, flags=re.S)
    text = re.sub(r"```.*?```|^    .*?$|\]\([^)]*\)|`[^`]*`", "", text, flags=re.S | re.M)
    yield from text.split("\n\n")


def held(value):
    """Yield all numbers of a file of results, and what its words say."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(key, str):
                yield from (float(found) for found in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", key))
            yield from held(each)
        if isinstance(value, list):
            yield float(len(value))
    elif isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(found) for found in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", value.replace(",", "")))


def says(written, numbers):
    """Return whether one of the numbers is this one, to the digits that are written."""
    if re.fullmatch(r"[\d,]+", written):
        return int(written.replace(",", "")) in numbers
    value = float(written.rstrip("%").replace(",", ""))
    mantissa, _, exponent = written.rstrip("%").replace(",", "").partition("e")
    unit = 10 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    factors = (100.0, 1.0) if written.endswith("%") else (1.0,)
    return any(abs(factor * abs(each) - value) <= 0.5001 * unit for each in numbers for factor in factors)


# Where a sentence has its number from. Everything else that a person wrote holds only what the papers print.
STATED = {
    "federated.md": [
        ("after {:,} rounds of warm-up", "m21 made settings warm_up"),
        ("raw entries ({:,} drawn", "m21 made settings width"),
        ("a signed sketch of {:,} numbers", "m21 made settings width"),
        ("variation of weight {:g}", "plis_inversion total_variation"),
        ("signed Adam, {:,} steps", "plis_inversion steps"),
        ("whether HaarPSI does, {} images do", "plis_inversion bare images"),
        ("it is {}th of", "plis_inversion bare ssim place_of_the_most_susceptible"),
        ("of {} by SSIM", "plis_inversion bare images"),
        ("{}rd by HaarPSI", "plis_inversion bare haarpsi place_of_the_most_susceptible"),
    ],
    "linear.md": [
        ("ours is {:.4f}.", "h21_table_1 rows|cifar linear|mean"),
        ("the root mean square are {:.2f} (last", "h21_table_1 iterations|cifar linear|root_mean_square"),
        ("lambda of {:g}, where", "h21_figure_6 mean_eta_of_a_thousandth 3 penalty"),
        ("where {:.0%} are guessed right", "h21_figure_6 mean_eta_of_a_thousandth 3 black-box"),
        ("the most frequent value has {:.0%}", "h21_figure_6 prior"),
        ("noise scale {:g}, ten", "h21_figure_7 made settings scale"),
        ("{} draws a person", "h21_figure_7 trials"),
    ],
    "networks.md": [
        ("All ten digits, {:,} people", "g22_private_sgd runs|code-sigma2-step0.1-c8-seed0|setting|people"),
        ("kept every {} steps", "g22_private_sgd made settings every"),
        ("the largest of {:,} noisy", "g22_private_sgd runs|code-sigma2-step0.1-c8-seed0|setting|people"),
        ("median, {} people drawn", "g22_private_sgd runs|code-sigma2-step0.1-c8-seed0|setting|sample"),
        ("Planes and cars, {:,} people", "g22_cifar made settings people"),
        ("batches of {} on average. A run", "g22_cifar made settings batch"),
        ("the paper has {:,} steps here", "g22_cifar made settings readings 2"),
        ("was {:.2f} (standard error", "g22_attack settings|one step, 60 times|mean_square_over_floor"),
        ("error {:.2f}) after one step", "g22_attack settings|one step, 60 times|its_standard_error"),
        ("in {} trials, and", "g22_attack settings|one step, 60 times|trials"),
        ("and {:.2f} (standard error", "g22_attack settings|a run of 3 steps, 20 times|mean_square_over_floor"),
        ("error {:.2f}) after a run", "g22_attack settings|a run of 3 steps, 20 times|its_standard_error"),
        ("in {} trials; 1", "g22_attack settings|a run of 3 steps, 20 times|trials"),
        ("are {:.2f} and", "g22_attack settings|one step, 60 times|p_value"),
        ("and {:.2f}. ", "g22_attack settings|a run of 3 steps, 20 times|p_value"),
        ("{} columns, of which", "plis made settings columns"),
        ("only column {} tells", "plis made settings informative"),
        ("{:,} people, ", "plis made settings people"),
        ("{} steps in which everybody", "plis made settings steps"),
    ],
    "papers.md": [
        ("of our own values are {:.2f}, the mean over cars", "h21_table_1 iterations|cifar linear|mean_by_class|1"),
        ("after {} rounds of warm-up", "m21 made settings warm_up"),
        ("After {:,} rounds our networks", "m21 lfw AlexNet|rounds"),
    ],
}


def at(path):
    """Return the number at a path: the file, and names within it."""
    experiment, _, names = path.partition(" ")
    found = numbers_of(experiment)
    for name in names.split("|") if "|" in names else names.split():
        found = found[int(name)] if isinstance(found, list) else found[name]
    return found


@pytest.mark.parametrize("name", sorted(path.name for path in RESULTS.glob("*.md")))
def test_every_number_of_a_sentence_is_the_one_of_the_result_that_it_is_from(name):
    papers = list(held(json.loads((RESULTS / "printed.json").read_text())))
    text = " ".join("\n\n".join(sentences((RESULTS / name).read_text())).split())
    left = NAMES.sub(lambda found: " " * len(found[0]), text)
    for words, path in STATED[name]:
        said = words.format(at(path))
        assert said in text, (words, path)
        place = text.index(said)
        left = left[:place] + " " * len(said) + left[place + len(said) :]
    unheld = [
        (found[0], text[max(found.start() - 60, 0) : found.end() + 30])
        for found in NUMBER.finditer(left)
        if not says(found[0], papers)
    ]
    assert not unheld, "\n".join(map(str, unheld))


def test_the_mathematics_states_what_equalizing_does_as_the_results_have_it():
    text = " ".join((ROOT / "docs" / "explanation" / "mathematics.md").read_text().split())
    ranges = [
        "{:.2f} to {:.2f}".format(*(at(f"h21_figure_7 {row}|range_over_deciles|{k}") for k in (0, 10)))
        for row in (f"iwpc, {way} level dropped" for way in ("exact, first", "linearized, first", "linearized, last"))
    ]
    exact, first, last = ranges
    assert f"from {exact} with the exact distance" in text
    assert f"with the linearization from {first} or from {last}" in text


def test_a_number_that_is_moved_is_found_out():
    assert says("0.2474", [0.247399])
    assert not says("0.2475", [0.247399])
    assert says("41%", [0.414])
    assert not says("42%", [0.414])
    assert says("12,665", [12665.0])
    assert says("1e-3", [0.001])
    text = "Of 12,665 images 24 are shared (H21, figure 2).\n\n<!-- a -->\n| 17 |\n<!-- end of a -->\n"
    found = [number for part in sentences(text) for number in NUMBER.findall(NAMES.sub(" ", part))]
    assert found == ["12,665", "24"]


def test_numbers_that_were_moved_change_their_verdict():
    row = next(row for row in PAPERS["H21"].ROWS if row.statement == "CIFAR-10, linear: mean of eta")
    numbers = numbers_of(row.experiment)
    other = copy.deepcopy(numbers)
    other["rows"]["cifar linear"]["mean"] = 0.2601
    assert [row.criteria[0].decide(each).verdict for each in (numbers, other)] == ["not confirmed", "confirmed"]


def test_the_page_defines_every_verdict():
    page = (ROOT / "docs" / "experiments" / "papers.md").read_text()
    defined = [line.split("**")[1] for line in page.splitlines() if line.startswith("- **")]
    assert sorted(defined) == sorted(VERDICTS)
