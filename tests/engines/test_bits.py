"""Numbers over files depend on the files alone, to the last bit: not on who adds them up, nor in which order."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from here import Here
from people import People, write_people
from sklearn.linear_model import Ridge

import seepage
from engines.jobs import bits
from seepage.engines import Local
from seepage.execution import OverRun, in_runs
from seepage.execution._engine import add_in_tree
from seepage.linear.files import _scores

FILES = 43


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    return write_people(tmp_path_factory.mktemp("people") / "data", rows=4_300, features=5, files=FILES)


@pytest.fixture(scope="module")
def alone(people: People, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return bits(people, Local(workers=1), tmp_path_factory.mktemp("alone") / "out")


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_the_number_of_workers_changes_no_bit(
    people: People, alone: dict[str, object], workers: int, tmp_path: Path
) -> None:
    assert len({len(in_runs(range(FILES), each)) for each in (1, workers)}) == 2
    assert bits(people, Local(workers=workers), tmp_path / "out") == alone


class Backwards(Here):
    """Does the last unit first."""

    workers = 4

    def map(self, function: Callable[[Any], Any], units: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for index in reversed(range(len(units))):
            yield from ((index, result) for _, result in super().map(function, [units[index]]))


def test_the_order_in_which_units_are_done_changes_no_bit(
    people: People, alone: dict[str, object], tmp_path: Path
) -> None:
    assert bits(people, Backwards(), tmp_path / "out") == alone


def test_a_job_that_is_continued_by_others_changes_no_bit(
    people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_scores, "_PIECE", 30)
    whole = bits(people, Backwards(), tmp_path / "out")
    for path in sorted((tmp_path / "out" / "examples").iterdir())[::3]:
        path.unlink()
    assert bits(people, Here(), tmp_path / "out", resume=True) == whole


def test_rows_in_memory_are_added_alike_by_any_number_of_workers(people: People) -> None:
    model = Ridge().fit(people.X, people.frame["outcome"])
    model.coef_ = model.coef_ + 1e-9
    found = []
    for count in (1, 3):
        engine = type("Several", (Here,), {"workers": count})()
        job = seepage.engines.Job(engine)
        found.append(seepage.measure(model, people.X, people.frame["outcome"], noise_scale=0.1, job=job))
    np.testing.assert_array_equal(*(each.examples.to_numpy() for each in found))
    assert found[0].joint_information_loss() == found[1].joint_information_loss()


def tree(values: list[float]) -> float:
    """Return the sum over a tree that is full on the left: an oracle of its own."""
    if len(values) == 1:
        return values[0]
    half = 1 << ((len(values) - 1).bit_length() - 1)
    return tree(values[:half]) + tree(values[half:])


def test_runs_of_any_length_are_branches_of_one_tree() -> None:
    random = np.random.default_rng(0)
    told = set()
    for count in (1, 2, 3, 7, 8, 9, 31, 100, 257, 1000):
        values = (random.normal(size=count) * 10.0 ** random.integers(-8, 8, count)).tolist()
        for workers in (1, 2, 3, 5, 17, 400):
            runs = in_runs(values, workers)
            assert [value for run in runs for value in run] == values
            assert len(runs) >= min(count, 8 * workers)
            sums = [(i, OverRun(float)(run)) for i, run in enumerate(runs)]
            order = random.permutation(len(sums))
            assert add_in_tree(len(sums), [sums[i] for i in order]) == tree(values)
            told.add(len(runs[0]))
        assert count < 7 or tree(values) != sum(values)
    assert len(told) > 4


@pytest.mark.parametrize("size", [1, 8, 64, 1000, 1024])
def test_what_waits_in_a_run_is_one_sum_for_each_doubling(size: int) -> None:
    alive: list[int] = [0, 0]

    class Sum:
        def __init__(self) -> None:
            alive[0] += 1
            alive[1] = max(alive)

        def __del__(self) -> None:
            alive[0] -= 1

        def __add__(self, other: "Sum") -> "Sum":
            return Sum()

    OverRun(lambda _: Sum())(range(size))
    # Besides what waits: a new one, and the one that two make.
    assert alive[1] <= (size - 1).bit_length() + 3
