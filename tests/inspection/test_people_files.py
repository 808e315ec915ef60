"""A drawn part of the corpus: files of 50 formats that hold people fail, and those of other people do not."""

import pytest
from inspected import PEOPLE
from people_files import FORMATS, OTHERS, WAYS, content, drawn

from seepage.inspection import Finder

pytest.importorskip("h5py", reason="h5py is not installed")
_COUNT = 75


@pytest.fixture(scope="module")
def finder():
    return Finder.of(PEOPLE, ids="id")


def test_the_draw_holds_every_format_and_every_way():
    assert {form for form, _ in drawn(_COUNT)} == {*FORMATS}
    assert {way for _, way in drawn(_COUNT)} == {*WAYS}


@pytest.mark.parametrize(("form", "way"), drawn(_COUNT), ids=str)
def test_files_of_people_fail(finder, form, way):
    inspection = finder.inspected_bytes(content(form, way), f"file.{form}")
    assert inspection.verdict == "fail"
    assert max(finding.people for finding in inspection.findings) >= 18


@pytest.mark.parametrize(("form", "way"), drawn(_COUNT, seed=1), ids=str)
def test_files_of_other_people_do_not_fail(finder, form, way):
    assert finder.inspected_bytes(content(form, way, OTHERS), f"file.{form}").verdict != "fail"
