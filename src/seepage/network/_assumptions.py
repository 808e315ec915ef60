"""Assumptions behind the numbers of an accountant, as facts."""

import math
from collections.abc import Iterable, Mapping

from seepage._facts import Assumption, given, personal, public
from seepage.network._clipping import Mechanism
from seepage.network._probe import LABEL
from seepage.network._state import RunState

_SECRET = "who is in them stays secret: the exact factor for that is applied, with each example's own gradient norm."
_NO_CREDIT = "no credit is given for sampling (factor 1)."
SAMPLING = {
    "poisson": f"Batches are drawn by Poisson sampling and {_SECRET}",
    "opacus": f"Batches are drawn by Opacus's Poisson sampler and {_SECRET} Whoever knows the state of PyTorch's "
    "global generator knows who is in them.",
    "seeded": f"Batches are drawn by a Poisson sampler with a known seed, which tells who is in each: {_NO_CREDIT}",
    "other": f"Batches are not known to be drawn by Poisson sampling (shuffled, fixed or unrecognized): {_NO_CREDIT}",
}


def assumptions(
    state: RunState,
    *,
    label: str,
    delta: float | None,
    categories: tuple[str, ...],
    sweeps: int,
    probes: int,
    visits: int,
    several: bool,
    unanswered: int,
    unlimited: int,
    records: int,
    overdrawn: float,
    unfinished: float,
    largest: tuple[float, float],
) -> tuple[Assumption, ...]:
    """Return what is assumed, as far as the run so far tells."""
    found = [
        Assumption(
            "attacker",
            "The attacker sees the noisy sum of gradients of every step, and with it the weights of every step; "
            "whoever sees the final weights alone knows less. They know all else: the other people, the order of "
            "steps, the network.",
        ),
        _noise([mechanism for mechanism, _, _ in state.history]),
        Assumption(
            "secret noise",
            "Nobody knows the noise. Opacus draws it from PyTorch's global generator, unless secure_mode is on: "
            "whoever knows its seed (torch.manual_seed) or state takes the noise away, and no number here holds "
            "against them.",
        ),
        *(Assumption("sampling", SAMPLING[way]) for way in dict.fromkeys(way for _, way, _ in state.history)),
        Assumption(
            "label",
            "The label is a category, and in no number but its success rate."
            if LABEL in categories
            else "The label is public."
            if label == "public"
            else "The label is private, and counts among a person's values.",
        ),
        _values(state.values),
        Assumption(
            "estimate",
            "Numbers are sums over the steps that were taken, an unbiased estimate of an upper bound of the "
            "information (Guo et al. 2022, theorem 3), from visits to each person's record at {sweeps} steps or more, "
            "spread over the training and drawn independently of its batches, {probes} random directions at each: "
            "{visits} visits. "
            "The standard error is that of visits and directions; it is too small where a person gives most away in a "
            "few steps, which few visits meet.",
            {"sweeps": given(sweeps, "g"), "probes": given(probes, "g"), "visits": public(visits, ".0f")},
        ),
    ]
    if not math.isnan(largest[1]) and largest[1] > 0:
        found.append(
            Assumption(
                "largest",
                "The largest of noisy estimates errs upwards. Who is most exposed was visited twice as often in later "
                "stretches; and of the person whom half of the visits puts first, those visits say a dfil {ratio} "
                "times that of the other half.",
                {"ratio": personal(math.sqrt(largest[0] / largest[1]), ".2f")},
            )
        )
    if any(name.startswith("embedding") for name in state.values):
        found.append(
            Assumption(
                "embedding",
                "The input is made of tokens, which cannot move a little: the private values are the outputs of the "
                "embedding layer. Padding is not among them; positions and all integers that private= does not name "
                "(token types, masks, and so how many tokens a person has) are public. Where that layer is trained, "
                "its gradient also shows which tokens there were, by which rows of it move: that is not in the "
                "numbers.",
            )
        )
    if categories:
        found.append(
            Assumption(
                "categories",
                "How often {categories} can be told is from gradients with the true value and with each other one, at "
                "the weights of this run: squared distances in units of the noise, estimated over its steps as all "
                "numbers are. It is as if it were known in which steps a record took part, and everything about "
                "everybody but that one value of that one record.",
                names={"categories": ", ".join(categories)},
            )
        )
    if state.kinks:
        found.append(
            Assumption(
                "kinks",
                "The network has kinks ({kinks}): what an input gives away by crossing one is not in the numbers.",
                names={"kinks": ", ".join(sorted(state.kinks))},
            )
        )
    for holds, kind, sentence in (
        (
            "random data" in state.flags,
            "augmentation",
            "The data set gives another record each time (random augmentation): the information is about the record "
            "that the network is given, at fresh draws, not about the one it was made from.",
        ),
        (
            "random network" in state.flags,
            "dropout",
            "The network draws random numbers (dropout): visits draw their own, and that its gradients are those of "
            "training was compared in size only.",
        ),
        (
            "low precision" in state.flags,
            "precision",
            "Training computes in lower precision; visits compute in that of the weights.",
        ),
        (
            unfinished > 0,
            "unfinished",
            "Training ended before everybody was visited in its last stretch: what is missing there is taken from the "
            "trend, and the errors are wider for it.",
        ),
        (overdrawn > 0, "drawn", "More batches were drawn than steps taken; all of them count."),
        (
            True,
            "eta",
            "eta is the square root of the estimated trace, as the trace bounds the largest eigenvalue (eta_low is 0).",
        ),
        (
            several,
            "groups",
            "Eta of a group of several values is the square root of the estimated trace of its information, as the "
            "trace bounds the largest eigenvalue: its floor is for every combination of these values with weights "
            "whose squares add up to 1, and no mean over them.",
        ),
    ):
        if holds:
            found.append(Assumption(kind, sentence))
    if records > 1:
        found.append(
            Assumption(
                "records",
                "Somebody has {records} records. A number is of all records of a person together, each with values of "
                "its own: their clipped gradients add up in a step, and so does the trace of their information. Where "
                "batches are drawn secretly it is an upper bound, as if it were known which of a person's other "
                "records are in each. A fact that stands in k records of somebody is known up to the root of k times "
                "as well as eta says of one value.",
                {"records": personal(records, ".0f")},
            )
        )
    if delta is not None:
        found.append(
            Assumption(
                "epsilon",
                "Each person's own epsilon (delta = {delta}) is for adding or removing that person's record, along the "
                "weights of this run (Feldman and Zrnic 2021). It is estimated from the norms of clipped gradients at "
                "the visits, so it is no guarantee, and it depends on the data: do not publish it.",
                {"delta": given(delta, "g")},
            )
        )
    if unanswered:
        found.append(
            Assumption(
                "unanswered",
                "{unanswered} people were not visited: nothing is said about them.",
                {"unanswered": public(unanswered, ".0f")},
            )
        )
    if unlimited:
        found.append(
            Assumption(
                "overflow",
                "The gradients of {unlimited} people are too large for their numbers, or no numbers. These people "
                "count as known exactly (an error floor of 0) and miss every target. Look for fill values such as "
                "1e20 in the data.",
                {"unlimited": personal(unlimited, ".0f")},
            )
        )
    return tuple(found)


def _values(values: Mapping[str, int]) -> Assumption:
    listed = ", ".join(f"{name} ({count})" for name, count in values.items())
    return Assumption("values", "The private values of a person are: {listed}.", names={"listed": listed})


def _noise(mechanisms: Iterable[Mechanism]) -> Assumption:
    known = list(mechanisms)
    norms, scales = sorted({m.max_grad_norm for m in known}), sorted({m.noise_scale for m in known})
    kind = "hard" if known[0].clipping == "hard" else "smooth (up to 1.1153 times that norm)"
    clipped, noisy = _range("norm", norms), _range("scale", scales)
    return Assumption(
        "release",
        f"Each step publishes the sum of gradients, with {kind} clipping to norm {clipped}, plus Gaussian noise of "
        f"standard deviation {noisy} on every entry.",
        {
            f"{name}{i}": given(value, "g")
            for name, values in (("norm", norms), ("scale", scales))
            for i, value in enumerate(values[:1] if len(values) == 1 else (values[0], values[-1]))
        },
    )


def _range(name: str, values: list[float]) -> str:
    return f"{{{name}0}}" if len(values) == 1 else f"{{{name}0}} to {{{name}1}}"
