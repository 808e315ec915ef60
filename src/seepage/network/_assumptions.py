"""What the numbers of an accountant assume."""

from typing import TYPE_CHECKING

from seepage._facts import Assumption, Number, given, personal

if TYPE_CHECKING:
    from seepage.network._accountant import FisherAccountant

_SECRET = "who is in them stays secret: the exact factor for that is applied, with each example's own gradient norm."
_NO_CREDIT = "no credit is given for sampling (factor 1)."
_SAMPLING = {
    "poisson": f"Batches are drawn by Poisson sampling and {_SECRET}",
    "opacus": f"Batches are drawn by Opacus's Poisson sampler and {_SECRET}",
    "seeded": f"Batches are drawn by a Poisson sampler with a known seed, which tells who is in each: {_NO_CREDIT}",
    "other": f"Batches are not known to be drawn by Poisson sampling (shuffled, fixed or unrecognized): {_NO_CREDIT}",
}


def assumptions(accountant: "FisherAccountant", unseen: float) -> tuple[Assumption, ...]:
    """Return what is assumed, as far as the run so far tells."""
    history = accountant._history
    found = [
        Assumption(
            "attacker",
            "The attacker sees the noisy sum of gradients of every step, and with it the weights of every step; "
            "whoever sees the final weights alone knows less. They know all else: the other people, the order of "
            "steps, the network.",
        ),
        _noise(accountant),
        *(Assumption("sampling", _SAMPLING[name]) for name in dict.fromkeys(sampling for _, sampling, _ in history)),
        Assumption(
            "label",
            "The label is public."
            if accountant.label == "public"
            else "The label is private, and counts among a person's values.",
        ),
        Assumption(
            "estimate",
            "Numbers are sums over the steps that were taken: an unbiased estimate of an upper bound of the "
            "information (Guo et al. 2022, theorem 3), from {probes} random directions a step. Its standard error is "
            "that of the directions alone.",
            {"probes": given(accountant.probes, "g")},
        ),
    ]
    if accountant._at_embedding:
        found.append(
            Assumption(
                "embedding",
                "The input is made of tokens, which cannot move a little: the private values are the outputs of the "
                "embedding layer.",
            )
        )
    if accountant._kinks:
        found.append(
            Assumption(
                "kinks",
                "The network has kinks ({layers}): what an input gives away by crossing one is not in the numbers.",
                names={"layers": ", ".join(sorted(accountant._kinks))},
            )
        )
    bounded = "eta is bounded by the trace (eta_low is 0): keep a spectrum to bound it closely."
    sketched = "eta is an upper bound from a low-rank sketch, eta_low a lower bound."
    found.append(Assumption("spectrum", bounded if accountant._sketch is None else sketched))
    if unseen > 0:
        found.append(
            Assumption(
                "never probed",
                "{share} of the people took part in steps but were never probed: theirs is the average of the others, "
                "with the spread of the others as its error.",
                {"share": personal(unseen, ".1%")},
            )
        )
    return tuple(found)


def _noise(accountant: "FisherAccountant") -> Assumption:
    mechanisms = {mechanism for mechanism, _, _ in accountant._history}
    norms, norm = _range("norm", {m.max_grad_norm for m in mechanisms})
    scales, scale = _range("scale", {m.noise_scale for m in mechanisms})
    kind = "hard" if accountant.clipping == "hard" else "smooth (up to 1.1153 times that norm)"
    return Assumption(
        "release",
        f"Each step publishes the sum of gradients, with {kind} clipping to norm {norm}, plus Gaussian noise of "
        f"standard deviation {scale} on every entry.",
        norms | scales,
    )


def _range(name: str, values: set[float]) -> tuple[dict[str, Number], str]:
    """Return the ends of some values as numbers, and their place in a sentence."""
    if len(values) == 1:
        return {name: given(max(values), "g")}, f"{{{name}}}"
    ends = {f"least_{name}": given(min(values), "g"), f"most_{name}": given(max(values), "g")}
    return ends, " to ".join(f"{{{end}}}" for end in ends)
