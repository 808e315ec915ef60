"""The limits of one file, and of each file of a folder."""

import json
import pickle

import pytest
from inspected import PEOPLE

from seepage.inspection import Finder, _budget


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("small.json", json.dumps({f"k{i}": {"a": i, "b": -i} for i in range(20_000)}).encode()),
        ("words.txt", b"one two three 4 5 6\n" * 200_000),
    ],
)
def test_the_part_that_was_not_reached_in_time_is_named(monkeypatch, name, content):
    monkeypatch.setattr(_budget, "_MOST_SECONDS", 0.3)
    (finding,) = Finder.of(PEOPLE).inspected_bytes(content, name).findings
    assert (finding.kind, finding.word) == ("unread", "review")
    assert finding.where.startswith(name)
    assert "not finished after 0.3 seconds" in finding.sentence()


def test_each_file_of_a_folder_has_limits_of_its_own(tmp_path):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(1.5) * 11_000)
    PEOPLE.to_csv(tmp_path / "b.csv")
    found = Finder.of(PEOPLE).inspected(tmp_path)
    assert found.verdict == "fail"
    assert found.findings[0].where.startswith("b.csv")
    assert Finder.of(PEOPLE).inspected(tmp_path / "a.pkl").verdict == "review"
