"""
Who is exposed, and through what
================================

Most people leak about the same, and a few leak several times as much. The axis is logarithmic: a step to the right
means that the best-known combination of a person's values is known so many times better.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage.display import AttributeDisplay, DistributionDisplay, FloorDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.rename(columns={"s1": "cholesterol", "s5": "triglycerides", "s6": "glucose"})
model = Ridge(alpha=1.0).fit(X, y)
leak = seepage.measure(model, X, y, noise_scale=2.0)

# %%
# One number a person: 1/eta is the smallest error of an unbiased guess in the direction that is known best.

DistributionDisplay.from_leakage(leak).plot()

# %%
# Which attributes are given away most, compared with what was known beforehand?

AttributeDisplay.from_leakage(leak).plot()

# %%
# One attribute, person by person: the smallest error of a guess, against what a baseline guess has.

FloorDisplay.from_leakage(leak, "bmi").plot()
