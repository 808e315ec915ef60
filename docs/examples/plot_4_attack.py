"""
An attack against its bound
===========================

One dot a person: how well the strongest attacker that we know guesses their bmi, and the error below which no unbiased
attacker can get. If both are right, dots lie on or above the line, and near it.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage.attacks import AttributeInversion, MembershipScore

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
leak = seepage.measure(Ridge(alpha=1.0).fit(X, y), X, y, noise_scale=0.1)

found = seepage.verify(leak, AttributeInversion("bmi"), trials=300)
found.plot()
print(found.verdict)

# %%
# Was somebody in the data at all? No test does better than the bound, and the likelihood ratio reaches it.

found = seepage.verify(leak, MembershipScore(), trials=1000)
found.plot()
print(found.verdict)
