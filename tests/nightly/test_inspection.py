"""The whole corpus of files: every pair of a format and a model."""

from collections import Counter

import pytest
from inspected import CLASSES, OBJECT_PAIRS, OBJECTS, PEOPLE, TABLE_PAIRS, cases, content

from seepage.inspection import Finder


@pytest.fixture(scope="module")
def finder():
    return Finder.of(PEOPLE, ids="id")


@pytest.mark.parametrize("name", [*CLASSES, "table"])
def test_planted_people_are_found_and_clean_files_are_not_flagged(finder, name):
    pairs = [each for each in (*OBJECT_PAIRS, *TABLE_PAIRS) if each[0] == name]
    seen, missed = Counter(), Counter()
    for seed in range(3):
        for _, form, kind, place in cases(pairs, seed=1000 * seed):
            inspection = finder.inspected_bytes(content(name, form, kind, place), f"x.{form}")
            found = {each.kind for each in inspection.findings}
            wanted = {"clean": {"rows", "scaled", "ids"}, "ids": {"ids"}}.get(kind, {"rows", "scaled"})
            seen[kind] += 1
            missed[kind] += bool(found & wanted) == (kind == "clean")
    assert seen["rows"] >= len(OBJECTS)
    assert missed["rows"] == missed["ids"] == missed["clean"] == 0
    assert missed["scaled"] <= 0.05 * seen["scaled"]
    assert missed["sorted"] <= 0.05 * seen["sorted"]
