"""
Groups
======

Some groups are exposed more than others. Intervals are from a bootstrap over people: what could have come out with
other people of the same kind.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.display import DistributionDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean radius", "mean texture", "mean smoothness", "mean symmetry"]]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
leak = seepage.measure(model, X, y, noise_scale=0.1)

# %%
# People by what the model thinks of them. Those it is unsure about move it most.

sure = pd.cut(
    model.predict_proba(X)[:, 1],
    [0, 0.02, 0.2, 0.8, 0.98, 1],
    labels=["surely malignant", "likely malignant", "unsure", "likely benign", "surely benign"],
)
groups = leak.by_group(np.asarray(sure))
print(groups.frame)

# %%
# The comparison in one line, with its interval.

ratio, low, high = groups.ratio()
print(f"{ratio:.1f} times as much in the most exposed group as in the least ({low:.1f} to {high:.1f})")

# %%
# A mean hides how far a group reaches.

DistributionDisplay.from_leakage(leak, groups=np.asarray(sure)).plot()
