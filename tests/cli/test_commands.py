"""Each command, typed as a new user would, says the truth in 80 columns."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import seepage
from cli.terminal import Terminal
from seepage._amounts import on_grid

ASK = "model.skops people.csv --target progression"


@pytest.fixture(scope="module")
def leak(terminal: Terminal) -> seepage.Leakage:
    people = pd.read_csv(terminal.folder / "people.csv")
    model = skops.io.load(terminal.folder / "model.skops")
    return seepage.measure(
        model, people[list(model.feature_names_in_)], people["progression"], noise_scale=2.0, attributes=["age", "bmi"]
    )


def _number_of(text: str, name: str) -> list[float]:
    line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
    return [float(number) for number in line.removeprefix(name).replace("±", "").split()]


def _processor_time(code: str) -> float:
    before = os.times()
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_help_fits_and_starts_as_fast_as_any_command_of_its_kind(tmp_path: Path) -> None:
    answer = Terminal(tmp_path, warm=False).run("seepage --help")
    assert answer.code == 0
    for command in ("measure", "calibrate", "check", "publish", "certify", "show", "explain"):
        assert f" {command} " in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    # Half a second on an idle core. Beside other work a second is no measure, but another command's help is.
    ours = "import sys; sys.argv = ['seepage', '--help']; from seepage.cli import main\nmain()"
    bare = """import sys, typer
sys.argv = ["hello", "--help"]
app = typer.Typer()
@app.command()
def hello(name: str) -> None: ...
app()"""
    times = [(_processor_time(ours), _processor_time(bare)) for _ in range(5)]
    assert min(time for time, _ in times) < 3 * min(time for _, time in times)


def test_help_loads_no_mathematics(tmp_path: Path) -> None:
    # Times are measured on some machine; what takes the time is the same on all of them.
    code = "import sys; import seepage.cli._app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=tmp_path)
    assert not {"numpy", "scipy", "narwhals", "pandas", "sklearn", "pyarrow"} & set(loaded.stdout.split())


def test_help_of_every_command_fits_80_columns(terminal: Terminal) -> None:
    for command in ("measure", "calibrate", "check", "publish", "certify", "show", "explain"):
        answer = terminal.run(f"seepage {command} --help")
        assert answer.code == 0
        assert max(map(len, answer.out.splitlines())) <= 80
        # Versions of typer write the many files of DATA in two ways.
        told = answer.out.replace("{DATA...}...", "").replace("[DATA...]...", "").replace("DATA...", "")
        assert "..." not in told
        assert "<bool>" not in told


def test_without_noise_a_table_by_attacker_is_printed_and_a_statement_written(terminal: Terminal) -> None:
    answer = terminal.run(f"seepage measure {ASK} --json statement.json")
    assert answer.code == 0
    for word in (
        "population",
        "covariates",
        "all records",
        "residual degrees of freedom",
        "no bound",
        "no certificate",
    ):
        assert word in answer.out
    people = pd.read_csv(terminal.folder / "people.csv")
    model = skops.io.load(terminal.folder / "model.skops")
    leak = seepage.measure(model, people[list(model.feature_names_in_)], people["progression"])
    for line in str(leak).splitlines():
        assert line in answer.out
    told = json.loads((terminal.folder / "statement.json").read_text(encoding="utf-8"))
    assert told["sentence"] == leak.statement().paper


def test_the_file_of_a_forest_is_measured_without_noise(terminal: Terminal) -> None:
    people = pd.read_csv(terminal.folder / "people.csv")
    forest = RandomForestRegressor(5, max_depth=4, random_state=0)
    forest.fit(people[["age", "bmi", "bp"]], people["progression"])
    skops.io.dump(forest, terminal.folder / "trees.skops")
    answer = terminal.run("seepage measure trees.skops people.csv -t progression --trust sklearn.tree._tree.Tree")
    assert (answer.code, answer.err) == (0, "")
    leak = seepage.measure(forest, people[["age", "bmi", "bp"]], people["progression"])
    assert answer.out == leak.summary() + "\n"


def test_a_survival_model_takes_time_and_status(terminal: Terminal) -> None:
    sksurv = pytest.importorskip("sksurv.linear_model")
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(30, 80, 120).round(), "dose": random.normal(size=120)})
    week, died = 1 + random.permutation(120).astype(float), random.uniform(size=120) < 0.7
    y = np.array([*zip(died, week, strict=True)], dtype=[("died", bool), ("week", float)])
    model = sksurv.CoxPHSurvivalAnalysis(alpha=0.1, tol=1e-10).fit(X, y)
    skops.io.dump(model, terminal.folder / "cox.skops")
    X.assign(week=week, died=died.astype(int)).to_csv(terminal.folder / "cox.csv", index=False)
    trust = " ".join(f"--trust {name}" for name in skops.io.get_untrusted_types(file=terminal.folder / "cox.skops"))
    answer = terminal.run(f"seepage measure cox.skops cox.csv --time week --status died -n 0.1 {trust}")
    assert answer.code == 0, answer.text
    eta = seepage.measure(model, X, y, noise_scale=0.1).examples["eta"]
    assert _number_of(answer.out, "eta") == pytest.approx([eta.median(), eta.quantile(0.95), eta.max()], rel=1e-3)


def test_models_are_read_without_torch(tmp_path: Path) -> None:
    code = "import sys; from seepage.cli.input._models import _skops; _skops(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=tmp_path)
    assert "skops.io" in loaded.stdout.split()
    assert "torch" not in loaded.stdout.split()


def test_version(terminal: Terminal) -> None:
    assert terminal.run("seepage --version").out == f"seepage {seepage.__version__}\n"


@pytest.mark.parametrize("data", ["people.csv", "people.parquet", "parts", "'parts/*.parquet'"])
def test_measure_prints_what_the_library_measures(terminal: Terminal, leak: seepage.Leakage, data: str) -> None:
    command = f"seepage measure model.skops {data} --target progression --noise 2 --private age,bmi --ids patient"
    answer = terminal.run(command)
    assert (answer.code, answer.err) == (0, "")
    assert max(map(len, answer.out.splitlines())) <= 80
    assert answer.out.startswith("442 people, 3 private attributes (exact, noise scale 2)")
    eta = leak.examples["eta"]
    assert _number_of(answer.out, "eta") == pytest.approx([eta.median(), eta.quantile(0.95), eta.max()], rel=1e-3)
    floors = 1 / leak.attributes["bmi"]
    wanted = [1 / (1 / floors).median(), 1 / (1 / floors).quantile(0.95), floors.min()]
    baseline = load_diabetes(as_frame=True, scaled=False).frame["bmi"].std(ddof=0)
    assert _number_of(answer.out, "bmi") == pytest.approx([baseline, *wanted], rel=1e-3)
    assert f"P{eta.argmax():04d}" in answer.out
    assert "Known to the attacker besides: sex, bp" in answer.out


def test_streamed_rows_give_the_same_numbers(terminal: Terminal, leak: seepage.Leakage) -> None:
    command = "seepage measure model.skops parts -t progression -n 2 -p age,bmi --groups sex --stream"
    answer = terminal.run(command)
    assert (answer.code, answer.err) == (0, "")
    eta = leak.examples["eta"]
    assert _number_of(answer.out, "eta") == pytest.approx([eta.median(), eta.quantile(0.95), eta.max()], rel=5e-3)
    assert re.search(r"row \d+ of\s+part-", answer.out)
    in_memory = terminal.run(command.replace("--stream", "--in-memory"))
    row = r"\n[ *]+1\.0\s+(?:people: )?(\d+)\s+(?:mean: )?(\S+)"
    groups = [re.search(row, found.out).groups() for found in (answer, in_memory)]
    assert groups[0] == groups[1]


def test_quiet_prints_nothing(terminal: Terminal) -> None:
    answer = terminal.run(f"seepage measure {ASK} -n 2 --quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


@pytest.mark.parametrize(("option", "shape"), [("one-scale", "isotropic"), ("standard-errors", "standard errors")])
def test_calibrate_finds_enough_noise_and_check_agrees(
    terminal: Terminal, leak: seepage.Leakage, option: str, shape: str
) -> None:
    calibrate = f"seepage calibrate {ASK} --policy policy.toml --shape {option} --quiet"
    exact = terminal.run(f"{calibrate} --exact")
    needed = seepage.calibrate(leak, error_floor={"age": 5.0, "bmi": 2.0}, exact=True, shape=shape)
    expected = needed.scale if needed.shape is None else needed.shape.scale
    unit = " se" if option == "standard-errors" else ""
    assert float(exact.out.strip().removesuffix(unit)) == pytest.approx(expected, rel=1e-9)
    # Without its unit the number would be taken for a scale.
    assert exact.out.strip().endswith(unit)
    rounded = terminal.run(calibrate).out.strip()
    assert rounded.endswith(unit)
    number = float(rounded.removesuffix(unit))
    assert expected <= number < 2.5 * expected
    assert on_grid(number)
    assert terminal.run(f"seepage check {ASK} --policy policy.toml -n '{rounded}'").code == 0
    assert terminal.run(f"seepage check {ASK} --policy policy.toml -n '{0.999 * expected}{unit}'").code == 1


def test_without_a_shape_calibrate_answers_in_standard_errors_where_they_are_counted(terminal: Terminal) -> None:
    answer = terminal.run(f"seepage calibrate {ASK} --policy policy.toml")
    assert re.match(r"Noise of \S+ standard errors on every coefficient meets:", answer.out)


@pytest.mark.parametrize("option", ["--shape one-scale", "--exact", "--quiet"])
def test_what_is_about_the_noise_for_a_policy_needs_one(terminal: Terminal, option: str) -> None:
    answer = terminal.run(f"seepage calibrate {ASK} {option}")
    assert answer.code == 2
    assert f"for {option.split()[0]}: it is about the noise" in answer.text
    assert "noise, in standard errors" in terminal.run(f"seepage calibrate {ASK}").out


def test_a_table_with_intervals_is_written_beside_the_model(terminal: Terminal) -> None:
    plain = "publish --formula 'progression ~ age + bmi' --family gaussian people.csv --policy policy.toml"
    done = terminal.run(f"seepage {plain} -o out.toml --table out.csv --force")
    assert done.code == 0
    rows = (terminal.folder / "out.csv").read_text().splitlines()
    assert rows[0] == "term,estimate,standard error,low,high,p"
    assert [row.split(",")[0] for row in rows[1:]] == ["age", "bmi", "intercept"]
    wrong = terminal.run(f"seepage {plain} -o out.toml --table out.xlsx --force")
    assert wrong.code == 2
    assert "'out.xlsx' has no format" in wrong.text
    scaled = terminal.run(f"seepage {plain} -o out.toml --table out.md --noise 5 --force")
    assert scaled.code == 2
    assert "Standard errors leave beside noise that is in standard errors itself" in scaled.text


@pytest.mark.parametrize("how", ["--stream", "--in-memory"])
def test_check_gives_its_reasons(terminal: Terminal, how: str) -> None:
    answer = terminal.run(f"seepage check model.skops parts -t progression -n 2 --policy policy.toml {how}")
    assert answer.code == 1
    assert "Does not meet the policy" in answer.out
    assert "1 of 2 targets is missed." in answer.out
    assert re.search(r"Everyone's age:[^*]+verdict: met[^*]+\* Everyone's bmi:[^*]+verdict: missed", answer.out)
    assert "A noise scale of 5 meets all of them." in answer.out
    assert "About 442 people." in answer.out


def test_publish_writes_a_noisy_model_a_certificate_and_a_key(terminal: Terminal) -> None:
    command = f"seepage publish {ASK} -n 5 --policy policy.toml --out noisy.skops --key owner.key"
    answer = terminal.run(command)
    assert answer.code == 0
    folder = terminal.folder
    exact, noisy = (skops.io.load(folder / name) for name in ("model.skops", "noisy.skops"))
    difference = np.append(noisy.coef_ - exact.coef_, noisy.intercept_ - exact.intercept_)
    assert 0.5 < np.std(difference) / 5 < 2
    certificate = seepage.release.Certificate.read(folder / "noisy.certificate.json")
    people = pd.read_csv(folder / "people.csv")
    X, y = people[list(exact.feature_names_in_)], people["progression"]
    assert certificate.matches(exact, X, y, key=(folder / "owner.key").read_bytes())
    assert stat.S_IMODE((folder / "owner.key").stat().st_mode) == 0o600
    shown = terminal.run("seepage show noisy.certificate.json")
    assert shown.code == 0
    assert "Certificate of a ridge regression" in shown.out
    assert "Everyone's bmi: no unbiased guess has a standard error below 2." in shown.out
    again = terminal.run(command)
    assert again.code == 2
    assert "--force" in again.err


def test_whoever_publishes_calibrates_or_certifies_is_told_what_has_no_target(terminal: Terminal) -> None:
    publish = f"publish {ASK} -n 5 --policy policy.toml --out left.skops --ids patient"
    certify, show = "certify left.skops left.certificate.json", "show left.certificate.json"
    for command in (publish, certify, show, f"calibrate {ASK} --policy policy.toml"):
        answer = terminal.run(f"seepage {command}")
        assert answer.code == 0
        said = " ".join(answer.out.split())
        assert "No target for: sex, bp, s1, s2, s3, s4, s5, s6, progression (what the model predicts)." in said


def test_other_attributes_stand_above_the_tables_of_a_policy(terminal: Terminal) -> None:
    for text, words in (
        ('[error_floor]\nage = 5\nother_attributes = "public"\n', "belongs above [error_floor]"),
        ('other_attributes = "private"\n[error_floor]\nage = 5\n', "It is not 'private'"),
        ("other_attributes = 3\n[error_floor]\nage = 5\n", "It is not 3"),
    ):
        (terminal.folder / "odd.toml").write_text(text)
        answer = terminal.run(f"seepage check {ASK} -n 5 --policy odd.toml")
        assert answer.code == 2
        assert words in " ".join(answer.text.replace("│", "").split())


def test_a_missed_policy_publishes_nothing(terminal: Terminal) -> None:
    answer = terminal.run(f"seepage publish {ASK} -n 0.1 --policy policy.toml --out never.skops")
    assert answer.code == 1
    assert "nothing was published" in answer.err
    assert not list(terminal.folder.glob("never.*"))


def test_publishing_needs_a_policy_or_a_word(terminal: Terminal) -> None:
    assert terminal.run(f"seepage publish {ASK} -n 5 --out x.skops").code == 2
    answer = terminal.run(f"seepage publish {ASK} -n 5 --out without.skops --without-policy")
    assert answer.code == 0
    assert "the key was not kept" in answer.out
    certificate = json.loads((terminal.folder / "without.certificate.json").read_text())
    assert certificate["policy"] is None


def test_a_scale_off_the_grid_takes_a_word(terminal: Terminal) -> None:
    command = f"seepage publish {ASK} -n 2.5 --policy policy.toml --out grid.skops"
    answer = terminal.run(command)
    assert answer.code == 2
    assert "Round it up to 5" in answer.err
    assert not (terminal.folder / "grid.skops").exists()
    assert terminal.run(f"{command} --noise-chosen-without-data").code == 0
    certificate = json.loads((terminal.folder / "grid.certificate.json").read_text())
    assert any("without looking at the data, says" in one["how"] for one in certificate["choices"])


def test_a_publication_can_write_its_report_too(terminal: Terminal) -> None:
    (terminal.folder / "decided.toml").write_text(
        '[error_floor]\nage = 5\n[decision]\npolicy = "Release of models"\nversion = "3"\napprover = "Committee"\n'
        'date = 2026-11-12\nnote = "Second reading."\n'
    )
    command = f"seepage publish {ASK} -n 5 --policy decided.toml --out told.skops --report told.html"
    answer = terminal.run(command)
    assert answer.code == 0
    assert "told.html (internal report)" in answer.out
    page = (terminal.folder / "told.html").read_text()
    assert "Approved by Committee on 2026-11-12, under Release of models, version 3. Second reading." in page
    assert stat.S_IMODE((terminal.folder / "told.html").stat().st_mode) == 0o600
    measured = terminal.run(f"seepage measure {ASK} -n 5 --policy decided.toml --json told.json")
    assert measured.code == 0
    assert (
        "Approved by Committee"
        in json.loads((terminal.folder / "told.json").read_text())["sections"][1]["sentences"][0]
    )
    assert "Approved by Committee" in terminal.run("seepage show told.json").out


def test_explain_needs_no_library_and_knows_other_names(terminal: Terminal) -> None:
    assert terminal.run("seepage explain eta").out == terminal.run("seepage explain FIL").out
    assert "1/eta" in terminal.run("seepage explain eta").out
    assert "remaining_variance" in terminal.run("seepage explain").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    environment = {
        **os.environ,
        "_SEEPAGE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "seepage me",
        "COMP_CWORD": "1",
    }
    environment |= {"_TYPER_COMPLETE_ARGS": "seepage me", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(
        [sys.executable, "-m", "seepage"], capture_output=True, text=True, env=environment, check=True
    )
    assert "measure" in done.stdout
    assert "calibrate" not in done.stdout


@pytest.mark.parametrize("missing", ["typer", "rich", "skops"])
def test_a_missing_extra_is_named(terminal: Terminal, missing: str) -> None:
    arguments = ["measure", "model.skops", "people.csv", "-t", "progression", "-n", "1"]
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['seepage', *{arguments}]\n"
    code += "from seepage.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=terminal.folder, check=False
    )
    assert done.returncode == 2
    assert 'pip install "seepage[cli]"' in " ".join(done.stderr.replace("│", "").split())
    assert "Traceback" not in done.stderr
