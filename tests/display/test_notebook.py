"""What people meet shows itself in a notebook."""

from html.parser import HTMLParser

import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import seepage

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "sex", "bmi"]]
MODEL = LinearRegression().fit(X, Y)
LEAK = seepage.measure(MODEL, X, Y, noise_scale=2.0)


def published():
    return seepage.publish(MODEL, X, Y, noise_scale=2.0, accept={"error_floor": {"age": 1.0}})


SHOWN = {
    "leakage": (lambda: LEAK, "442 people"),
    "without noise": (lambda: seepage.measure(MODEL, X, Y), "covariates"),
    "statement": (lambda: seepage.measure(MODEL, X, Y).statement(), "For a paper"),
    "suggestion": (lambda: seepage.release.suggest(LEAK), "intervals wider by"),
    "groups": (lambda: LEAK.by_group(X["sex"]), "median"),
    "noise": (lambda: seepage.calibrate(LEAK, error_floor={"age": 5.0}), "best of all shapes"),
    "publication": (published, "standard error below 1"),
    "policy": (lambda: seepage.Policy(error_floor={"age": 5.0}), "age"),
}


class Words(HTMLParser):
    """Collects what a reader sees, and which elements are open."""

    def __init__(self):
        super().__init__()
        self.words, self.open = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "meta", "col", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)


@pytest.mark.parametrize("name", SHOWN)
def test_it_shows_what_it_says(name):
    made, words = SHOWN[name]
    page = Words()
    page.feed(made()._repr_html_())
    assert page.open == []
    assert words in " ".join(" ".join(page.words).split())


def test_a_publication_does_not_show_its_key():
    publication = published()
    assert publication.key.hex() not in publication._repr_html_()


def test_groups_show_the_numbers_of_their_frame():
    found = LEAK.by_group(X["sex"])
    row = found.frame.iloc[0]
    assert f"{row['mean']:.3g} ({row['mean_low']:.3g} to {row['mean_high']:.3g})" in found._repr_html_()
