"""Verdicts of `seepage.inspect` on a corpus of files, on hostile files, and its time and memory for 100 MB."""

import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

GOAL_SECONDS, GOAL_MEGABYTES = 10.0, 500.0
PLANTED, CLEAN = 182, 160
_VALUES = 12_500_000
_TESTS = Path(__file__).parents[1] / "tests"


def main() -> None:
    """Print verdicts for the corpus and for hostile files, and seconds and memory for large files; or of one file."""
    if len(sys.argv) > 3:
        _one(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    sys.path.insert(0, str(_TESTS))
    import inspected
    import people_files

    _corpus(people_files, inspected)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "people.parquet"
        inspected.PEOPLE.to_parquet(data)
        _hostile(Path(folder), data)
        _large(inspected.PEOPLE, Path(folder), data)


def _corpus(files: "object", models: "object") -> None:
    import seepage

    people = models.PEOPLE  # type: ignore[attr-defined]
    finder = seepage.inspection.Finder.of(people, ids="id")  # type: ignore[attr-defined]
    for name, count, whose in (("people", PLANTED, people), ("others", CLEAN, files.OTHERS)):  # type: ignore[attr-defined]
        verdicts: Counter[str] = Counter()
        for form, way in files.drawn(count, seed=len(name)):  # type: ignore[attr-defined]
            verdicts[finder.inspected_bytes(files.content(form, way, whose), f"file.{form}").verdict] += 1  # type: ignore[attr-defined]
        print(f"{count} files of {name}: {dict(verdicts)}")
    flagged: Counter[tuple[str, bool]] = Counter()
    for name, form, kind, seed in models.cases(models.OBJECT_PAIRS):  # type: ignore[attr-defined]
        content = models.content(name, form, kind, seed)  # type: ignore[attr-defined]
        flagged[kind, finder.inspected_bytes(content, f"model.{form}").verdict == "fail"] += 1
    for kind in models.KINDS:  # type: ignore[attr-defined]
        print(f"models, {kind:8} {flagged[kind, True]:4} of {flagged[kind, True] + flagged[kind, False]:4} fail")


def _hostile(folder: Path, data: Path) -> None:
    import hostile_files

    for name, content in hostile_files.bombs().items():
        path = folder / name.replace("/", " ")
        path.write_bytes(content)
        _print_of(path, data)


def _large(people: pd.DataFrame, folder: Path, data: Path) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=_VALUES)
    hidden = people[["glucose", "lipids", "marker"]].to_numpy()[:20].ravel()
    table = pd.DataFrame(noise.reshape(-1, 10), columns=list("abcdefghij"))
    files = {
        "array.npy": lambda path: np.save(path, noise),
        "array.pkl": lambda path: path.write_bytes(pickle.dumps({"coef": noise, "rows": hidden})),
        "frame.pkl": lambda path: table.to_pickle(path),
        "floats.pkl": lambda path: path.write_bytes(pickle.dumps(noise[: _VALUES * 8 // 9].tolist())),
        "bytes.bin": lambda path: path.write_bytes(b"?" + noise.tobytes()),
        "table.csv": lambda path: pd.DataFrame(noise[:5_200_000].reshape(-1, 10)).to_csv(path),
        "packed.npz": lambda path: np.savez_compressed(path, noise.astype(np.float16).astype(np.float64)),
        "table.parquet": lambda path: table.to_parquet(path),
    }
    for name, write in files.items():
        path = folder / name
        write(path)
        _print_of(path, data)


def _print_of(path: Path, data: Path) -> None:
    """Print the verdict, seconds and memory for a file, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "inspect", str(path), str(data)]
    size = path.stat().st_size / 1e6
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    verdict, seconds, memory, before = json.loads(ran.stdout)
    missed = "  above the goal" if seconds > GOAL_SECONDS or memory > GOAL_MEGABYTES else ""
    print(
        f"{path.name:24} {size:7.2f} MB {verdict:7} {seconds:5.1f} s of a core; {memory:4.0f} MB at most, {before:.0f} "
        f"before{missed}",
        flush=True,
    )
    path.unlink()


def _one(path: Path, data: Path) -> None:
    import seepage

    # What importing libraries takes is not counted.
    finder = seepage.inspection.Finder.of(data, ids="id")
    finder.inspected_bytes(b"a,b,c\n" * 30, "warm.csv")
    before, work = _memory(), time.process_time()
    verdict = finder.inspected(path).verdict
    print(json.dumps([verdict, time.process_time() - work, _memory(), before]))


def _memory() -> float:
    """Return the most memory that this process had, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))
