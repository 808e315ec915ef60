"""
Before and after equalizing
===========================

Noise is chosen for the most exposed person. When rows are reweighted until all leak the same, less of it is enough.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage.report import EqualizedDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
before = seepage.measure(Ridge(alpha=1.0).fit(X, y), X, y, noise_scale=2.0)
equal = seepage.EqualizedLeakage(Ridge(alpha=1.0), noise_scale=2.0).fit(X, y)

# %%
# Everyone ends up with the same eta: above where most were, and well below where the most exposed person was.

EqualizedDisplay.from_leakages(before, equal.leakage_).plot()

# %%
# It takes a handful of fits; the spread is the standard deviation over the mean.

figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.semilogy(equal.history_, "o-", color="#0072B2")
ax.axhline(equal.tol, color="0.4", linewidth=1, linestyle=":")
ax.set(xlabel="fit", ylabel="spread of eta")
ax.spines[["top", "right"]].set_visible(False)

# %%
# And what it buys: the noise that keeps everybody's bmi to at least 2.

for name, leak in (("before", before), ("after", equal.leakage_)):
    print(f"{name}: {seepage.calibrate(leak, error_floor={'bmi': 2.0}):.2f}")
