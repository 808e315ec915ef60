"""What H21 states, and what we found."""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._criterion import Criterion, Interval, Numbers, of, printed, rank_correlations
from experiments._statement import Row

TITLE = "H21: Hannun, Guo, van der Maaten (2021)"
_KINDS = ("linear", "logistic")
_MODELS = [f"{data} {kind}" for data in ("mnist", "cifar") for kind in _KINDS]


def cell(row: str) -> Callable[[Numbers], str]:
    """Return one line of table 1 as we find it."""

    def found(numbers: Numbers) -> str:
        here = of(numbers, "rows", row)
        return f"{here['mean']:.4f} ± {here['sd']:.4f}, {here['accuracy']:.2f}%"

    return found


def cells(row: str, *names: str) -> tuple[Criterion, ...]:
    """Ask for the printed digits; of accuracies, where a solver stops moves an image or two, to one unit."""
    from experiments.h21_table_1 import PAPER

    paper = dict(zip(("mean", "sd", "accuracy"), PAPER[row], strict=True))
    units = {"mean": 0.001, "sd": 0.001} if row.startswith("mnist") else {"mean": 0.01, "sd": 0.01}
    titles = {"mean": "mean of eta", "sd": "its deviation", "accuracy": "accuracy"}
    return tuple(
        printed(
            titles[name], lambda n, name=name: of(n, "rows", row, name), paper[name], {**units, "accuracy": 0.2}[name]
        )
        for name in names
    )


def cars(numbers: Numbers) -> str:
    """Return the mean that differs, and two other statistics."""
    each = of(numbers, "iterations", "cifar linear")
    return (
        f"{of(numbers, 'rows', 'cifar linear', 'mean'):.4f}; the mean over cars is {each['mean_by_class'][1]:.4f}, the "
        f"root mean square {each['root_mean_square']:.4f}"
    )


def overlap(numbers: Numbers) -> str:
    """Count the images that both models expose most."""
    mnist, cifar = (of(numbers, f"{name} shared among the 100 largest") for name in ("mnist", "cifar"))
    return f"{mnist} and {cifar}"


def classes(numbers: Numbers) -> str:
    """Return the means of the classes."""
    pairs = [list(of(numbers, name, "mean_by_class").values()) for name in _MODELS]
    texts = [f"{a:.4f} and {b:.4f}" if a < 0.1 else f"{a:.3f} and {b:.3f}" for a, b in pairs]
    return f"means, linear then logistic: digits 0 and 1 {texts[0]}; {texts[1]}; planes and cars {texts[2]}; {texts[3]}"


def apart(name: str, larger: str, smaller: str) -> Criterion:
    """Compare the means of two classes, linear and logistic."""

    def read(numbers: Numbers) -> list[Interval]:
        means = [of(numbers, f"{name} {kind}", "mean_by_class") for kind in _KINDS]
        return [Interval.exactly(of(mean, larger) - of(mean, smaller)) for mean in means]

    return Criterion(f"mean of {larger} minus mean of {smaller}, both models,", read, above=0.0)


def ends(numbers: Numbers) -> str:
    """Return who is at the low end."""
    texts = []
    for name in _MODELS:
        low = of(numbers, name, "smallest_classes")
        texts.append(f"{name}: {sum(each in ('1', 'airplane') for each in low)} of {len(low)}")
    return f"ones and planes among the smallest eta, {', '.join(texts)}"


def at_the_low_end(data: str, name: str) -> Criterion:
    """Count a class among the eight smallest of both models."""

    def read(numbers: Numbers) -> Interval:
        found = [each for kind in _KINDS for each in of(numbers, f"{data} {kind}", "smallest_classes")]
        return Interval.exactly(found.count(name) / len(found))

    return Criterion(f"share of {name}s among the eight smallest eta of both models", read, above=0.5)


def loss_and_eta(numbers: Numbers) -> str:
    """Say how eta goes with two simpler scores."""
    loss, gradient = of(numbers, "loss"), of(numbers, "gradient norm")
    ranks = loss["rank_of_score"]
    low = ranks["largest among the tenth with the lowest eta"]
    high = ranks["smallest and largest among the tenth with the highest"]
    return (
        f"rank correlation {loss['spearman']:.2f} with the loss, {gradient['spearman']:.2f} with the gradient norm; "
        f"the tenth of images with the lowest eta has losses up to rank {low:.0%}, "
        f"{of(loss, 'share of the low tenth above the median'):.0%} of it above the median; the tenth with the highest "
        f"from rank {high[0]:.0%} to {high[1]:.0%}"
    )


def of_samples(what: str, score: str, key: str, **side: float) -> Criterion:
    """Ask of samples of 2,000 images."""
    return Criterion(what, lambda n: Interval.middle(of(n, score, "samples", key)), **side)


def deviations(numbers: Numbers, at: int) -> dict[str, float]:
    """Return deviation over mean after so many iterations."""
    return {name: of(numbers, "iterations", name, "sd")[at] / each["mean"][at] for name, each in _runs(numbers)}


def _runs(numbers: Numbers) -> list[tuple[str, Any]]:
    return [(name, of(numbers, "iterations", name)) for name in _MODELS]


def equal_soon(numbers: Numbers) -> str:
    """Say how equal eta is."""
    cells = (
        f"{name} {', '.join(f'{deviations(numbers, at)[name]:.2g}' for at in (1, 2, 5))}" for name, _ in _runs(numbers)
    )
    return f"deviation over mean after 1, 2 and 5 iterations: {'; '.join(cells)}"


def moved(numbers: Numbers, part: str) -> list[float]:
    """Return by what equalizing moves the mean (relative) or the accuracy (points)."""
    pairs = [(of(numbers, "rows", name)[part], of(numbers, "rows", f"{name}, equalized")[part]) for name in _MODELS]
    return [after / before - 1 if part == "mean" else after - before for before, after in pairs]


def insensitive(numbers: Numbers) -> str:
    """Return means and accuracies before and after equalizing."""
    means = ", ".join(f"{each:+.0%}" for each in moved(numbers, "mean"))
    points = ", ".join(f"{each:+.2f}" for each in moved(numbers, "accuracy"))
    return f"mean eta {means}; accuracy {points} points (in the order of table 1)"


def boxes(numbers: Numbers) -> str:
    """Return the rank correlations of two attacks with mean eta."""
    ranks = of(numbers, "rank_correlation_with_mean_eta")
    error = of(numbers, "rank_correlation_of_black_box_with_test_error")
    return (
        f"rank correlation with mean eta {ranks['white-box']:.2f} and {ranks['black-box']:.2f} over "
        f"{len(of(numbers, 'settings'))} settings; black-box with the test error {error:.2f}"
    )


def closer(first: tuple[str, str], second: tuple[str, str]) -> Callable[[Numbers], Interval]:
    """Compare the sizes of two rank correlations, settings drawn anew."""

    def read(numbers: Numbers) -> Interval:
        settings = of(numbers, "settings")
        table = {name: np.array([each[name] for each in settings]) for name in {*first, *second}}

        def difference(rows: np.ndarray) -> np.ndarray:
            a, b = (np.abs(rank_correlations(table[x][rows], table[y][rows])) for x, y in (first, second))
            return a - b

        return Interval.resampled(difference, len(settings))

    return read


def thousandth(numbers: Numbers) -> str:
    """Say what a mean eta of 1e-3 costs."""
    each = of(numbers, "mean_eta_of_a_thousandth")
    cells = [
        f"λ = {one['penalty']:g}: {one['test_error_without_noise']:.3g} → {one['test_error']:.3g} (white-box "
        f"{one['white-box']:.2f}, black-box {one['black-box']:.2f})"
        for one in each
    ]
    return (
        f"test error without noise → with it, {'; '.join(cells)}; the most frequent value has "
        f"{of(numbers, 'prior'):.2f}"
    )


def advantage(kind: str) -> Criterion:
    """Compare an attack with guessing the most frequent value, for every penalty."""

    def read(numbers: Numbers) -> list[Interval]:
        root = of(numbers, "trials") ** 0.5
        return [
            Interval.around(one[kind] - of(numbers, "prior"), 1.96 * one[f"{kind} sd"] / root)
            for one in of(numbers, "mean_eta_of_a_thousandth")
        ]

    return Criterion(f"{kind} accuracy minus the share of the most frequent value, every λ,", read, below=0.0)


def cost(numbers: Numbers) -> list[Interval]:
    """Return what the noise multiplies the test error by, over penalties."""
    root = of(numbers, "trials") ** 0.5
    return [
        Interval.around(
            one["test_error"] / one["test_error_without_noise"],
            1.96 * one["test_error_sd"] / root / one["test_error_without_noise"],
        )
        for one in of(numbers, "mean_eta_of_a_thousandth")
    ]


def flatter(name: str, dropped: str) -> Callable[[Numbers], str]:
    """Return the range of the attack over deciles along the iterations."""

    def found(numbers: Numbers) -> str:
        ranges = of(numbers, f"{name}, linearized, {dropped} level dropped", "range_over_deciles")
        exact = of(numbers, f"{name}, exact, {dropped} level dropped", "range_over_deciles")
        steps = " → ".join(f"{ranges[step]:.2f}" for step in ("0", "2", "10"))
        return f"range over deciles {steps}; equalizing exact distances {exact['0']:.2f} → {exact['10']:.2f}"

    return found


def flat(name: str, dropped: str) -> tuple[Criterion, ...]:
    """Compare the range after two and ten iterations with that before; its ends are means over draws."""

    def after(step: str) -> Callable[[Numbers], Interval]:
        def read(numbers: Numbers) -> Interval:
            each = of(numbers, f"{name}, linearized, {dropped} level dropped")
            start = of(each, "range_over_deciles", "0")
            error = max(of(each, "deviation_by_decile", step)) / of(numbers, "trials") ** 0.5
            return Interval.around(of(each, "range_over_deciles", step) / start, 1.96 * 2**0.5 * error / start)

        return read

    return (
        Criterion("range after two iterations over that before", after("2"), below=0.5),
        Criterion("after ten", after("10"), below=0.25),
    )


def composed(numbers: Numbers) -> str:
    """Return what equal releases give away together."""
    found = of(numbers, "eta_over_that_of_one")
    several = {count: each for count, each in found.items() if count != "1"}
    return ", ".join(f"{count} releases: {each['most']:.4f} times the eta of one" for count, each in several.items())


def of_four(power: int) -> Callable[[Numbers], Interval]:
    """Return eta of four equal releases over that of one, or its square, over people."""
    return lambda n: Interval(*(of(n, "eta_over_that_of_one", "4", end) ** power for end in ("least", "most")))


ROWS = [
    *(
        Row("table 1", title, paper, "h21_table_1", cell(row), cells(row, "mean", "sd", "accuracy"))
        for row, title, paper in (
            ("mnist linear", "MNIST, linear: mean ± sd of eta, test accuracy", "0.040 ± 0.014, 100%"),
            ("mnist linear, equalized", "the same, IRFIL", "0.047 ± 0.000, 99.8%"),
            ("mnist logistic", "MNIST, logistic", "0.027 ± 0.012, 99.8%"),
            ("mnist logistic, equalized", "the same, IRFIL", "0.024 ± 0.000, 99.7%"),
        )
    ),
    Row("table 1", "CIFAR-10, linear: mean of eta", "0.26", "h21_table_1", cars, cells("cifar linear", "mean")),
    Row(
        "table 1",
        "CIFAR-10, linear: sd of eta, test accuracy",
        "± 0.08, 79.8%",
        "h21_table_1",
        cell("cifar linear"),
        cells("cifar linear", "sd", "accuracy"),
    ),
    *(
        Row("table 1", title, paper, "h21_table_1", cell(row), cells(row, "mean", "sd", "accuracy"))
        for row, title, paper in (
            ("cifar linear, equalized", "the same, IRFIL", "0.30 ± 0.00, 80.7%"),
            ("cifar logistic", "CIFAR-10, logistic", "0.32 ± 0.15, 79.9%"),
            ("cifar logistic, equalized", "the same, IRFIL", "0.25 ± 0.00, 79.1%"),
        )
    ),
    Row(
        "6.2",
        "of the 100 largest eta, both models share",
        "24 (MNIST), 34 (CIFAR-10)",
        "h21_figure_2_3",
        overlap,
        (
            printed("shared on MNIST", lambda n: of(n, "mnist shared among the 100 largest"), 24, 1),
            printed("on CIFAR-10", lambda n: of(n, "cifar shared among the 100 largest"), 34, 1),
        ),
    ),
    Row(
        "figure 2",
        "digit 0 and cars have the larger eta",
        "in words",
        "h21_figure_2_3",
        classes,
        (apart("mnist", "0", "1"), apart("cifar", "automobile", "airplane")),
    ),
    Row(
        "figure 3",
        "the images with the smallest eta are typical: ones, and small planes",
        "in words",
        "h21_figure_2_3",
        ends,
        (at_the_low_end("mnist", "1"), at_the_low_end("cifar", "airplane")),
        remark="that the largest look unusual is for eyes to say; the pictures are on [one page](linear.md)",
    ),
    Row(
        "figure 4",
        "eta goes with loss and gradient norm",
        "in words",
        "h21_figure_4",
        loss_and_eta,
        (
            of_samples("rank correlation of eta with the loss", "loss", "spearman", above=0.0),
            of_samples("with the gradient norm", "gradient norm", "spearman", above=0.0),
        ),
    ),
    Row(
        "figure 4",
        "a high eta exists over the whole range of both",
        "in words",
        "h21_figure_4",
        None,
        (
            of_samples(
                "lowest rank of the loss in the tenth with the highest eta",
                "loss",
                "lowest rank of the high tenth",
                below=0.1,
            ),
            of_samples("of the gradient norm", "gradient norm", "lowest rank of the high tenth", below=0.1),
        ),
    ),
    Row(
        "figure 4",
        "a low eta invariably implies a low loss",
        "in words",
        "h21_figure_4",
        None,
        (
            of_samples(
                "highest rank of the loss in the tenth with the lowest eta",
                "loss",
                "highest rank of the low tenth",
                below=0.5,
            ),
        ),
    ),
    Row(
        "figure 5",
        "eta is equal after only a few iterations",
        "in words",
        "h21_table_1",
        equal_soon,
        (
            Criterion(
                "deviation over mean after five iterations, every model,",
                lambda n: [Interval.exactly(each) for each in deviations(n, 5).values()],
                below=0.05,
            ),
        ),
    ),
    Row(
        "6.3",
        "neither mean eta nor accuracy is especially sensitive to IRFIL",
        "in words",
        "h21_table_1",
        insensitive,
        (
            Criterion(
                "change of accuracy in points, every model,",
                lambda n: [Interval.exactly(each) for each in moved(n, "accuracy")],
                above=-1.0,
                below=1.0,
            ),
            Criterion(
                "relative change of mean eta, every model,",
                lambda n: [Interval.exactly(each) for each in moved(n, "mean")],
                above=-0.1,
                below=0.1,
            ),
        ),
    ),
    Row(
        "figure 6",
        "white-box accuracy follows mean eta more closely than black-box accuracy, which tracks the test error",
        "in words",
        "h21_figure_6",
        boxes,
        (
            Criterion(
                "rank correlation with mean eta, white-box minus black-box,",
                closer(("mean_eta", "white-box"), ("mean_eta", "black-box")),
                above=0.0,
            ),
            Criterion(
                "of black-box accuracy, with the test error minus with mean eta,",
                closer(("test_error", "black-box"), ("mean_eta", "black-box")),
                above=0.0,
            ),
        ),
    ),
    Row(
        "6.4",
        "a mean eta of about 1e-3 protects against both attackers",
        "in words",
        "h21_figure_6",
        thousandth,
        (advantage("white-box"), advantage("black-box")),
    ),
    Row(
        "6.4",
        "and does so with little loss",
        "in words",
        "h21_figure_6",
        None,
        (Criterion("test error over that without noise, every λ,", cost, below=1.1),),
        remark="cost against protection is on [one page](linear.md)",
    ),
    *(
        Row(where, statement, "in words", "h21_figure_7", flatter(name, dropped), flat(name, dropped))
        for where, statement, name, dropped in (
            (
                "figure 7a, b",
                "IWPC, first level dropped (as in the code): much flatter after two iterations, nearly constant after "
                "ten",
                "iwpc",
                "first",
            ),
            ("figure 7a, b", "IWPC, last level dropped (as in the text): the same", "iwpc", "last"),
            ("figure 7c, d", "Adult, last level dropped (text and code): the same", "adult", "last"),
        )
    ),
    Row(
        "composition",
        "k equal releases have k times the eta of one",
        "k eta",
        "h21_composition",
        composed,
        (
            Criterion("four releases, eta the norm of the information (early version),", of_four(2), 3.999, 4.001),
            Criterion("eta its root (later version)", of_four(1), 3.999, 4.001),
        ),
        remark="in the later version k eta is a bound, and the root of k is exact",
    ),
]
