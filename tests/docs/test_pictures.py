"""One picture and one page of real data, rendered by a browser; all others are at night."""

import pytest
from pages import ROOT
from rendered import check_page, check_picture, draw


@pytest.mark.browser
def test_a_picture_is_drawn_and_a_page_rendered(tmp_path, data_home):
    draw(tmp_path, data_home, "attributes_iwpc", "report_iwpc_internal")
    check_picture(tmp_path / "attributes_iwpc.png")
    check_page(tmp_path / "report_iwpc_internal.html")


def test_pictures_of_the_documentation_are_small_and_current():
    for name in ("distribution_adult", "attributes_iwpc", "report_adult_internal"):
        assert (ROOT / "docs" / "pictures" / f"{name}.png").stat().st_size < 200_000
