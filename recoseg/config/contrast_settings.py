"""Settings of the contrast on top of any method: `contrast`, and of its feature bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recoseg.config.setting import MOST_CHANNELS, MOST_ITERATIONS, setting


@dataclass(frozen=True, kw_only=True)
class _Bank:
    """What all feature banks have: stores that negative keys are drawn from, instead of the batch."""

    size: int = setting(256, "features of a class that are kept", at_least=1, at_most=10_000_000)
    per_step: int = setting(16, "features of a class that enter in a step, at most", at_least=1)
    warm_up: int | None = setting(
        None,
        "steps that fill it before keys are drawn from it; none: a fortieth of all",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )
    prototypes: Literal["batch", "bank"] = setting(
        "batch", "whose class means are positive keys and span the relation graph, where both have a class"
    )


_ABOVE = "the least probability of their label that pixels enter with"


@dataclass(frozen=True, kw_only=True)
class LabelledBank(_Bank):
    """Negative keys from a feature bank of labelled pixels that the student labels rightly."""

    name: Literal["labelled"] = "labelled"


@dataclass(frozen=True, kw_only=True)
class ConfidentBank(_Bank):
    """Negative keys from a feature bank of pixels whose label, or pseudo-label, the student is sure of."""

    name: Literal["confident"] = "confident"
    above: float = setting(0.95, _ABOVE, at_least=0, at_most=1)


@dataclass(frozen=True, kw_only=True)
class TeacherBank(_Bank):
    """Negative keys from a feature bank of labelled pixels as the moving average sees them, and rightly."""

    name: Literal["teacher"] = "teacher"
    above: float = setting(0.95, _ABOVE, at_least=0, at_most=1)


@dataclass(frozen=True, kw_only=True)
class ContrastSettings:
    """Regional contrast on top of any method: --contrast reco, or --contrast none."""

    name: Literal["reco"] = "reco"
    weight: float = setting(1.0, "weight of the contrast in the loss", above=0)
    num_queries: int = setting(256, "queries of a class in a step", at_least=1, at_most=100_000)
    num_keys: int = setting(512, "negative keys of a query", at_least=1, at_most=100_000)
    temperature: float = setting(0.5, "temperature tau", above=0)
    hard_below: float = setting(
        0.97, "a query is hard up to this probability (delta_s)", at_least=0, at_most=1
    )
    hard_share: float | None = setting(
        None, "instead, this share of each class's pixels: the hardest, however hard", above=0, at_most=1
    )
    ramp: int | None = setting(
        None,
        "iterations over which the weight of the contrast grows; none: a tenth of all",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )
    trust_above: float = setting(
        0.7, "pseudo-labels take part from this confidence on (delta_w)", at_least=0, at_most=1
    )
    own_label_above: float = setting(
        0.97,
        "with partial labels, other pixels of labelled images take part with the student's own label from "
        "this confidence on",
        at_least=0,
        at_most=1,
    )
    queries: Literal["hard", "random", "easy", "pixels"] = setting(
        "hard",
        "which pixels of each class are queries: hard, random or easy ones; or pixels, any in proportion to "
        "how many a class has",
    )
    negatives: Literal["active", "uniform", "pixels"] = setting(
        "active",
        "negative classes by likeness to the query's (active) or all alike (uniform), or all their pixels "
        "alike (pixels)",
    )
    keys: Literal["shared", "per_query"] = setting(
        "shared",
        "negative keys that the queries of a class share, or of every query its own: several times slower",
    )
    graph_temperature: float = setting(1.0, "temperature of the choice of negative classes", above=0)
    feature_channels: int = setting(
        256, "channels of the representation head", at_least=1, at_most=MOST_CHANNELS
    )
    bank: LabelledBank | ConfidentBank | TeacherBank | None = None
