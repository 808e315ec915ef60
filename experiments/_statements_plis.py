"""What PLIS states, and what we found."""

from collections.abc import Callable

from experiments._statement import Found, NotRunError, Numbers, Row, confirmed, of

TITLE = "PLIS: Mueller, Kaissis et al. (2022)"


def columns(numbers: Numbers) -> Found:
    """Compare two measures over columns."""
    each = of(numbers, "regression")
    fil, plis = each["informative_over_largest_other"]
    low, middle, high = each["correlation_without_the_informative"]
    text = (
        f"{each['seeds']} seeds: column 9 has at least {fil:.0f} (information) and {plis:.0f} (susceptibility) times "
        f"what any other has; correlation {each['correlation'][1]:.4f} over all columns, {middle:.4f} ({low:.4f} to "
        f"{high:.4f}) without column 9"
    )
    return confirmed(text, min(fil, plis) > 5)


def spread_of_maps(name: str) -> Callable[[Numbers], Found]:
    """Compare maps with and without privacy."""

    def found(numbers: Numbers) -> Found:
        pair = {kind: of(numbers, f"{name}-{kind}") for kind in ("plain", "private")}
        cells = []
        for kind, each in pair.items():
            cell = (
                f"{'without' if kind == 'plain' else 'with'}: accuracy {each['accuracy']:.1%}, correlation of "
                f"neighboring pixels {each['alike_to_neighbors']:.2f}"
            )
            if "share_on_ink" in each:
                cell += f", {each['share_on_ink']:.0%} of the map on ink, which covers {each['share_of_ink']:.0%}"
            cells.append(cell)
        random = pair["private"]["alike_to_neighbors"] < 0.2 < 0.5 < pair["plain"]["alike_to_neighbors"]
        text = f"{'; '.join(cells)} (noise multiplier {pair['private']['noise_multiplier']:.1f})"
        return confirmed(text, random, "not confirmed: with privacy maps are as smooth as without")

    return found


def atypical(name: str) -> Callable[[Numbers], Found]:
    """Compare the most susceptible images with the rest."""

    def found(numbers: Numbers) -> Found:
        pair = {kind: of(numbers, f"{name}-{kind}") for kind in ("plain", "private")}
        text = "; ".join(
            f"{'without' if kind == 'plain' else 'with'} privacy, top 5% against the rest: misclassified "
            f"{each['wrong_high']:.0%} against {each['wrong_rest']:.1%}, distance to their class "
            f"{each['distance_high']:.1f} against {each['distance_rest']:.1f}"
            for kind, each in pair.items()
        )
        plain, private = (each["wrong_high"] > each["wrong_rest"] for each in pair.values())
        clipped = "confirmed with a correction: without privacy; with it long gradients are clipped to one length"
        return confirmed(text, plain and private, clipped if plain else "not confirmed")

    return found


def foreign(numbers: Numbers) -> Found:
    """Look at X-rays that were shown to the digit model."""
    plain, private = (of(numbers, f"mnist-{kind}") for kind in ("plain", "private"))
    text = "; ".join(
        f"{name} privacy {each['x_rays_above_the_digits_median']:.0%} of X-rays above the digits' median, "
        f"{each['x_rays_above_95_of_100_digits']:.0%} above 95% of digits"
        for name, each in (("without", plain), ("with", private))
    )
    high = [each["x_rays_above_the_digits_median"] > 0.5 for each in (plain, private)]
    clipped = "confirmed with a correction: without privacy; with it long gradients are clipped to one length"
    return confirmed(text, all(high), clipped if high[0] else "not confirmed")


def surrogate(numbers: Numbers) -> Found:
    """Compare the norm of a map with the gradient norm."""
    plain, private = (of(numbers, f"mnist-{kind}") for kind in ("plain", "private"))
    a, b = plain["norm_against_privacy_loss"], private["norm_against_privacy_loss"]
    return confirmed(
        f"rank correlation with the privacy loss {a:.2f} without privacy, {b:.2f} with (clipped)",
        min(a, b) > 0.8,
        "confirmed with a correction: without clipping only" if a > 0.8 else "not confirmed",
    )


def inverted(numbers: Numbers) -> Found:
    """Compare reconstructions with susceptibility."""
    each = of(numbers, "bare")
    if each["images"] < 24:
        raise NotRunError
    cells = [
        f"{title} {each[score]['least_susceptible']:.2f} (least), {each[score]['most_susceptible']:.2f} (most), rank "
        f"correlation {each[score]['rank_correlation']:.2f} ({each[score]['interval'][0]:.2f} to "
        f"{each[score]['interval'][1]:.2f})"
        for score, title in (("ssim", "SSIM"), ("haarpsi", "HaarPSI"))
    ]
    ssim, haarpsi = (each[score]["interval"][0] > 0 for score in ("ssim", "haarpsi"))
    one = "confirmed with a correction: by SSIM; HaarPSI does not go with it" if ssim else "not confirmed"
    return confirmed(f"{each['images']} images: {'; '.join(cells)}", ssim and haarpsi, one)


def no_reconstruction(numbers: Numbers) -> Found:
    """Look at reconstructions from private gradients."""
    each = of(numbers, "private")
    best = max(each["ssim"]["each"])
    return confirmed(f"{each['images']} images: the best SSIM is {best:.2f}", best < 0.2)


ROWS = [
    Row(
        "figure 1",
        "private linear regression to (0.2, 1e-3): FIL and PLIS near zero for uninformative columns",
        "in words",
        "plis",
        columns,
        "regression",
    ),
    Row(
        "figure 2",
        "MNIST to (1, 1e-5): with privacy maps spread at random, without on salient regions",
        "in words",
        "plis",
        spread_of_maps("mnist"),
        "mnist",
    ),
    Row("figure 2", "an image from elsewhere is susceptible", "shown", "plis", foreign, "mnist"),
    Row("figure 2", "the most susceptible digits are unusual", "shown", "plis", atypical("mnist"), "mnist"),
    Row(
        "figure 3",
        "X-rays to (1, 1e-5): with privacy maps spread at random, without on salient regions",
        "in words",
        "plis",
        spread_of_maps("pneumonia"),
        "pneumonia",
    ),
    Row("figure 3", "the most susceptible X-rays are unusual", "shown", "plis", atypical("pneumonia"), "pneumonia"),
    Row("footnote", "the norm of the whole map stands for the gradient norm", "in words", "plis", surrogate, "mnist"),
    Row(
        "table 1",
        "a high-PLIS X-ray is reconstructed better than a low-PLIS one: SSIM, HaarPSI",
        "0.9912, 0.7779 against 0.8536, 0.7323 (two images)",
        "plis_inversion",
        inverted,
    ),
    Row(
        "section on figure 3",
        "with privacy no reconstruction is possible",
        "in words",
        "plis_inversion",
        no_reconstruction,
        "private",
    ),
]
