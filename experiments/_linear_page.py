"""The tables of the page about linear models, from the files of results."""

import json
from pathlib import Path

from experiments._statement import Numbers


def _read(folder: Path, name: str) -> Numbers:
    found: Numbers = json.loads((folder / f"{name}.json").read_text())
    return found


def table_1(folder: Path) -> str:
    """Return H21's table 1 beside ours."""
    numbers = _read(folder, "h21_table_1")
    parts = [
        "| | paper | here | means by class, root mean square |",
        "|---|---|---|---|",
    ]
    for row, here in numbers["rows"].items():
        paper, each = numbers["paper"][row], numbers["iterations"].get(row)
        digits = 3 if row.startswith("mnist") else 2
        parts.append(
            f"| {row.replace('mnist', 'MNIST 0/1').replace('cifar', 'CIFAR-10 plane/car')} "
            f"| {paper['mean']:.{digits}f} ± {paper['sd']:.{digits}f}, {paper['accuracy']:.1f}% "
            f"| {here['mean']:.4f} ± {here['sd']:.4f}, {here['accuracy']:.2f}% | "
            + (
                ""
                if each is None
                else ", ".join(f"{v:.4f}" for v in (*each["mean_by_class"], each["root_mean_square"]))
            )
            + " |"
        )
    return "\n".join(parts)


def shared(folder: Path) -> str:
    """Return how many of the most exposed images two models share."""
    numbers = _read(folder, "h21_figure_2_3")
    mnist, cifar = (numbers[f"{name} shared among the 100 largest"] for name in ("mnist", "cifar"))
    more = [numbers[f"{name} shared among the 500 largest"] for name in ("mnist", "cifar")]
    return (
        f"Of the 100 largest eta linear and logistic regression share {mnist} on MNIST and {cifar} on CIFAR-10; the "
        f"paper prints 24 and 34. (Of the 500 largest, which the paper's script takes, {more[0]} and {more[1]}.)"
    )


def by_class(folder: Path) -> str:
    """Return the mean eta of each class."""
    numbers = _read(folder, "h21_figure_2_3")
    parts = ["| mean eta by class | here |", "|---|---|"]
    for name, title, classes in (
        ("mnist", "MNIST", "0 and 1"),
        ("cifar", "CIFAR-10", "airplane and automobile"),
    ):
        for kind in ("linear", "logistic"):
            first, second = numbers[f"{name} {kind}"]["mean_by_class"].values()
            parts.append(f"| {title} {kind}, {classes} | {first:.3g} and {second:.3g} |")
    return "\n".join(parts)


def other_scores(folder: Path) -> str:
    """Return how eta goes with loss and gradient norm."""
    numbers = _read(folder, "h21_figure_4")
    parts = ["| rank correlation with eta | here |", "|---|---|"]
    parts += [f"| {name} | {numbers[name]['spearman']:.2f} |" for name in ("loss", "gradient norm")]
    rank = numbers["loss"]["rank_of_score"]["largest among the tenth with the lowest eta"]
    parts += [
        "",
        f"Neither stands in for eta. The tenth of images with the lowest eta reaches up to rank {rank:.0%} of all "
        "losses: a low eta excludes the highest losses, and does not imply a low one.",
    ]
    return "\n".join(parts)


def two_attacks(folder: Path) -> str:
    """Return what two attacks reach over penalties and noise."""
    numbers = _read(folder, "h21_figure_6")
    settings = sorted(numbers["settings"], key=lambda each: each["mean_eta"])
    ranks, low, high = numbers["rank_correlation_with_mean_eta"], settings[0], settings[-1]
    little = [each["white-box with prior"] for each in settings if each["mean_eta"] < 0.1]
    blind = [each["white-box"] for each in settings if each["mean_eta"] < 0.1]
    parts = [
        f"{numbers['people']:,} patients, VKORC1 attacked, {len(numbers['eta_at_scale_1'])} penalties, {len(settings)} "
        f"settings, {numbers['trials']} draws a person and setting.",
        "",
        "| | here |",
        "|---|---|",
        f"| white-box accuracy at the largest mean eta ({high['mean_eta']:.0f}) | {high['white-box']:.3f} |",
        f"| at the smallest ({low['mean_eta']:.2g}) | {low['white-box']:.3f}; an attacker who also uses the prior: "
        f"{low['white-box with prior']:.3f}, the majority share is {numbers['prior']:.3f} |",
        f"| rank correlation of white-box accuracy with mean eta, over {len(settings)} settings "
        f"| {ranks['white-box']:.3f} (with the prior {ranks['white-box with prior']:.3f}) |",
        f"| of black-box accuracy | {ranks['black-box']:.3f} |",
        f"| of black-box accuracy with the test error "
        f"| {numbers['rank_correlation_of_black_box_with_test_error']:.3f} |",
        f"| the {len(little)} settings with a mean eta below 0.1 | {min(blind):.3f} to {max(blind):.3f}; with the "
        f"prior {min(little):.3f} to {max(little):.3f} |",
        f"| largest black-box accuracy | {max(each['black-box'] for each in settings):.3f} |",
        "",
        "A mean eta of 1e-3, which the paper recommends:",
        "",
        "| lambda | noise scale | test error without noise | with it | white-box | black-box |",
        "|---|---|---|---|---|---|",
    ]
    parts += [
        f"| {each['penalty']:g} | {each['noise_scale']:.3g} | {each['test_error_without_noise']:.3f} "
        f"| {each['test_error']:.3g} ± {each['test_error_sd']:.2g} | {each['white-box']:.3f} "
        f"| {each['black-box']:.3f} |"
        for each in numbers["mean_eta_of_a_thousandth"]
    ]
    return "\n".join([*parts, "", *protection(numbers)])


def protection(numbers: Numbers) -> list[str]:
    """Return what it costs to hold both attackers to the most frequent value, and what ten percent of error buy."""
    parts = [
        "Cost against protection, over the noise scales that were run: the least noise at which neither attacker beats "
        f"the most frequent value ({numbers['prior']:.3f}), and the most that raises the test error by no more than a "
        "tenth:",
        "",
        "| lambda | both held: mean eta | test error over that without noise | a tenth more error: mean eta "
        "| white-box | black-box |",
        "|---|---|---|---|---|---|",
    ]
    for one in numbers["mean_eta_of_a_thousandth"]:
        runs = [each for each in numbers["settings"] if each["penalty"] == one["penalty"]]
        held = [each for each in runs if max(each["white-box"], each["black-box"]) <= numbers["prior"]]
        cheap = [each for each in runs if each["test_error"] <= 1.1 * one["test_error_without_noise"]]
        least, most = (min(held, key=_noise), max(cheap, key=_noise)) if held else (None, max(cheap, key=_noise))
        cells = (
            ["none of them", ""]
            if least is None
            else [f"{least['mean_eta']:.2g}", f"{least['test_error'] / one['test_error_without_noise']:.3g}"]
        )
        cells += [f"{most['mean_eta']:.2g}", f"{most['white-box']:.3f}", f"{most['black-box']:.3f}"]
        parts.append(f"| {one['penalty']:g} | {' | '.join(cells)} |")
    return parts


def _noise(each: Numbers) -> float:
    found: float = each["noise_scale"]
    return found


def equalized(folder: Path) -> str:
    """Return what equalizing does to the attack."""
    numbers = _read(folder, "h21_figure_7")
    parts = [
        "| what is equalized | level dropped | IWPC: range before, after two, after ten | mean accuracy | test error "
        "| Adult: range | mean accuracy | test error |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for target, title in (("linearized", "linearized eta (H21)"), ("exact", "exact distance")):
        for dropped in ("first", "last"):
            cells = []
            for name in ("iwpc", "adult"):
                each = numbers[f"{name}, {target}, {dropped} level dropped"]
                cells += [
                    ", ".join(f"{each['range_over_deciles'][step]:.2f}" for step in ("0", "2", "10")),
                    *(
                        ", ".join(f"{each[key][step]:.3f}" for step in ("0", "10"))
                        for key in ("accuracy", "test_error")
                    ),
                ]
            parts.append(f"| {title} | {dropped} | {' | '.join(cells)} |")
    return "\n".join(parts)


def floors_of_images(folder: Path) -> str:
    """Return G22's figure 2 in numbers."""
    each = _read(folder, "g22_figure_2")
    quantiles = each["floor_quantiles"]
    return "\n".join(
        [
            "| | paper | here |",
            "|---|---|---|",
            f"| Rényi epsilon of order 2, inputs of norm 1 | {each['renyi_epsilon_in_the_paper']:.2f} "
            f"| {each['renyi_epsilon_unit_inputs']:.2f} |",
            f"| floor that follows from this epsilon | {each['renyi_floor_with_the_papers_epsilon']:.3f} (computed "
            f"by us) | {each['renyi_floor_unit_inputs']:.4f} |",
            f"| the same with the inputs' true norm, up to {each['largest_input_norm']:.1f} | "
            f"| epsilon {each['renyi_epsilon_true_inputs']:.0f}, floor {each['renyi_floor_true_inputs']:g} |",
            f"| 1/dFIL^2: smallest, median, largest | | {quantiles['0']:.2f}, {quantiles['50']:.3g}, "
            f"{quantiles['100']:.2g} |",
            f"| error of guessing the mean image | | {each['blind_guess']:.3f} |",
            f"| test accuracy, mean of ten releases | 99.95% | {each['test_accuracy_of_releases']:.2%} |",
        ]
    )


def reconstructed(folder: Path) -> str:
    """Return G22's figures 3 and 4 in numbers."""
    numbers = _read(folder, "g22_figure_3_4")
    kinds = [kind for kind in ("without intercept", "with intercept") if kind in numbers]
    prior = numbers["prior_variance"]
    rows = (
        ("releases", "trials", "{:,}"),
        ("largest error without noise, of 100 images", "error_without_noise", "{:.2g}"),
        ("rank correlation of error and floor", "spearman", "{:.3f}"),
        (
            f"images whose floor is below the error of guessing the mean image ({prior:.3f})",
            "floor_below_prior",
            "{:,}",
        ),
        ("rank correlation among these", "spearman_below_prior", "{:.3f}"),
        ("smallest error among these, in units of its floor", "smallest_error_over_floor_below_prior", "{:.2f}"),
        ("images whose floor is below 1", "floor_below_one", "{:,}"),
        ("smallest error among these, in units of its floor", "smallest_error_over_floor_below_one", "{:.2f}"),
        ("images below their floor by more than chance", "below", "{:,}"),
        ("smallest floor that an error is below", "smallest_floor_above_its_error", "{:.3g}"),
        ("images whose error is uncertain by more than half", "share_with_standard_error_above_half", "{:.0%}"),
    )
    return "\n".join(
        [
            f"| all {numbers['people']:,} images | {' | '.join(kinds)} |",
            f"|---{'|---' * len(kinds)}|",
            *(
                f"| {title} | {' | '.join(_shown(numbers[kind][key], form) for kind in kinds)} |"
                for title, key, form in rows
            ),
        ]
    )


def _shown(value: float | None, form: str) -> str:
    return "none" if value is None else form.format(value)
