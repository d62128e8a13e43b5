"""Who leads among several runs, in a sentence that crowns nobody whose lead may be chance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean

from recoseg.evaluate.seed_statistics import paired_difference, score_interval
from recoseg.evaluate.survey import Survey, pooled
from recoseg.report.run_view import FOLDS, SEEDS, RunView, repeated_by, seed_groups
from recoseg.text import how_many, listed, percent, percent_range, points_range

CLOSE = 0.01
"""Where images do not tell: runs of one method with other seeds are often as far apart as that."""
MOST_NAMED = 4


def standing(runs: Sequence[RunView]) -> str:
    """Who leads, how far behind the others are, and whether that means anything."""
    scored = [run for run in runs if run.mean_iou is not None]
    if not scored:
        return "No run has been evaluated yet."
    repeated = repeated_by([run.settings for run in runs])
    surveys = [run.survey for run in runs if run.survey]
    if repeated == SEEDS and len(scored) == len(runs):
        return f"The same run with {len(runs)} seeds: mean IoU {_average_and_range(scored)}."
    if (groups := seed_groups(runs)) and len(scored) == len(runs):
        return _seeds_compared(groups)
    if repeated == FOLDS and len(surveys) == len(runs):
        return _folds_told(surveys, of=runs[0].settings["data.folds"], apart=_range(scored))
    best = max(_mean_iou(run) for run in scored)
    leaders = [run for run in scored if _mean_iou(run) == best]
    if len(leaders) > 1:
        return f"{listed([run.name for run in leaders])} share the highest mean IoU, {percent(best)}."
    others = sorted((run for run in scored if run not in leaders), key=lambda run: best - _mean_iou(run))
    doubtful = [run for run in others if may_be_chance(leaders[0], run)]
    return _doubted(leaders[0], others, doubtful) if doubtful else _crowned(leaders[0], others)


def may_be_chance(leader: RunView, other: RunView) -> bool:
    """Whether the images that both were scored on leave it open who is better."""
    if leader.survey is None or other.survey is None:
        return False
    gain = leader.survey.gain_over(other.survey)
    if gain is not None:
        return gain.mean_iou.holds(0)
    return leader.survey.num_images == other.survey.num_images == 1


def _crowned(leader: RunView, others: Sequence[RunView]) -> str:
    lead = f"{leader.name} has the highest mean IoU, {percent(leader.mean_iou)}"
    if not others:
        return f"{lead}."
    gaps = listed(
        [
            f"{_gap(leader, run)} {'points ' if run is others[0] else ''}above {run.name}{_span(leader, run)}"
            for run in others[:MOST_NAMED]
        ]
    )
    close = [
        run.name
        for run in others
        if _mean_iou(leader) - _mean_iou(run) < CLOSE and not _span(leader, run)  # nothing tells how sure
    ]
    if not close:
        return f"{lead}: {gaps}."
    doubt = f"Less than a point ahead of {listed(close)} may be chance: another seed may turn it round."
    return f"{lead}: {gaps}. {doubt}"


def _doubted(leader: RunView, others: Sequence[RunView], doubtful: Sequence[RunView]) -> str:
    """The lead over some, which may be chance; then that over the rest, which is not."""
    assert leader.survey is not None
    number = leader.survey.num_images
    nearest, lead = doubtful[0], f"{leader.name} ({percent(leader.mean_iou)}) is ahead of"
    if number == 1:
        gaps = [f"{run.name} by {_gap(leader, run)} points" for run in doubtful[:MOST_NAMED]]
        return f"{lead} {listed(gaps)}, but one image cannot tell whether that is chance."
    where = f"on these {how_many(number, 'image')} that may be chance"
    if len(doubtful) == 1:
        span = _span(leader, nearest).strip(" ()")
        told = f"{lead} {nearest.name} by {_gap(leader, nearest)} points, but {where}: {span}."
    else:
        gaps = [
            f"{run.name} by {_gap(leader, run)}{' points' if run is nearest else ''}{_span(leader, run)}"
            for run in doubtful[:MOST_NAMED]
        ]
        told = f"{lead} {listed(gaps)}, but {where}."
    sure = [f"{run.name} by {_gap(leader, run)}{_span(leader, run)}" for run in others if run not in doubtful]
    return f"{told} It is surely ahead of {listed(sure[:MOST_NAMED])}." if sure else told


def _folds_told(surveys: Sequence[Survey], *, of: object, apart: str) -> str:
    scores, interval = pooled(surveys)
    number = how_many(sum(one.num_images for one in surveys), "image")
    sure = f", {percent_range(*interval)} with a probability of 95%" if interval else ""
    whole = (
        "every labelled image validated once" if len(surveys) == of else f"{len(surveys)} of {of} are here"
    )
    return (
        f"{of} folds, {whole}: mean IoU {percent(scores.mean_iou)} over all {number}{sure}. "
        f"Single folds have {apart}."
    )


def _average_and_range(runs: Sequence[RunView]) -> str:
    interval = score_interval([_mean_iou(run) for run in runs])
    sure = f" (95% interval {percent_range(*interval)})" if interval else ""
    return f"{percent(fmean(map(_mean_iou, runs)))} on average{sure}, {_range(runs)}"


def _seeds_compared(groups: Sequence[Sequence[RunView]]) -> str:
    """Compare methods by the paired differences over their seeds."""
    leader, *others = sorted(groups, key=lambda group: -fmean(map(_mean_iou, group)))
    sure: list[str] = []
    doubtful: list[str] = []
    for group in others[:MOST_NAMED]:
        gain = paired_difference([_mean_iou(run) for run in group], [_mean_iou(run) for run in leader])
        told = f"{_group_name(group)} by {100 * gain.mean:.1f} points ({points_range(*gain.interval)})"
        (sure if gain.interval.low > 0 else doubtful).append(told)
    mean = percent(fmean(map(_mean_iou, leader)))
    sentences = [f"Over {len(leader)} seeds, {_group_name(leader)} has a mean IoU of {mean}."]
    sentences += [f"It is ahead of {listed(sure)}."] if sure else []
    sentences += [f"It is above {listed(doubtful)}, which may be chance between seeds."] if doubtful else []
    return " ".join(sentences)


def _group_name(runs: Sequence[RunView]) -> str:
    """The name of the first run without its seed: "reco" of reco/seed-0."""
    return re.sub(r"[-_/. ](seed)?[-_/. ]*\d+$", "", runs[0].name)


def _range(runs: Sequence[RunView]) -> str:
    scores = [_mean_iou(run) for run in runs]
    return f"{percent(min(scores))} to {percent(max(scores))}"


def _gap(leader: RunView, other: RunView) -> str:
    return f"{100 * (_mean_iou(leader) - _mean_iou(other)):.1f}"


def _span(leader: RunView, other: RunView) -> str:
    """Between which points the lead is, in brackets; nothing where that is not known."""
    gain = leader.survey.gain_over(other.survey) if leader.survey and other.survey else None
    return f" ({points_range(*gain.mean_iou)})" if gain else ""


def _mean_iou(run: RunView) -> float:
    assert run.mean_iou is not None
    return run.mean_iou
