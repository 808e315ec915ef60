"""Every quantity is explained in three sentences."""

import re

import pytest

from seepage.cli._words import MEANINGS, OTHER_NAMES, meaning_of


@pytest.mark.parametrize("name", MEANINGS)
def test_three_sentences(name: str) -> None:
    meaning = MEANINGS[name]
    for sentence in meaning.sentences:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert not re.search(r"\. [A-Z]", sentence)
    assert set(meaning.see) <= set(MEANINGS)
    assert name not in meaning.see


def test_what_people_ask_about_is_there() -> None:
    asked = {"eta", "dfil", "error_floor", "success_rate", "joint", "noise_scale", "variance_left", "epsilon"}
    assert asked | {"susceptibility"} <= set(MEANINGS)
    assert set(OTHER_NAMES.values()) <= set(MEANINGS)
    assert meaning_of("Error Floor")[0] == "error_floor"
    assert meaning_of("nothing") is None
