"""The how-to page on Opacus, as it stands, on the digits of scikit-learn."""

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
