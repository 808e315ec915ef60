"""What `seepage.inspect` finds in a corpus of files, and what it takes for files of 100 MB."""

import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

GOAL_SECONDS, GOAL_MEGABYTES = 5.0, 500.0
_VALUES = 12_500_000


def main() -> None:
    """Print the shares that are found, and seconds and memory for large files; of one file, if it is named."""
    if len(sys.argv) > 3:
        _one(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import inspected

    _corpus(inspected)
    _large(inspected.PEOPLE)


def _corpus(corpus: "object") -> None:
    import seepage

    seen: Counter[tuple[str, bool]] = Counter()
    finder = seepage.inspection.Finder.of(corpus.PEOPLE, ids="id")  # type: ignore[attr-defined]
    for case in corpus.cases([*corpus.OBJECT_PAIRS, *corpus.TABLE_PAIRS]):  # type: ignore[attr-defined]
        name, form, kind, seed = case
        found = finder.inspected_bytes(corpus.content(name, form, kind, seed), f"model.{form}")  # type: ignore[attr-defined]
        wanted = {"ids"} if kind == "ids" else {"rows", "scaled"}
        seen[kind, bool({each.kind for each in found.findings} & wanted)] += 1
    for kind in corpus.KINDS:  # type: ignore[attr-defined]
        print(f"{kind:8} {seen[kind, True]:4} of {seen[kind, True] + seen[kind, False]:4} files flagged")


def _large(people: pd.DataFrame) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "people.parquet"
        people.to_parquet(data)
        noise = rng.normal(size=_VALUES)
        hidden = people[["glucose", "lipids", "marker"]].to_numpy()[:20].ravel()
        table = pd.DataFrame(noise.reshape(-1, 10), columns=list("abcdefghij"))
        files = {
            "array.npy": lambda path: np.save(path, noise),
            "array.pkl": lambda path: path.write_bytes(pickle.dumps({"coef": noise, "rows": hidden})),
            "floats.pkl": lambda path: path.write_bytes(pickle.dumps(noise[: _VALUES * 8 // 9].tolist())),
            "integers.pkl": lambda path: path.write_bytes(pickle.dumps(rng.integers(0, 2**31, 5_000_000).tolist())),
            "bytes.bin": lambda path: path.write_bytes(b"?" + noise.tobytes()),
            "table.csv": lambda path: pd.DataFrame(noise[:5_000_000].reshape(-1, 10)).to_csv(path),
            "packed.npz": lambda path: np.savez_compressed(path, noise.astype(np.float16).astype(np.float64)),
            "table.parquet": lambda path: table.to_parquet(path),
        }
        for name, write in files.items():
            path = Path(folder) / name
            write(path)
            command = [sys.executable, "-m", "benchmarks", "inspect", str(path), str(data)]
            print(f"{name:14} {path.stat().st_size / 1e6:6.0f} MB ", end="", flush=True)
            subprocess.run(command, check=True)
            path.unlink()


def _one(path: Path, data: Path) -> None:
    import seepage

    # What importing libraries takes is not counted.
    finder = seepage.inspection.Finder.of(data, ids="id")
    before = _memory()
    start, work = time.perf_counter(), time.process_time()
    verdict = finder.inspected(path).verdict
    taken, worked = time.perf_counter() - start, time.process_time() - work
    memory = _memory()
    print(
        f"{verdict:7} {worked:5.1f} s of a core, {taken:5.1f} s of the clock (goal {GOAL_SECONDS:g}); {memory:5.0f} MB "
        f"at most, {before:.0f} before (goal {GOAL_MEGABYTES:g})"
    )


def _memory() -> float:
    """Return the most memory that this process had, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))
