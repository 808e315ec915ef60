"""The list of what the rows decided about one release: its certificate is written from it."""

from collections.abc import Iterator

from seepage._choices import ABOUT_STEPS, KINDS, Choice, choices_in, publication_choice, scale_choice
from seepage._facts import Assumption
from seepage._noise import GaussianNoise
from seepage.linear.information import Fitted, fit_assumptions
from seepage.release._copy import SEARCHED, last_step
from seepage.release._policy import Policy
from seepage.release._preprocessing import PublishedSteps
from seepage.release._terms import Terms

# Always there: that the sentence is missing would say that no cell is.
_MISSING = Choice("missing cells", KINDS["missing cells"], "declared", "Taken as known to the attacker.")
_DECLARED = "Public, says whoever published this; what the choice tells is not counted."


def choices_of(
    fit: Fitted,
    assumptions: tuple[Assumption, ...],
    noise: GaussianNoise,
    steps: PublishedSteps,
    policy: Policy | None,
    terms: Terms,
) -> tuple[Choice, ...]:
    """Return everything between the rows and what leaves that the rows decided, or could have decided.

    Parameters
    ----------
    fit : Fitted
        The model.
    assumptions : tuple of Assumption
        What its measurement takes for granted.
    noise : GaussianNoise
        The noise that it is published with.
    steps : PublishedSteps
        What the steps before it have stored.
    policy : Policy or None
        What it is held against.
    terms : Terms
        What whoever publishes it said.
    """
    own = [one for one in assumptions if one.kind not in ABOUT_STEPS]
    found = [
        scale_choice(without_data=terms.noise_chosen_without_data),
        *_spread(noise),
        *_penalty(fit, own, terms),
        *_weights(terms),
        *_classes(fit, terms),
        *filter(None, (stored.choice() for stored in steps.constants.values())),
        *(one for one in choices_in(own) if one.kind != "penalty"),
        _MISSING,
        publication_choice(judged=policy is not None),
    ]
    return tuple(dict.fromkeys(found))


def choices_before(fit: Fitted, terms: Terms) -> list[Choice]:
    """Return what is known of the penalty before anything is measured."""
    searched = tuple(one for one in fit_assumptions(fit.search, (), (), 0.0) if one.kind == "penalty")
    return _penalty(fit, [*searched, *terms.remarks], terms)


def _spread(noise: GaussianNoise) -> Iterator[Choice]:
    what = "how the noise is spread over the parameters"
    if noise.shape is not None and not noise.follows_rows:
        yield Choice("shape", what, "declared", "Given, or made from public rows: the private ones have no part in it.")
    elif noise.shape is None and noise.covariance is not None:
        yield Choice("shape", what, "declared", "A covariance that was given.")


def _penalty(fit: Fitted, assumptions: list[Assumption], terms: Terms) -> list[Choice]:
    found = [one for one in choices_in(assumptions) if one.kind == "penalty"]
    if terms.public_penalty:
        found = [Choice(one.kind, one.what, "declared", _DECLARED) if one.status == "refused" else one for one in found]
    settings = last_step(fit.model).get_params(deep=False)
    if not found and any(name in settings for name in SEARCHED):
        given = "Given when the model was fitted, and taken as known."
        found.append(Choice("penalty", "how strong the penalty is", "declared", given))
    return found


def _weights(terms: Terms) -> Iterator[Choice]:
    if terms.sample_weight is not None:
        how = "Given, and taken as known to the attacker. What they tell, if rows made them, is not counted."
        yield Choice("weights", "what each row weighs", "declared", how)


def _classes(fit: Fitted, terms: Terms) -> Iterator[Choice]:
    if fit.classes is None:
        return
    if terms.classes is not None:
        how = "Given by whoever published this; that somebody has each of them is taken as known."
    elif terms.public_label:
        how = "The label is public."
    else:
        how = "No and yes, whatever the rows have."
    yield Choice("classes", "which classes there are", "declared", how)


def choices_of_estimates(
    assumptions: tuple[Assumption, ...], noise: GaussianNoise, policy: Policy | None, terms: Terms
) -> tuple[Choice, ...]:
    """Return the same of numbers that solve equations: weights and nuisance models are part of these, and counted."""
    return (
        scale_choice(without_data=terms.noise_chosen_without_data),
        *_spread(noise),
        *choices_in(assumptions),
        _MISSING,
        publication_choice(judged=policy is not None),
    )
