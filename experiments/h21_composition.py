"""H21, composition: what several releases of one model give away together (MNIST, linear regression)."""

import matplotlib.pyplot as plt
import numpy as np

import seepage
from experiments._prepared import images
from experiments._result import Result
from experiments._style import BLUE, ORANGE
from experiments._work import Work

VERSION = 1
RELEASES = (1, 2, 4)
PEOPLE = 1_000


def run(*, quick: bool, work: Work) -> Result:
    """Compose equal releases; it is quick as it is."""
    del quick, work
    data = images("mnist")
    X, labels = data.train[:PEOPLE], data.labels("linear")[:PEOPLE]
    leak = seepage.measure(data.model("linear").fit(X, labels), X, labels, noise_scale=1.0)
    one = leak.examples["eta"].to_numpy()
    ratios = {}
    for count in RELEASES:
        found = seepage.compose({f"release {i}": leak for i in range(count)}) if count > 1 else leak
        ratio = found.examples["eta"].to_numpy() / one
        ratios[str(count)] = {"least": ratio.min(), "most": ratio.max()}
    figure, panel = plt.subplots(figsize=(4.0, 2.8))
    panel.plot(
        RELEASES, [ratios[str(k)]["most"] for k in RELEASES], "o", color=BLUE, label="eta of all, over that of one"
    )
    panel.plot(RELEASES, RELEASES, color=ORANGE, label="k")
    panel.plot(RELEASES, np.sqrt(RELEASES), color=BLUE, lw=0.9, label="root of k")
    panel.set_xlabel("equal releases k")
    figure.legend(loc="outside lower center", ncols=3)
    lines = [
        f"{count} releases: eta over that of one {each['least']:.6f} to {each['most']:.6f}"
        for count, each in ratios.items()
    ]
    return Result({"": figure}, {"people": PEOPLE, "eta_over_that_of_one": ratios}, lines)
