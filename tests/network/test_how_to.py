"""The page for Opacus's users runs as it stands."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "opacus.md"


@pytest.mark.torch_heavy
@pytest.mark.usefixtures("data_home")
def test_opacus_example_with_three_more_lines(capsys):
    page = PAGE.read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert "".join(blocks).count("# seepage") == 3
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert "epsilon" in printed
    assert "Opacus's Poisson sampler" in printed
    examples = names["leak"].examples
    assert len(examples) == 3000
    assert (examples["dfil"] > 0).mean() > 0.9
