"""What PLIS states, and what we found."""

from collections.abc import Callable

import numpy as np

from experiments._criterion import Criterion, Interval, NotRunError, Numbers, of, rank_correlations
from experiments._statement import Row

TITLE = "PLIS: Mueller, Kaissis et al. (2022)"
_KINDS = {"plain": "without", "private": "with"}
_CLIPPED = "with privacy long gradients are clipped to one length, whatever their input"
_ONE = "one network each"


def columns(numbers: Numbers) -> str:
    """Compare two measures over columns."""
    each = of(numbers, "regression")
    fil, plis = each["informative_over_largest_other"]
    low, middle, high = each["correlation_without_the_informative"]
    return (
        f"{each['seeds']} seeds: column 9 has at least {fil:.0f} (information) and {plis:.0f} (susceptibility) times "
        f"what any other has; correlation {each['correlation'][1]:.4f} over all columns, {middle:.4f} ({low:.4f} to "
        f"{high:.4f}) without column 9"
    )


def least_ratio(place: int) -> Callable[[Numbers], Interval]:
    """Return the smallest ratio of the informative column to any other, over seeds."""
    return lambda n: Interval.exactly(of(n, "regression", "informative_over_largest_other")[place])


def spread_of_maps(name: str) -> Callable[[Numbers], str]:
    """Compare maps with and without privacy."""

    def found(numbers: Numbers) -> str:
        cells = []
        for kind, word in _KINDS.items():
            each = of(numbers, f"{name}-{kind}")
            cell = (
                f"{word}: accuracy {each['accuracy']:.1%}, correlation of neighboring pixels "
                f"{each['alike_to_neighbors']:.2f}"
            )
            if "share_on_ink" in each:
                cell += f", {each['share_on_ink']:.0%} of the map on ink, which covers {each['share_of_ink']:.0%}"
            cells.append(cell)
        noise = of(numbers, f"{name}-private", "noise_multiplier")
        return f"{'; '.join(cells)} (noise multiplier {noise:.1f})"

    return found


def smooth(name: str) -> tuple[Criterion, ...]:
    """Ask for maps that are noise with privacy and are not without."""

    def read(kind: str) -> Callable[[Numbers], Interval]:
        return lambda n: Interval(*of(n, f"{name}-{kind}", "alike_to_neighbors_interval"))

    return (
        Criterion("correlation of neighboring pixels of a map, without privacy,", read("plain"), above=0.5),
        Criterion("with privacy", read("private"), below=0.2),
    )


def on_ink(numbers: Numbers) -> Interval:
    """Return the share of a map on the digit over the share that the digit covers, without privacy."""
    each = of(numbers, "mnist-plain")
    return Interval(*(end / each["share_of_ink"] for end in of(each, "share_on_ink_interval")))


def atypical(name: str) -> Callable[[Numbers], str]:
    """Compare the most susceptible images with the rest."""

    def found(numbers: Numbers) -> str:
        return "; ".join(
            f"{word} privacy, top 5% against the rest: misclassified {each['wrong_high']:.0%} against "
            f"{each['wrong_rest']:.1%}, distance to their class {each['distance_high']:.1f} against "
            f"{each['distance_rest']:.1f}"
            for each, word in ((of(numbers, f"{name}-{kind}"), word) for kind, word in _KINDS.items())
        )

    return found


def more_wrong(name: str) -> tuple[Criterion, ...]:
    """Ask whether the most susceptible are misclassified more often than the rest."""

    def read(kind: str) -> Callable[[Numbers], Interval]:
        def found(numbers: Numbers) -> Interval:
            each = of(numbers, f"{name}-{kind}")
            high, rest = of(each, "most_susceptible"), of(each, "images") - of(each, "most_susceptible")
            return Interval.share(each["wrong_high"] * high, high).minus(
                Interval.share(each["wrong_rest"] * rest, rest)
            )

        return found

    return (
        Criterion("share misclassified, top 5% minus the rest, without privacy,", read("plain"), above=0.0),
        Criterion("with privacy", read("private"), above=0.0),
    )


def foreign(numbers: Numbers) -> str:
    """Look at X-rays that were shown to the digit model."""
    return "; ".join(
        f"{word} privacy {each['x_rays_above_the_digits_median']:.0%} of X-rays above the digits' median, "
        f"{each['x_rays_above_95_of_100_digits']:.0%} above 95% of digits"
        for each, word in ((of(numbers, f"mnist-{kind}"), word) for kind, word in _KINDS.items())
    )


def above_digits(kind: str) -> Callable[[Numbers], Interval]:
    """Return the share of X-rays that are more susceptible than half of the digits."""

    def read(numbers: Numbers) -> Interval:
        each = of(numbers, f"mnist-{kind}")
        total = of(each, "foreign_images")
        return Interval.share(each["x_rays_above_the_digits_median"] * total, total)

    return read


def surrogate(numbers: Numbers) -> str:
    """Compare the norm of a map with the gradient norm."""
    a, b = (of(numbers, f"mnist-{kind}", "norm_against_privacy_loss") for kind in _KINDS)
    return f"rank correlation with the privacy loss {a:.2f} without privacy, {b:.2f} with (clipped)"


def fisher(kind: str) -> Callable[[Numbers], Interval]:
    """Return that rank correlation with the interval of Fisher for as many images."""

    def read(numbers: Numbers) -> Interval:
        each = of(numbers, f"mnist-{kind}")
        return Interval.correlation(each["norm_against_privacy_loss"], of(each, "images"))

    return read


def inverted(score: str, title: str) -> Callable[[Numbers], str]:
    """Compare reconstructions with susceptibility."""

    def found(numbers: Numbers) -> str:
        each = of(numbers, "bare", score)
        at = place(of(each, "place_of_the_most_susceptible"))
        return (
            f"{of(numbers, 'bare', 'images')} images: {title} {each['least_susceptible']:.2f} (least susceptible), "
            f"{each['most_susceptible']:.2f} (most, which is {at} of all from the top); rank "
            f"correlation {each['rank_correlation']:.2f}"
        )

    return found


def place(rank: int) -> str:
    """Return a place in words."""
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"


def following(score: str) -> Callable[[Numbers], Interval]:
    """Return the rank correlation with susceptibility, images drawn anew."""

    def read(numbers: Numbers) -> Interval:
        each = of(numbers, "bare")
        if each["images"] < 24:
            raise NotRunError
        norms, scores = np.array(each["susceptibility"]), np.array(each[score]["each"])
        return Interval.resampled(lambda rows: rank_correlations(norms[rows], scores[rows]), len(norms))

    return read


def regions(numbers: Numbers) -> str:
    """Compare maps with local errors."""
    each = of(numbers, "bare", "regions")
    return (
        f"{len(each)} images: rank correlation of a map and the local error over its regions, mean "
        f"{np.mean(each):.2f}, {sum(one < 0 for one in each)} negative"
    )


def region_mean(numbers: Numbers) -> Interval:
    """Return the mean correlation over images, images drawn anew."""
    each = np.array(of(numbers, "bare", "regions"))
    return Interval.resampled(lambda rows: each[rows].mean(1), len(each))


def no_reconstruction(numbers: Numbers) -> str:
    """Look at reconstructions from private gradients."""
    each = of(numbers, "private")
    return f"{each['images']} images: the best SSIM is {max(each['ssim']['each']):.2f}"


ROWS = [
    Row(
        "figure 1",
        "private linear regression to (0.2, 1e-3): FIL and PLIS near zero for uninformative columns",
        "in words",
        "plis",
        columns,
        (
            Criterion(
                "information of column 9 over the largest other, least of all seeds,", least_ratio(0), above=10.0
            ),
            Criterion("susceptibility", least_ratio(1), above=10.0),
        ),
        "regression",
    ),
    Row(
        "figure 2",
        "MNIST to (1, 1e-5): with privacy maps spread at random, without on salient regions",
        "in words",
        "plis",
        spread_of_maps("mnist"),
        (
            *smooth("mnist"),
            Criterion("share of the map on ink over that of ink, without privacy,", on_ink, above=1.5),
        ),
        "mnist",
        remark=_ONE,
    ),
    Row(
        "figure 2",
        "an image from elsewhere is susceptible",
        "shown",
        "plis",
        foreign,
        (
            Criterion("share of X-rays above the digits' median, without privacy,", above_digits("plain"), above=0.5),
            Criterion("with privacy", above_digits("private"), above=0.5),
        ),
        "mnist",
        remark=_CLIPPED,
    ),
    Row(
        "figure 2",
        "the most susceptible digits are unusual",
        "shown",
        "plis",
        atypical("mnist"),
        more_wrong("mnist"),
        "mnist",
        remark=_CLIPPED,
    ),
    Row(
        "figure 3",
        "X-rays to (1, 1e-5): with privacy maps spread at random, without not",
        "in words",
        "plis",
        spread_of_maps("pneumonia"),
        smooth("pneumonia"),
        "pneumonia",
        remark=f"{_ONE}; X-rays have no place that is known to be salient",
    ),
    Row(
        "figure 3",
        "the most susceptible X-rays are unusual",
        "shown",
        "plis",
        atypical("pneumonia"),
        more_wrong("pneumonia"),
        "pneumonia",
        remark=_CLIPPED,
    ),
    Row(
        "footnote",
        "the norm of the whole map stands for the gradient norm",
        "in words",
        "plis",
        surrogate,
        (
            Criterion("rank correlation with the privacy loss, without privacy,", fisher("plain"), above=0.8),
            Criterion("with privacy", fisher("private"), above=0.8),
        ),
        "mnist",
    ),
    Row(
        "table 1",
        "a high-PLIS X-ray is reconstructed better than a low-PLIS one: SSIM",
        "0.9912 against 0.8536 (two images)",
        "plis_inversion",
        inverted("ssim", "SSIM"),
        (Criterion("rank correlation of SSIM with susceptibility", following("ssim"), above=0.0),),
    ),
    Row(
        "table 1",
        "the same: HaarPSI",
        "0.7779 against 0.7323 (two images)",
        "plis_inversion",
        inverted("haarpsi", "HaarPSI"),
        (Criterion("rank correlation of HaarPSI with susceptibility", following("haarpsi"), above=0.0),),
    ),
    Row(
        "section on figure 3",
        "the region that is reconstructed worst is where the map is lowest",
        "one image",
        "plis_inversion",
        regions,
        (Criterion("mean rank correlation of map and local error over regions", region_mean, below=0.0),),
        "bare",
    ),
    Row(
        "section on figure 3",
        "with privacy no reconstruction is possible",
        "in words",
        "plis_inversion",
        no_reconstruction,
        (
            Criterion(
                "best SSIM of reconstructions from clipped gradients with noise",
                lambda n: Interval.exactly(max(of(n, "private", "ssim", "each"))),
                below=0.2,
            ),
        ),
        "private",
    ),
]
