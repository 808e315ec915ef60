"""
Who is exposed, and how much
============================

Most people leak about the same, and a few leak several times as much. The axis is logarithmic: a step to the right
means that the best-known combination of a person's values is known so many times better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = Ridge(alpha=1.0).fit(X, y)
leak = seepage.measure(model, X, y, noise_scale=2.0)

# %%
# One number a person: 1/eta is the smallest error of an unbiased guess in the direction that is known best.

eta = leak.examples["eta"]
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.hist(eta, bins=np.geomspace(eta.min(), eta.max(), 30), color="#0072B2", alpha=0.85)
ax.axvline(eta.median(), color="0.2", linewidth=1, linestyle="--")
ax.text(eta.median(), 1.02, "median", transform=ax.get_xaxis_transform(), ha="center", fontsize=9)
ax.set(xscale="log", xlabel="eta", ylabel="people")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Which attributes are given away most, compared with what was known beforehand? Here the share of the variance of each
# attribute that is left for the median person and for the most exposed one.

left = leak.variance_left()
order = left.min().sort_values().index
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
places = np.arange(len(order))
ax.hlines(places, left[order].min(), left[order].median(), color="0.75", linewidth=2)
ax.plot(left[order].median(), places, "o", color="#0072B2", label="median person")
ax.plot(left[order].min(), places, "D", color="#D55E00", label="most exposed person")
ax.set(yticks=places, yticklabels=order, xlim=(0, 1.02))
ax.set_xlabel("share of the prior variance that is left")
ax.invert_yaxis()
ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
ax.spines[["top", "right"]].set_visible(False)
