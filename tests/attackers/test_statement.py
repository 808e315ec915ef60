"""The sentence for a paper is about the people assessed, says how many they are, and names the outcome."""

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

import seepage

RANDOM = np.random.default_rng(1)
N = 400
PEOPLE = pd.DataFrame({"age": RANDOM.normal(50, 10, N), "income": 30 * np.exp(1.3 * RANDOM.normal(size=N))})
PEOPLE["score"] = 0.1 * PEOPLE["age"] + 0.02 * PEOPLE["income"] + RANDOM.normal(0, 2, N)
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-0.05 * (PEOPLE["age"] - 50)))).astype(int)


def assessed(leak, attribute):
    most = leak.by_attacker().most
    return int(leak.against(most).error_floor()[attribute].notna().sum())


def test_the_sentence_says_how_many_people_are_assessed():
    leak = seepage.measure(smf.ols("score ~ age + income", PEOPLE).fit())
    count, said = assessed(leak, "score"), leak.statement().paper
    assert 0 < count < N
    assert f"for the score, the outcome, of the most exposed of the {count} people assessed, out of 400" in said
    assert "People who are not assessed may be more exposed." in said


def test_a_negative_binomial_model_has_a_sentence():
    people = PEOPLE.assign(visits=RANDOM.negative_binomial(2, 0.3, N))
    leak = seepage.measure(smf.negativebinomial("visits ~ age", people).fit(disp=0), known_records=0)
    assert "An attacker who uses averages" in leak.statement().paper


def test_the_sentence_has_the_outcome_too_where_another_attribute_has_the_smallest_error():
    leak = seepage.measure(smf.logit("ill ~ age", PEOPLE).fit(disp=0))
    said, column = leak.statement(), leak.by_attacker().columns[-2]
    assert said.attribute == "age"
    rate, share = column.cells["ill"].values[2], column.cells["ill"].claimed
    people = "400 people" if share == 1 else f"the {round(share * N)} people assessed, out of 400"
    assert f"The outcome, ill, of the most exposed of {people}, is inferred correctly {rate:.0%}" in said.paper
