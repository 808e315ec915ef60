"""What G22 states, and what we found."""

from collections.abc import Callable

from experiments._criterion import Criterion, Interval, NotRunError, Numbers, of, printed
from experiments._statement import Row
from experiments.g22_private_sgd import NOISES, NORMS, STEPS, TIMES, floors

TITLE = "G22: Guo, Karrer, Chaudhuri, van der Maaten (2022)"
_TEN_CLASSES = "all ten classes of CIFAR-10; the command trains on the two that we have"
SETTINGS = len(NOISES) * len(NORMS) * len(STEPS) * len(TIMES)
_KINDS = ("without intercept", "with intercept")
_HIGH = 0.95
"""Higher accuracies: above the one to which the paper finds that the Renyi bound says something."""
_TESTED = 10_000
"""Images of MNIST that accuracies are found on."""


def renyi(numbers: Numbers) -> str:
    """Return epsilon and the bound from it."""
    return (
        f"{of(numbers, 'renyi_epsilon_unit_inputs'):.2f}, a bound of {of(numbers, 'renyi_floor_unit_inputs'):.3f} "
        f"for inputs of norm 1; theirs have up to {of(numbers, 'largest_input_norm'):.1f}: "
        f"epsilon {of(numbers, 'renyi_epsilon_true_inputs'):.0f}"
    )


def all_above(numbers: Numbers) -> str:
    """Return the range of the floors."""
    quantiles = of(numbers, "floor_quantiles")
    return (
        f"{quantiles['0']:.3g} to {quantiles['100']:.1e}, median {quantiles['50']:.3g}; accuracy "
        f"{of(numbers, 'test_accuracy_of_releases'):.2%}; guessing the mean image errs by "
        f"{of(numbers, 'blind_guess'):.3f}"
    )


def above_floor(numbers: Numbers) -> str:
    """Compare errors of reconstruction with their floors."""
    cells = []
    for kind in _KINDS:
        each = of(numbers, kind)
        smallest = each["smallest_floor_above_its_error"]
        cells.append(
            f"{kind}, {each['trials']:,} trials: rank correlation {each['spearman']:.2f} (of the "
            f"{each['floor_below_prior']:,} floors below the error of the mean image "
            f"{each['spearman_below_prior']:.2f}); "
            f"{each['floor_below_one']:,} floors are below 1, their errors at least "
            f"{each['smallest_error_over_floor_below_one']:.2f} times as large; "
            + (
                "no floor is above its error"
                if smallest is None
                else f"the smallest floor above its error {smallest:.3g}"
            )
        )
    return f"all {of(numbers, 'people'):,} images; {'. '.join(cells)}"


def going_along(numbers: Numbers) -> list[Interval]:
    """Return the rank correlation at the low end."""
    each = [of(numbers, kind) for kind in _KINDS]
    return [Interval.correlation(one["spearman_below_prior"], one["floor_below_prior"]) for one in each]


def readings(numbers: Numbers) -> list[tuple[Numbers, Numbers]]:
    """Return setting and reading of all runs."""
    return [(run["setting"], reading) for run in of(numbers, "runs").values() for reading in run["readings"]]


def ran(numbers: Numbers) -> str:
    """Say how much of the grid was run."""
    every = readings(numbers)
    scales = ", ".join(f"{noise:g}" for noise in sorted({setting["noise"] for setting, _ in every}))
    norms = ", ".join(f"{norm:g}" for norm in sorted({setting["norm"] for setting, _ in every}))
    steps = ", ".join(f"{step:g}" for step in sorted({setting["step_size"] for setting, _ in every}))
    return (
        f"{different(numbers)} of {SETTINGS} settings were run (sigma {scales}; C {norms}; step {steps}; [one "
        "page](networks.md) has them all), and the command can run every one"
    )


def different(numbers: Numbers) -> int:
    """Count the settings of table 3 that were run, whatever the seeds."""
    return len({(s["noise"], s["norm"], s["step_size"], r["steps"]) for s, r in readings(numbers)})


def named(setting: Numbers, reading: Numbers) -> str:
    """Return the accuracy of a reading, and its setting."""
    where = f"sigma {setting['noise']:g}, C {setting['norm']:g}, T {reading['steps']:,}"
    return f"{reading['test_accuracy']:.1%} ({where})"


def crossing(numbers: Numbers, way: Callable[[Numbers], float]) -> str:
    """Return in words the best accuracy at a floor of 1 or more, and the best floor of what is more accurate."""
    every = sorted(readings(numbers), key=lambda pair: pair[1]["test_accuracy"])
    above = [pair for pair in every if way(pair[1]) >= 1]
    best = above[-1][1]["test_accuracy"] if above else 0.0
    beyond = max((pair for pair in every if pair[1]["test_accuracy"] > best), key=lambda p: way(p[1]), default=None)
    text = f"{named(*above[-1])}, where it is {way(above[-1][1]):.2g}" if above else "none is above 1"
    if beyond is not None:
        text += f"; the highest floor of more accurate ones: {way(beyond[1]):.2g}, at {named(*beyond)}"
    return text


def reached(way: Callable[[Numbers], float], accuracy: float) -> Callable[[Numbers], Interval]:
    """Find the best accuracy at a floor of 1 or more: one setting is enough, that there is none takes all of them.

    Each setting was trained once; the interval is over the images that the accuracy was found on.
    """

    def read(numbers: Numbers) -> Interval:
        best = max((r["test_accuracy"] for _, r in readings(numbers) if way(r) >= 1), default=0.0)
        if best <= accuracy and different(numbers) < SETTINGS:
            raise NotRunError
        return Interval.share(best * _TESTED, _TESTED)

    return read


def with_kappa(reading: Numbers) -> float:
    """Return the floor of the most exposed image as the paper counts it."""
    return floors(reading)["kappa"]["smallest"]


def exact(reading: Numbers) -> float:
    """Return the same with the exact factor of Poisson sampling."""
    return floors(reading)["exact"]["smallest"]


def without_replacement(reading: Numbers) -> float:
    """Return the same with our bound for the sampling that the paper describes."""
    return floors(reading)["without replacement"]["smallest"]


def bound(reading: Numbers) -> float:
    """Return the bound from Renyi privacy."""
    found: float = reading["renyi_floor"]
    return found


def largest_dfil(numbers: Numbers) -> str:
    """Say which accuracy is reached before the floor of the most exposed image falls below 1."""
    return (
        f"{ran(numbers)}; best accuracy at a floor of 1 or more with kappa: {crossing(numbers, with_kappa)}. Exact for "
        f"Poisson sampling: {crossing(numbers, exact)}. Our bound for batches of 600 without replacement, which needs "
        f"no delta: {crossing(numbers, without_replacement)}"
    )


def renyi_sgd(numbers: Numbers) -> str:
    """Say which accuracy is reached before the bound from Renyi privacy falls below 1."""
    return f"{ran(numbers)}; best accuracy at a bound of 1 or more {crossing(numbers, bound)}"


def planes_and_cars(numbers: Numbers) -> str:
    """Say what two of the ten classes show."""
    cells = [
        f"sigma {run['noise']:g}, {each['steps']:,} steps: accuracy {each['test_accuracy']:.1%}, smallest floor with "
        f"kappa {with_kappa(each):.2g}, Renyi bound {bound(each):.2g}"
        for run, each in readings(numbers)
    ]
    return f"two classes: {'; '.join(cells)}"


def accurate(numbers: Numbers) -> list[Numbers]:
    """Return the readings at higher accuracies."""
    found = [reading for _, reading in readings(numbers) if reading["test_accuracy"] > _HIGH]
    if not found:
        raise NotRunError
    return found


def median_floors(numbers: Numbers) -> list[Interval]:
    """Return the floor of the median image, of each reading at a higher accuracy."""
    ends = [sorted(1 / (end * each["kappa"]) for end in each["plain_median_interval"]) for each in accurate(numbers)]
    return [Interval(low, high) for low, high in ends]


def median_dfil(numbers: Numbers) -> str:
    """Look at the median image of the most accurate runs."""
    values = [floors(reading)["kappa"]["median"] for reading in accurate(numbers)]
    return f"{ran(numbers)}; above 95% accuracy the median floor with kappa is {min(values):.2g} to {max(values):.2g}"


def over_renyi(some: list[Numbers]) -> list[float]:
    """Compare the floor of the most exposed image with the bound for everybody."""
    return [with_kappa(reading) / max(bound(reading), 1e-300) for reading in some]


def above_renyi(numbers: Numbers) -> str:
    """Compare both bounds, below that as well."""
    below = [reading for _, reading in readings(numbers) if reading["test_accuracy"] <= _HIGH]
    ratios = {"above": over_renyi(accurate(numbers)), "up to": over_renyi(below)}
    cells = [f"{where} 95% accuracy {min(each):.2g} to {max(each):.2g} times" for where, each in ratios.items() if each]
    return f"{ran(numbers)}; with kappa {', '.join(cells)} the Renyi bound. Both hold: the larger counts"


def example(numbers: Numbers) -> str:
    """Return the worked example of section 4."""
    return (
        f"bound {of(numbers, 'example', 'floor'):.1f}, standard deviation {of(numbers, 'example', 'deviation'):.1f}; "
        f"as the interval shrinks, {of(numbers, 'tightness', 'ratios')[-1]:.4f} of the error of the best guess"
    )


def membership(numbers: Numbers) -> str:
    """Return the probabilities of a right guess."""
    found = of(numbers, "membership")
    return ", ".join(
        f"epsilon {each['epsilon']:g}: {each['right']:.1%} (advantage {each['advantage']:.1%})" for each in found
    )


def shrunk(numbers: Numbers) -> str:
    """Return both theorems beside a biased attack."""
    found = of(numbers, "biased")
    first, second = ([each["error"] / each[name] for each in found] for name in ("theorem_1", "theorem_2"))
    below = sum(each["error"] < each["unbiased"] for each in found)
    return (
        f"{len(found)} shrunk guesses: errors are {min(first):.2f} to {max(first):.2g} times the bound of theorem 1 "
        f"with slope and bias, {min(second):.3f} to {max(second):.3f} times that of theorem 2; {below} are below the "
        "bound for unbiased guesses"
    )


def ends(numbers: Numbers) -> str:
    """Return the errors at both ends of the floors."""
    errors = of(numbers, "without intercept", "error_quantiles")
    return (
        f"smallest error {errors[0]:.2g}, the median image {errors[2]:.2g}, the largest {errors[4]:.2g}; guessing the "
        f"mean image errs by {of(numbers, 'prior_variance'):.3f}"
    )


def over_prior(place: int) -> Callable[[Numbers], Interval]:
    """Return an error over that of guessing the mean image."""
    return lambda n: Interval.exactly(of(n, "without intercept", "error_quantiles")[place] / of(n, "prior_variance"))


ROWS = [
    Row(
        "sections 2, 3",
        "probability of a right guess about membership at epsilon 0.1 and 2",
        "about 53%, more than 88%",
        "g22_section_4",
        membership,
        (
            Criterion("at 0.1", lambda n: Interval.exactly(of(n, "membership")[0]["right"]), above=0.52, below=0.54),
            Criterion("at 2", lambda n: Interval.exactly(of(n, "membership")[1]["right"]), above=0.88, below=0.89),
        ),
    ),
    Row(
        "section 4",
        "theorem 1 for values in [0, 100] at epsilon 2: bound; tight up to a factor of 4 for short intervals",
        "about 391, 19; sigma^2 / 4",
        "g22_section_4",
        example,
        (
            printed("bound", lambda n: of(n, "example", "floor"), 391, 1),
            printed("bound over sigma^2 in the limit", lambda n: of(n, "tightness", "ratios")[-1], 0.25, 0.01),
        ),
    ),
    Row(
        "theorems 1, 2",
        "with the slope and bias of an attack the bounds hold for biased attacks too",
        "theorems",
        "g22_section_4",
        shrunk,
        (
            Criterion(
                "error over the bound of theorem 1, every shrunk guess,",
                lambda n: [
                    Interval.around(e["error"] / e["theorem_1"], 3 * e["relative_error"]) for e in of(n, "biased")
                ],
                above=1.0,
            ),
            Criterion(
                "over that of theorem 2, which is exact here,",
                lambda n: [Interval.exactly(e["error"] / e["theorem_2"]) for e in of(n, "biased")],
                above=0.98,
                below=1.02,
            ),
        ),
    ),
    Row(
        "7.1",
        "epsilon at order 2, and the bound from it",
        "1.58, about 0.1",
        "g22_figure_2",
        renyi,
        (
            printed("epsilon", lambda n: of(n, "renyi_epsilon_unit_inputs"), 1.58, 0.01),
            printed("bound", lambda n: of(n, "renyi_floor_unit_inputs"), 0.1, 0.1),
        ),
        remark="only the text: the authors' code has the square. The norm of the inputs counts in both",
    ),
    Row(
        "figure 2",
        "all bounds of single images exceed 1; accuracy",
        "> 1; 99.95%",
        "g22_figure_2",
        all_above,
        (
            Criterion("smallest floor", lambda n: Interval.exactly(of(n, "floor_quantiles", "0")), above=1.0),
            printed("accuracy", lambda n: of(n, "test_accuracy_of_releases"), 0.9995, 0.0001),
        ),
    ),
    Row(
        "figure 3",
        "errors correlate with their bounds at the low end; all bounds up to 1 hold",
        "every image, 10,000 trials",
        "g22_figure_3_4",
        above_floor,
        (
            Criterion("rank correlation of floors below the error of the mean image", going_along, above=0.5),
            Criterion(
                "smallest error over its floor, of floors up to 1,",
                lambda n: [Interval.exactly(of(n, kind, "smallest_error_over_floor_below_one")) for kind in _KINDS],
                above=1.0,
            ),
        ),
        remark="of this attack: another may be better, and the floor is for unbiased ones",
    ),
    Row(
        "figure 4",
        "images with a large dFIL are reconstructed, those with a small one are not",
        "shown",
        "g22_figure_3_4",
        ends,
        (
            Criterion("error of the best reconstructed over guessing the mean image", over_prior(0), below=0.1),
            Criterion("of the worst", over_prior(4), above=1.0),
        ),
        remark="the eight at each end are pictured on [one page](linear.md)",
    ),
    Row(
        "figure 5",
        "MNIST, largest dFIL: accuracy before the bound falls below 1",
        "97%",
        "g22_private_sgd",
        largest_dfil,
        (
            Criterion(
                "best accuracy at a floor of 1 or more, with kappa, over test images,",
                reached(with_kappa, 0.965),
                above=0.965,
            ),
        ),
    ),
    Row(
        "figure 5",
        "MNIST, Renyi bound: the same",
        "95%",
        "g22_private_sgd",
        renyi_sgd,
        (Criterion("best accuracy at a bound of 1 or more, over test images,", reached(bound, 0.945), above=0.945),),
    ),
    Row(
        "figure 5",
        "MNIST, median dFIL: relatively high even at high accuracy",
        "in words",
        "g22_private_sgd",
        median_dfil,
        (Criterion("median floor with kappa above 95% accuracy", median_floors, above=1.0),),
    ),
    Row(
        "figure 5",
        "MNIST: at higher accuracies the bound from the largest dFIL is orders of magnitude above the Renyi bound",
        "in words",
        "g22_private_sgd",
        above_renyi,
        (
            Criterion(
                "floor with kappa over the Renyi bound, every reading above 95% accuracy,",
                lambda n: [Interval.exactly(each) for each in over_renyi(accurate(n))],
                above=100.0,
            ),
        ),
    ),
    Row(
        "figure 5",
        "CIFAR-10: both bounds cross 1 at 55%; largest dFIL ≥ 0.1 at 64%",
        "55%; 64%",
        "g22_cifar",
        planes_and_cars,
        missing=_TEN_CLASSES,
    ),
    Row(
        "figure 6",
        "CIFAR-10: images with the lowest dFIL are typical, those with the highest hard",
        "in words",
        "g22_cifar",
        None,
        missing=_TEN_CLASSES,
    ),
]
