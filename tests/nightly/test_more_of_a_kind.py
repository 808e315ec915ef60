"""What a landing tries of few people, of one model or of small networks, of more of them."""

import numpy as np
import pytest

from benchmarks.attack import SETTINGS, attacks, people_of, published, scale_of
from benchmarks.network import NETWORKS, compare
from benchmarks.others import attacked, cases


def test_the_best_attacker_of_ten_people_of_diabetes_stays_within_the_promise():
    """Verdict, certificate, model card and scale, all computed anew for every candidate."""
    setting = SETTINGS["diabetes"]()
    scale = scale_of(setting)
    truth = published(setting, setting.X, scale)
    for person in people_of(setting, 10):
        tried = list(attacks(setting, person, truth, scale))
        assert len(tried) >= 40
        assert not any(each.by_words for each in tried)
        assert max(each.reached for each in tried) <= 1


def test_the_error_of_guesses_of_classes_from_redrawn_tables_is_the_answer():
    case = next(case for case in cases() if case.name == "drawn, multinomial ridge")
    found = [cell["ratio"] for cell in attacked(case, 0, 3, 1000, np.random.default_rng(0))]
    assert np.isfinite(found).all()
    assert 0.9 < np.median(found) < 1.1
    assert min(found) > 0.85


@pytest.mark.parametrize("mode", NETWORKS["ResNet-18, group norm"][3])
def test_the_weights_of_a_residual_network_are_the_same_to_the_last_bit(mode):
    _, same = compare("ResNet-18, group norm", mode, 1, 2, 2)
    assert same
