"""How many models a policy asks for: one for each person and each other value of a category."""

from seepage.cli.input._policies import PolicyFile
from seepage.cli.input._question import CommandQuestion
from seepage.cli.input._sources import FirstRows


def exact_refits(file: PolicyFile, question: CommandQuestion, head: FirstRows) -> dict[str, int]:
    """Return, for each category of a policy, how many exact refits its success rate takes, from the first rows."""
    columns = {*question.features, *question.target}
    found = {}
    for name in file.policy.success_rate:
        if name in columns:
            values = len(head.table.column(name).unique())
            # Each person's own value takes no refit.
            found[name] = head.rows * max(values - 1, 0)
    return found
