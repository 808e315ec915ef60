"""Glossary of all quantities."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Term:
    """A quantity in words: what it is, how to read it, what it assumes, one sentence each.

    Attributes
    ----------
    is_, read, assumes : str
        The sentences.
    see : tuple of str
        What to look at next.
    also : tuple of str
        What people also call it.
    title, plain : str
        What a report calls it, and how it explains it to somebody who must decide: words that need no mathematics.
        Empty for what no report shows.
    """

    is_: str
    read: str
    assumes: str
    see: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    title: str = ""
    plain: str = ""

    @property
    def sentences(self) -> tuple[str, str, str]:
        """All three."""
        return self.is_, self.read, self.assumes


def glossary() -> Mapping[str, Term]:
    """Return every quantity by its name.

    Examples
    --------
    >>> from seepage.meaning import glossary
    >>> glossary()["delta"].is_
    'Delta is the probability with which the epsilon of differential privacy may fail to hold.'
    """
    return MappingProxyType(_TERMS)


def name_of(quantity: str) -> str | None:
    """Return the name under which a quantity stands in the glossary, whatever it was called; None if it does not.

    Examples
    --------
    >>> from seepage.meaning import name_of
    >>> name_of("Fisher information loss")
    'eta'
    """
    plain = quantity.strip().lower().replace(" ", "_").replace("-", "_")
    return next((name for name, term in _TERMS.items() if plain in (name, *term.also)), None)


_KNOWS = "It assumes an attacker who knows everything else: all other records, the weights and the penalty."

_TERMS = {
    "eta": Term(
        "Eta is the Fisher information loss of a person: the square root of the largest eigenvalue of the information "
        "that the release carries about that person's private values.",
        "Every unbiased guess of any combination of these values has a standard deviation of at least 1/eta, so half "
        "the eta means an unbiased attacker who is wrong by twice as much.",
        _KNOWS,
        ("dfil", "error_floor", "joint"),
        also=("fil", "fisher_information_loss", "fisher_information"),
        title="eta",
        plain="One number for all of a person's values: an unbiased guess of any combination of them has a standard "
        "error of at least 1/eta. Twice the eta is half the error. It compares people with each other; its unit is "
        "that of the values, mixed.",
    ),
    "dfil": Term(
        "Dfil is the mean information per private value of a person, as a square root: eta averaged over all "
        "directions instead of taken in the worst one.",
        "The mean squared error per value of any unbiased guess of all values together is at least 1/dfil squared.",
        _KNOWS,
        ("eta", "error_floor"),
    ),
    "eta_low": Term(
        "Eta_low stands beside a person's eta where eta counts more than is known to be given away: for networks, and "
        "for several releases together.",
        "Of several releases together the true eta is between the two, if their etas are exact; of a network both are "
        "estimates, which bound nothing, and the closer they are, the less depends on what is not known.",
        "For networks eta is the square root of the estimated trace of the information, and eta_low is 0.",
        ("eta",),
    ),
    "dfil_high": Term(
        "Dfil_low and dfil_high are the limits of a 95% interval around the dfil of a network, which is estimated from "
        "a few visits to each person.",
        "The true dfil is above dfil_high in a few of a hundred cases, for the most exposed as for others; dfil_high "
        "is far above dfil where a few visits say little, and more sweeps bring it down.",
        "Visits are taken to vary as those of people with a similar dfil do; whoever gives nearly everything away in a "
        "few steps that no visit met may still be above.",
        ("dfil",),
        also=("dfil_low",),
    ),
    "dfil_unamplified": Term(
        "Dfil_unamplified is what a person's dfil would be if everybody knew who was in which batch of the training: "
        "dfil without the credit for secret sampling.",
        "Rely on it if an attacker may learn who was in which batch; dfil itself is smaller where batches are drawn at "
        "random and stay secret, and the same elsewhere.",
        "Both are estimates from the same visits, and sums over all steps that were taken.",
        ("dfil",),
        also=("unamplified",),
    ),
    "error_floor": Term(
        "The error floor is the smallest standard error of any unbiased guess of one attribute of one person, in the "
        "unit of that attribute.",
        "A floor of 5 for an age in years says that no unbiased attack pins this person's age better than ± 5 years.",
        "An attacker with a prior may be biased toward it, and then the floor with that prior is the honest one; a "
        "floor of ten times the error of a baseline guess leaves 99% of what was uncertain about values of a normal "
        "distribution, and less where a few are far from all others.",
        ("eta", "prior", "remaining_variance"),
        also=("error", "floor"),
        title="± (error floor)",
        plain="The smallest standard error that any unbiased guess of a person's value can have, made from the release "
        "by an attacker who already knows everything else: all other people, and all other values of this one. An "
        "attacker who knows less does worse.",
    ),
    "success_rate": Term(
        "The success rate is how often the best attacker tells a person's true category from another one, exactly by a "
        "refit with the other value where the column exact says so, and elsewhere approximately, which is no bound.",
        "At equal odds 50% is a coin toss and 100% is certainty; a policy sets the largest rate that is acceptable.",
        _KNOWS,
        ("policy", "prior"),
        title="Success rate",
        plain="How often the best attacker tells a person's true category from the other one that is easiest to tell "
        "from it, if both were as likely before. 50% is a coin, 100% is certainty.",
    ),
    "joint": Term(
        "The joint eta is the information that the release carries about a set of people together, such as a subgroup "
        "or everybody.",
        "Anything about the set as a whole, such as a mean, may be known with a standard error of 1/eta although no "
        "single member is exposed.",
        "It assumes that the attacker knows everybody outside the set and nothing private about those inside.",
        ("eta", "group"),
    ),
    "noise_scale": Term(
        "The noise scale is the standard deviation of the Gaussian noise that is added to every published coefficient "
        "and to the intercept.",
        "Every eta is proportional to its inverse: twice the noise halves eta and doubles every error floor.",
        "It must be the noise that is really added, for a release without noise carries infinite information about "
        "everyone.",
        ("eta", "calibrate"),
        also=("noise", "sigma"),
    ),
    "remaining_variance": Term(
        "The variance left is the share of what was uncertain about an attribute before the release that is still "
        "uncertain after it.",
        "Near 1 a baseline guess does as well as the release allows; near 0 the release gives the value away.",
        "It takes how the attribute is spread over all people as what an attacker knew before, and the information at "
        "a person's own value for that at every other; it is a mean over the values that the person might have.",
        ("error_floor", "prior"),
        title="Left unknown",
        plain="What share of an attribute's variance among all people is left to somebody who saw the release. 100%: "
        "they know no more than before. 0%: they know the value. In the mean over the values that a person might "
        "have, with the information at their own; for values spread as they are over all people or, where a variance "
        "was stated, like a bell.",
    ),
    "epsilon": Term(
        "Epsilon is the privacy parameter of differential privacy: a bound on how much the probability of any release "
        "changes, as a logarithm, when one record is replaced.",
        "It holds for the worst record in the worst data and so is one number for everybody, where eta is one for each "
        "person.",
        "It needs a loss of bounded slope, a penalty on every parameter and a bound on the norm of the features; "
        "without these there is no epsilon at all.",
        ("renyi", "delta", "eta"),
        also=("differential_privacy",),
    ),
    "delta": Term(
        "Delta is the probability with which the epsilon of differential privacy may fail to hold.",
        "It is chosen far below one over the number of people; 0.00001 is common.",
        "It is a promise about the mechanism, and says nothing about any one person.",
        ("epsilon",),
    ),
    "renyi": Term(
        "Renyi epsilon of order 2 is another measure of differential privacy: the mean square of the ratio of "
        "likelihoods, as a logarithm.",
        "For Gaussian noise it is the square of sensitivity over noise scale, and it bounds the error of any "
        "reconstruction.",
        "It assumes what epsilon assumes: bounded features, bounded slope, and a penalty on every parameter.",
        ("epsilon",),
        also=("renyi_epsilon",),
    ),
    "susceptibility": Term(
        "Susceptibility is by how much a person's privacy loss in one step of private training changes with each of "
        "that person's input values.",
        "Where it is large, small changes of the input move the published gradient most: for an image it is a map of "
        "the pixels that matter.",
        "It is computed from the gradient as it is published, clipped when training clips, and gives no credit for "
        "secret sampling.",
        ("eta", "dfil"),
        also=("plis",),
    ),
    "attribute": Term(
        "An attribute is one private column of the data as you know it, before any scaling or encoding by the model's "
        "pipeline.",
        "Each person has an eta for each attribute, in the unit of one over that column's own unit.",
        "Columns that are not listed as private count as known to the attacker.",
        ("error_floor", "label"),
        also=("attributes", "private"),
    ),
    "label": Term(
        "The label is what the model learned to predict, the column given as target.",
        "It counts as one more private value of each person unless you say that it is public.",
        "Say so (--public-label) only if an attacker really knows everybody's label already.",
        ("attribute",),
        also=("public_label", "target"),
    ),
    "prior": Term(
        "A prior is what an attacker knows about a value before the release, such as how ages are spread in the "
        "population.",
        "With a prior, no guess of any kind beats the floor, in the mean over the values that a person might have; "
        "without one, the floor holds for unbiased guesses only.",
        "The one that is called 'data' takes all values of the people measured, each as likely as it is frequent; one "
        "that is given by a variance is a Gaussian; and either takes the information at a person's own value for that "
        "at every other, which is an approximation where the model is not linear in the attribute.",
        ("error_floor", "remaining_variance"),
    ),
    "policy": Term(
        "A policy lists what a release must achieve before it may leave the house: error floors, success rates, a "
        "largest eta.",
        "It is met when every target holds for the stated share of people, which is everyone by default.",
        "It judges one release alone; other releases about the same people add to what is known about them.",
        ("error_floor", "success_rate", "quantile", "calibrate"),
    ),
    "quantile": Term(
        "The quantile of a policy is the share of people for whom each of its targets must hold.",
        "At 1, the default, the most exposed person decides; at 0.99 one person in a hundred may fall short.",
        "Those who fall short are always the most exposed: choose a value below 1 only if you can answer to them.",
        ("policy",),
    ),
    "calibrate": Term(
        "Calibrating finds the smallest noise scale with which a release meets a policy.",
        "It has a closed form, for every quantity scales with the inverse of the noise.",
        "The exact answer is decided by the most exposed person and gives that person away a little, so it is rounded "
        "up before anybody sees it.",
        ("noise_scale", "policy"),
        also=("calibration",),
    ),
    "certificate": Term(
        "A certificate is the record that goes with a published model: what was published, with what noise, which "
        "targets it meets, and what that assumes.",
        "It holds no value about a single person, and fingerprints that only the owner's key can check.",
        "It speaks of this one release; whatever else is published about the same people is not in it.",
        ("policy", "noise_scale"),
        also=("publish",),
    ),
    "ledger": Term(
        "A ledger keeps, for each person, the sum of the information in all releases, and refuses the one after which "
        "an unbiased guess of a value could be closer than was promised.",
        'The line "closest age so far: ±31 (promise ±25)" says that no unbiased guess of anybody\'s age from all '
        "releases together has a standard error below 31, and that no release is let through that takes it below 25.",
        "It knows the releases that were posted to it, counts their noise as independent, and takes people's values as "
        "unchanged in between.",
        ("error_floor", "policy"),
        also=("balance", "debit", "budget"),
    ),
    "unbiased": Term(
        "A guess is unbiased if it is right on average, whatever the true value is: it leans to no side.",
        "Of all such guesses, however clever and from however much computing, the error floor is the smallest standard "
        "error: ± 5 says that also the best of them is off by 5, in the root of the mean square.",
        "A guess that leans toward what is common, such as always the mean age, can be nearer for common people and is "
        "further off for others; the floor with a prior is about those.",
        ("error_floor", "prior"),
        also=("unbiased_guess", "bias"),
    ),
    "group": Term(
        "A group is a set of people who share a value of a column, and groups are compared by their mean, median and "
        "largest eta.",
        "The intervals are bootstrap intervals: groups whose intervals overlap may well leak the same.",
        "They describe the people in this data, and not a population from which they were drawn in some other way.",
        ("eta", "joint"),
        also=("groups",),
    ),
    "assurance": Term(
        "The assurance of a measurement says how far its numbers can be trusted: exact, estimated or heuristic.",
        "Exact ones come from a formula without approximation, estimated ones with a standard error, heuristic ones "
        "without any promise.",
        "Even exact numbers hold only under the assumptions that the measurement lists.",
        ("eta",),
    ),
}
