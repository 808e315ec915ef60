"""The how-to pages that train networks, as they are."""

import pytest
from pages import ROOT, blocks, run


def test_opacus_example_with_three_more_lines():
    path = ROOT / "docs" / "how-to" / "opacus.md"
    code = "".join(text for language, text in blocks(path) if language == "python")
    assert code.count("# seepage") == 3
    page = run(path)
    assert "epsilon" in page.printed
    assert "Opacus's Poisson sampler" in page.printed
    examples = page.names["accountant"].leakage().examples
    assert len(examples) == 1797
    assert (examples["dfil"] > 0).mean() > 0.9
    assert "missed: Everyone's label" in page.printed
    assert page.printed.rstrip().endswith("The policy is met.")


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_the_page_on_causal_language_models_names_everybody(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run(ROOT / "docs" / "how-to" / "causal-language-model.md").names
    for leak in (names["leak"], names["accountant"].leakage()):
        assert len(leak.examples) == 48
        assert (leak.examples["dfil"] > 0).all()
