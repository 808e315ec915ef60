"""Every picture and both editions, drawn from the real data and rendered by a browser."""

import pytest
from rendered import check_page, check_picture, draw

pytestmark = pytest.mark.browser
PICTURES = (
    *("distribution_adult", "worst_adult", "attributes_adult", "attributes_iwpc", "groups_adult", "groups_iwpc"),
    *("floor_adult", "gallery_mnist", "attack_iwpc", "frontier_iwpc"),
)
REPORTS = [f"report_{name}_{edition}" for name in ("adult", "iwpc") for edition in ("internal", "publishable")]


@pytest.fixture(scope="module")
def output(tmp_path_factory, data_home):
    return draw(tmp_path_factory.mktemp("pictures"), data_home, "all")


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_drawn(output, name):
    check_picture(output / f"{name}.png")


@pytest.mark.parametrize("name", REPORTS)
def test_both_editions_are_rendered(output, name):
    check_page(output / f"{name}.html")


def test_the_publishable_edition_of_real_data_names_nobody(output):
    page = (output / "report_adult_publishable.html").read_text(encoding="utf-8")
    assert "pseudonym" not in page
    assert "largest" not in page
