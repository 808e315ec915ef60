"""Every quantity is explained in three sentences, the same wherever it is asked about."""

import re

import pytest

from seepage.meaning import glossary, name_of

TERMS = glossary()


@pytest.mark.parametrize("name", TERMS)
def test_three_sentences(name: str) -> None:
    term = TERMS[name]
    for sentence in term.sentences:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert not re.search(r"\. [A-Z]", sentence)
    assert set(term.see) <= set(TERMS)
    assert name not in term.see
    assert bool(term.title) == bool(term.plain)


def test_what_people_ask_about_is_there() -> None:
    asked = {"eta", "dfil", "error_floor", "success_rate", "joint", "noise_scale", "remaining_variance", "epsilon"}
    assert asked | {"susceptibility"} <= set(TERMS)
    assert name_of("Error Floor") == "error_floor"
    assert name_of("nothing") is None


def test_a_name_means_one_thing() -> None:
    names = [each for name, term in TERMS.items() for each in (name, *term.also)]
    assert len(set(names)) == len(names)
    assert all(name_of(each) in TERMS for each in names)


def test_nobody_can_change_what_a_word_means() -> None:
    with pytest.raises(TypeError):
        TERMS["eta"] = TERMS["dfil"]
