"""Private SGD on planes and cars of CIFAR-10 (Guo et al. 2022, figures 5 and 6, of whose ten classes these are two)."""

import warnings
from dataclasses import replace
from functools import partial

import torch

from experiments._figures import draw_guo
from experiments._networks import COLOR_DEVIATIONS, COLOR_MEANS, planes_and_cars
from experiments._result import Result
from experiments._work import Work
from experiments.g22_private_sgd import RANGE, Setting, floors, table, train, with_fixed_batches

VERSION = 4
READINGS = (500, 1000, 2500)
"""The last has as many passes over the images as the shortest run of table 4: 12,500 steps with 50,000 images."""
PEOPLE, BATCH = 10_000, 200
GRID = [Setting(noise, 0.1, 1.0, "color", 0, READINGS[:2], PEOPLE, BATCH) for noise in (0.5, 1.0, 0.2)]
GRID += [replace(each, readings=READINGS) for each in GRID]
QUICK = [replace(GRID[0], readings=(2, 4), people=60, batch=12, stretch=2, most=2, probes=1, sample=6)]


def run(*, quick: bool, work: Work) -> Result:
    """Train with the settings of figure 6, and with other noise."""
    warnings.simplefilter("ignore")
    # Of a run that went on, the longest.
    every = work.pieces({each.key: partial(train, each, work) for each in (QUICK if quick else GRID)})
    done = with_fixed_batches({key.rpartition("-")[0]: each for key, each in every.items()})
    means, deviations = (torch.tensor(values)[:, None, None] for values in (COLOR_MEANS, COLOR_DEVIATIONS))
    pictures = (planes_and_cars("train")[0] * deviations + means).clamp(0, 1)
    figures = draw_guo(done, floors, pictures, RANGE["color"]) if done else {}
    return Result(figures, {"runs": done, "classes": ["airplane", "automobile"]}, table(done))
