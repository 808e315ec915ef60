"""What the numbers of an accountant assume, in sentences."""

from typing import TYPE_CHECKING

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


def assumptions(accountant: "FisherAccountant", unseen: float) -> tuple[str, ...]:
    """Return what is assumed, as far as the run so far tells."""
    history = accountant._history
    found = [
        "The attacker sees the noisy sum of gradients of every step, and with it the weights of every step; whoever "
        "sees the final weights alone knows less. They know all else: the other people, the order of steps, the "
        "network.",
        _noise(accountant),
        *dict.fromkeys(_SAMPLING[sampling] for _, sampling, _ in history),
        "The label is public."
        if accountant.label == "public"
        else "The label is private, and counts among a person's values.",
        "Numbers are sums over the steps that were taken: an unbiased estimate of an upper bound of the information "
        f"(Guo et al. 2022, theorem 3), from {accountant.probes:g} random directions a step. Its standard error is "
        "that of the directions alone.",
    ]
    if accountant._at_embedding:
        found.append(
            "The input is made of tokens, which cannot move a little: the private values are the outputs of the "
            "embedding layer."
        )
    if accountant._kinks:
        found.append(
            f"The network has kinks ({', '.join(sorted(accountant._kinks))}): what an input gives away by crossing one "
            "is not in the numbers."
        )
    if accountant._sketch is None:
        found.append("eta is bounded by the trace (eta_low is 0): keep a spectrum to bound it closely.")
    else:
        found.append("eta is an upper bound from a low-rank sketch, eta_low a lower bound.")
    if unseen > 0:
        found.append(
            f"{unseen:.1%} of the people took part in steps but were never probed: theirs is the average of the "
            "others, with the spread of the others as its error."
        )
    return tuple(found)


def _noise(accountant: "FisherAccountant") -> str:
    mechanisms = {mechanism for mechanism, _, _ in accountant._history}
    norms = sorted({m.max_grad_norm for m in mechanisms})
    scales = sorted({m.noise_scale for m in mechanisms})
    kind = "hard" if accountant.clipping == "hard" else "smooth (up to 1.1153 times that norm)"
    return (
        f"Each step publishes the sum of gradients, with {kind} clipping to norm {_range(norms)}, plus Gaussian noise "
        f"of standard deviation {_range(scales)} on every entry."
    )


def _range(values: list[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
