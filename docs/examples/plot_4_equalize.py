"""
Before and after equalizing
===========================

Noise is chosen for the most exposed person. When rows are reweighted until everyone is equally exposed, less
of it is enough. This is a study: what the weights themselves tell is not counted, so an equalized model is not
published.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage.display import EqualizedDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = Ridge(alpha=1.0).fit(X, y)
before = seepage.measure(model, X, y, noise_scale=2.0)
equal = seepage.release.EqualizedLeakage(Ridge(alpha=1.0), noise_scale=2.0).fit(X, y)

# %%
# Everyone ends up with the same eta: above where most were, and well below where the most exposed person was.

EqualizedDisplay.from_leakages(before, equal.leakage_).plot()

# %%
# The spread, which is the standard deviation over the mean, falls with every fit.

figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.semilogy(equal.history_, "o-", color="#0072B2", markersize=4)
ax.axhline(equal.tol, color="0.4", linewidth=1, linestyle=":")
ax.set(xlabel="fit", ylabel="spread of eta")
ax.spines[["top", "right"]].set_visible(False)

# %%
# What it buys is noise, for a target about eta. What it costs is accuracy: the people who were given less weight were
# not there for nothing.

for name, leak in (("before", before), ("after", equal.leakage_)):
    print(f"noise for eta <= 5, {name}: {seepage.calibrate(leak, eta=5.0, exact=True, shape='isotropic').scale:.1f}")
print(f"R2 without noise: {model.score(X, y):.2f} before, {equal.score(X, y):.2f} after")

# %%
# Equalize what your target is about. Equal eta does not mean equal floors: here a floor for bmi would even need more
# noise than before. With ``quantity="bmi"`` it needs much less.

by_bmi = seepage.release.EqualizedLeakage(Ridge(alpha=1.0), noise_scale=2.0, quantity="bmi").fit(X, y)
for name, leak in (
    ("as it was", before),
    ("equal eta", equal.leakage_),
    ("equal floors of bmi", by_bmi.leakage_),
):
    noise = seepage.calibrate(leak, error_floor={"bmi": 2.0}, shape="isotropic", exact=True)
    print(f"noise for bmi ± 2, {name}: {noise.scale:.1f}")
