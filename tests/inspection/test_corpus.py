"""People planted in files of every format are found, and clean files are not flagged: a covering part of the corpus.

`tests/nightly/test_inspection.py` runs all of it.
"""

import pytest
from inspected import CLASSES, OBJECTS, PEOPLE, TABLE_PAIRS, cases, content

import seepage

# Every class and every format, each with some of the others: one in five pairs, in an order that leaves nobody out.
_FORMS, _NAMES = list(OBJECTS), list(CLASSES)
PAIRS = [(_NAMES[i % len(_NAMES)], _FORMS[(i * 3) % len(_FORMS)]) for i in range(32)] + TABLE_PAIRS


@pytest.fixture(scope="module")
def finder():
    from seepage.inspection._inspect import Finder
    from seepage.inspection._people import PeopleColumns

    return Finder(PeopleColumns.of(PEOPLE, "id"))


def _kinds(finder, name, form, kind, seed):
    found = finder.inspected_bytes(content(name, form, kind, seed), f"model.{form}")
    return {each.kind for each in found.findings}


def test_there_are_enough_pairs():
    assert len(set(PAIRS)) >= 40
    assert {name for name, _ in PAIRS} == {*CLASSES, "table"}


@pytest.mark.parametrize(("name", "form"), PAIRS)
def test_planted_people_are_found_and_others_are_not(finder, name, form):
    for _, _, kind, seed in cases([(name, form)], seed=PAIRS.index((name, form))):
        found = _kinds(finder, name, form, kind, seed)
        if kind == "clean":
            assert not found & {"rows", "scaled", "ids"}
            assert "unread" not in found
        else:
            assert found & ({"ids"} if kind == "ids" else {"rows", "scaled"}), kind


def test_values_of_other_people_are_nobodys(tmp_path):
    import numpy as np

    rng = np.random.default_rng(99)
    others = PEOPLE[["bmi", "pressure", "glucose", "lipids"]].to_numpy() + rng.normal(size=(300, 4)).round(2)
    np.save(tmp_path / "others.npy", others[:200])
    assert seepage.inspect(tmp_path / "others.npy", PEOPLE).verdict == "pass"
