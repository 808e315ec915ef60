"""On what terms a model is published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seepage._decision import Decision
from seepage._facts import Assumption
from seepage._noise import GaussianNoise
from seepage._tables import Listed
from seepage.release._policy import Policy


@dataclass(frozen=True, eq=False)
class Terms:
    """On what terms a model is published; `publish` says what the fields are."""

    noise_scale: float | GaussianNoise
    accept: Policy | Mapping[str, object] | None
    sample_weight: Listed = None
    offset: Listed = None
    public_label: bool = False
    attributes: Sequence[str] | None = None
    public_preprocessing: Sequence[str] = ()
    public_penalty: bool = False
    classes: Sequence[object] | None = None
    categories: Mapping[str, Sequence[object]] | None = None
    noise_chosen_without_data: bool = False
    decision: Decision | Mapping[str, object] | None = None
    ids: Listed = None
    published: Sequence[str] | None = None
    remarks: tuple[Assumption, ...] = ()
    """What whoever assembled the model takes for granted besides."""
    clusters: Listed = None
