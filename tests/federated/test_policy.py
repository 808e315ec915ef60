"""Limits on layers, and how training is described."""

import math
import pickle

import pytest

import seepage
from seepage.federated import LayerPolicy, LocalTraining


def test_a_number_limits_every_layer_and_a_mapping_those_it_names():
    policy = LayerPolicy(dfil=1.0, susceptibility={"second": 2.0})
    values = {"dfil": 1.5, "susceptibility": 3.0, "sensitivity": 9.0}
    found = [str(breach) for breach in policy.breaches({"first": values, "second": values})]
    assert found == ["dfil of first is above 1", "dfil of second is above 1", "susceptibility of second is above 2"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_above_every_limit(value):
    assert LayerPolicy(dfil=1e300).breaches({"first": {"dfil": value}})
    assert not LayerPolicy(sensitivity=1.0).breaches({"first": {"dfil": value}})


def test_policies_survive_pickling():
    policy = LayerPolicy(dfil={"first": 1.0}, sensitivity=2.0)
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_a_policy_must_limit_something_by_a_positive_number():
    with pytest.raises(seepage.errors.InputError, match="guards nothing"):
        LayerPolicy()
    with pytest.raises(seepage.errors.InputError, match="dfil of first must be a positive number, not 0"):
        LayerPolicy(dfil={"first": 0})
    with pytest.raises(seepage.errors.InputError, match=r"'third', but the model's layers are \['first'\]"):
        LayerPolicy(dfil={"third": 1.0}).check(["first"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps must be a positive whole number"),
        ({"learning_rate": -1.0}, "learning_rate must be"),
        ({"noise_multiplier": math.inf}, "noise_multiplier must be"),
        ({"max_grad_norm": None}, "in units of max_grad_norm"),
    ],
)
def test_training_must_make_sense(change, message):
    settings = {"steps": 1, "batch_size": 1, "max_grad_norm": 1.0, "noise_multiplier": 1.0, "learning_rate": 0.1}
    with pytest.raises(seepage.errors.InputError, match=message):
        LocalTraining(**{**settings, **change})
