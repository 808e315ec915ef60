"""
Before and after equalizing
===========================

Noise is chosen for the most exposed person. When rows are reweighted until all leak the same, less of it is enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
before = seepage.measure(Ridge(alpha=1.0).fit(X, y), X, y, noise_scale=2.0)
equal = seepage.EqualizedLeakage(Ridge(alpha=1.0), noise_scale=2.0).fit(X, y)

# %%
# Everyone ends up with the same eta: above where most were, and well below where the most exposed person was.

eta, after = before.examples["eta"], equal.leakage_.examples["eta"]
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.hist(eta, bins=np.geomspace(eta.min(), eta.max(), 30), color="#0072B2", alpha=0.85, label="before")
ax.axvline(after.mean(), color="#D55E00", linewidth=2, label="after, everyone")
ax.set(xscale="log", xlabel="eta", ylabel="people")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

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
