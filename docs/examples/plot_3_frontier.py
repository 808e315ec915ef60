"""
What protection costs
=====================

More noise hides people better and predicts worse. A stronger penalty makes the coefficients depend less on each person,
so that the same protection takes less noise. The frontier shows both.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), Ridge(alpha=10.0)).fit(X_train, y_train)

# %%
# The smallest error of any unbiased guess of anybody's bmi, against the score on people the model has not seen. The
# numbers are noises in standard errors of each coefficient, the band holds 95% of draws, and the dotted line is the
# model without noise.

people = X_train, y_train, X_test, y_test
curve = seepage.release.frontier(model, *people, attribute="bmi")
curve.plot()

# %%
# With three penalties: at strong protection, the strongly penalized model is the better one.

curve = seepage.release.frontier(
    model,
    *people,
    standard_errors=[0.05, 0.1, 0.2, 0.5, 1.0, 2.0],
    penalties=[1.0, 30.0, 300.0],
    attribute="bmi",
)
curve.plot()
