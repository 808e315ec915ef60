"""What H21 states, and what we found."""

from collections.abc import Callable

from experiments._statement import Found, Numbers, Row, confirmed, of

TITLE = "H21: Hannun, Guo, van der Maaten (2021)"
_KINDS = ("linear", "logistic")


def cell(row: str, test_images: int) -> Callable[[Numbers], Found]:
    """Compare one cell of table 1, to the digits that are printed."""

    def found(numbers: Numbers) -> Found:
        here, paper = of(numbers, "rows", row), of(numbers, "paper", row)
        digits = 3 if row.startswith("mnist") else 2
        text = f"{here['mean']:.4f} ± {here['sd']:.4f}, {here['accuracy']:.2f}%"
        same = {name: abs(here[name] - paper[name]) <= 0.5001 * 10**-digits for name in ("mean", "sd")}
        # Beyond rounding of what is printed.
        apart = abs(here["accuracy"] - paper["accuracy"])
        images = round(apart / 100 * test_images) if apart > 0.0501 else 0
        if not same["mean"]:
            each = of(numbers, "iterations", row.removesuffix(", equalized"))
            extra = (
                f"; {each['mean_by_class'][1]:.4f} is the mean over cars, {each['root_mean_square']:.4f} the root mean "
                "square"
            )
            return text + extra, "confirmed with a correction: all cells but this mean agree"
        if images:
            return text, f"confirmed: but for {images} of {test_images:,} test images"
        return confirmed(text, all(same.values()))

    return found


def overlap(numbers: Numbers) -> Found:
    """Count the images that both models expose most."""
    mnist, cifar = (of(numbers, f"{name} shared among the 100 largest") for name in ("mnist", "cifar"))
    return confirmed(f"{mnist} and {cifar}", (mnist, cifar) == (24, 34))


def classes(numbers: Numbers) -> Found:
    """Compare the means of the classes."""
    pairs = [list(of(numbers, f"{d} {k}", "mean_by_class").values()) for d in ("mnist", "cifar") for k in _KINDS]
    holds = all(a > b for a, b in pairs[:2]) and all(a < b for a, b in pairs[2:])
    texts = [f"{a:.4f} and {b:.4f}" if a < 0.1 else f"{a:.3f} and {b:.3f}" for a, b in pairs]
    return confirmed(
        f"means, linear then logistic: digits 0 and 1 {texts[0]}; {texts[1]}; planes and cars {texts[2]}; {texts[3]}",
        holds,
    )


def loss_and_eta(numbers: Numbers) -> Found:
    """Say how eta goes with two simpler scores."""
    loss, gradient = of(numbers, "loss"), of(numbers, "gradient norm")
    ranks = loss["rank_of_score"]
    low = ranks["largest among the tenth with the lowest eta"]
    high = ranks["smallest and largest among the tenth with the highest"]
    text = (
        f"rank correlation {loss['spearman']:.2f} with the loss, {gradient['spearman']:.2f} with the gradient norm; "
        f"the tenth of images with the lowest eta has losses up to rank {low:.0%}, the tenth with the highest from "
        f"rank {high[0]:.0%} to {high[1]:.0%}"
    )
    if low < 0.9:
        return text, "confirmed: nobody in that tenth is among the highest losses"
    return text, "not confirmed"


def equal_soon(numbers: Numbers) -> Found:
    """Count the iterations until eta is equal."""
    each = of(numbers, "iterations")
    needed = {}
    for name, run in each.items():
        spread = [sd / mean for sd, mean in zip(run["sd"], run["mean"], strict=True)]
        needed[name] = next(i for i, value in enumerate(spread) if value < 0.01)
    text = ", ".join(f"{name} {count}" for name, count in needed.items())
    return confirmed(f"iterations until the deviation is below 1% of the mean: {text}", max(needed.values()) <= 8)


def insensitive(numbers: Numbers) -> Found:
    """Compare means and accuracies before and after equalizing."""
    rows = of(numbers, "rows")
    pairs = [(rows[name], rows[f"{name}, equalized"]) for name in rows if not name.endswith("equalized")]
    moved = [f"{after['mean'] / before['mean'] - 1:+.0%}" for before, after in pairs]
    lost = [f"{after['accuracy'] - before['accuracy']:+.2f}" for before, after in pairs]
    return (
        f"mean eta {', '.join(moved)}; accuracy {', '.join(lost)} points (in the order of table 1)",
        "confirmed with a correction: accuracy hardly moves, the mean by up to a fifth",
    )


def boxes(numbers: Numbers) -> Found:
    """Compare the rank correlations of two attacks with mean eta."""
    ranks = of(numbers, "rank_correlation_with_mean_eta")
    error = of(numbers, "rank_correlation_of_black_box_with_test_error")
    text = (
        f"rank correlation with mean eta {ranks['white-box']:.2f} and {ranks['black-box']:.2f} over "
        f"{len(of(numbers, 'settings'))} settings; black-box with the test error {error:.2f}"
    )
    return confirmed(text, ranks["white-box"] > ranks["black-box"] and abs(error) > abs(ranks["black-box"]))


def thousandth(numbers: Numbers) -> Found:
    """Say what a mean eta of 1e-3 costs."""
    each = of(numbers, "mean_eta_of_a_thousandth")
    cells = [
        f"λ = {one['penalty']:g}: {one['test_error_without_noise']:.3g} → {one['test_error']:.3g} (white-box "
        f"{one['white-box']:.2f}, black-box {one['black-box']:.2f})"
        for one in each
    ]
    cheap = [one["test_error"] < 1.5 * one["test_error_without_noise"] for one in each]
    verdict = "confirmed" if all(cheap) else "not confirmed: it protects, at a large cost unless λ is about 1"
    return f"test error without noise → with it, {'; '.join(cells)}", verdict


def flatter(name: str) -> Callable[[Numbers], Found]:
    """Compare the range of the attack over deciles along the iterations."""

    def found(numbers: Numbers) -> Found:
        ways = {d: of(numbers, f"{name}, linearized, {d} level dropped") for d in ("first", "last")}
        exact = of(numbers, f"{name}, exact, first level dropped")["range_over_deciles"]
        cells = [
            f"{d} level dropped " + " → ".join(f"{way['range_over_deciles'][step]:.2f}" for step in ("0", "2", "10"))
            for d, way in ways.items()
        ]
        flat = all(way["range_over_deciles"]["10"] < 0.25 * way["range_over_deciles"]["0"] for way in ways.values())
        text = (
            f"range over deciles, {'; '.join(cells)}; equalizing exact distances {exact['0']:.2f} → {exact['10']:.2f}"
        )
        return text, "confirmed" if flat else "confirmed with a correction: only if the first level is dropped"

    return found


ROWS = [
    *(
        Row("table 1", title, printed, "h21_table_1", cell(row, images))
        for row, title, printed, images in (
            ("mnist linear", "MNIST, linear: mean ± sd of eta, test accuracy", "0.040 ± 0.014, 100%", 2115),
            ("mnist linear, equalized", "the same, IRFIL", "0.047 ± 0.000, 99.8%", 2115),
            ("mnist logistic", "MNIST, logistic", "0.027 ± 0.012, 99.8%", 2115),
            ("mnist logistic, equalized", "the same, IRFIL", "0.024 ± 0.000, 99.7%", 2115),
            ("cifar linear", "CIFAR-10, linear", "0.26 ± 0.08, 79.8%", 2000),
            ("cifar linear, equalized", "the same, IRFIL", "0.30 ± 0.00, 80.7%", 2000),
            ("cifar logistic", "CIFAR-10, logistic", "0.32 ± 0.15, 79.9%", 2000),
            ("cifar logistic, equalized", "the same, IRFIL", "0.25 ± 0.00, 79.1%", 2000),
        )
    ),
    Row("6.2", "of the 100 largest eta, both models share", "24 (MNIST), 34 (CIFAR-10)", "h21_figure_2_3", overlap),
    Row("figure 2", "digit 0 and cars have the larger eta", "in words", "h21_figure_2_3", classes),
    Row(
        "figure 4",
        "eta goes with loss and gradient norm; a low eta invariably implies a low loss",
        "in words",
        "h21_figure_4",
        loss_and_eta,
    ),
    Row("figure 5", "eta is equal after only a few iterations", "in words", "h21_table_1", equal_soon),
    Row("6.3", "neither mean eta nor accuracy is sensitive to IRFIL", "in words", "h21_table_1", insensitive),
    Row(
        "figure 6",
        "white-box accuracy follows mean eta more closely than black-box accuracy, which tracks the test error",
        "in words",
        "h21_figure_6",
        boxes,
    ),
    Row(
        "6.4",
        "a mean eta of about 1e-3 protects against both attackers with little loss",
        "in words",
        "h21_figure_6",
        thousandth,
    ),
    Row(
        "figure 7a, b",
        "IWPC: flatter after two iterations, nearly constant after ten",
        "in words",
        "h21_figure_7",
        flatter("iwpc"),
    ),
    Row("figure 7c, d", "Adult: the same", "in words", "h21_figure_7", flatter("adult")),
]
