"""The grids: which rows and columns each table has, and the row that others are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from recoseg.experiments.columns import PIXELS

Pairs = tuple[tuple[str, str], ...]

FEW_LABELS = ("supervised", "s4gan", "cutout", "cutmix", "classmix", "reco-classmix")
ALL_LABELS = ("supervised", "reco-supervised")
BUDGETS = {"voc": (60, 200, 600), "cityscapes": (20, 50, 150), "sun": (50, 150, 500)}
RANDOM_BUDGETS = {"voc": (100, 212, 529, 1323), "cityscapes": (100, 372, 744, 1488)}


@dataclass(frozen=True)
class Grid:
    """`pairs` are (row, column): not every row of a table has every column."""

    title: str
    pairs: Pairs
    table: str | None  # of the paper, by its name in paper_figures.yaml
    baseline: str = "classmix"
    seeds: tuple[int, ...] = (0, 1, 2)

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row for row, _ in self.pairs))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for _, column in self.pairs))


def all_of(rows: tuple[str, ...], *columns: str) -> Pairs:
    return tuple((row, column) for column, row in product(columns, rows))


def few_and_all_labels() -> Pairs:
    pairs: Pairs = ()
    for dataset, budgets in BUDGETS.items():
        pairs += all_of(FEW_LABELS, *(f"{dataset}-{labels}" for labels in budgets))
        pairs += all_of(ALL_LABELS, f"{dataset}-all")
    return pairs


def both_deeplabs() -> Pairs:
    pairs: Pairs = ()
    for dataset, budgets in RANDOM_BUDGETS.items():
        columns = (f"{dataset}-{labels}" for labels in budgets)
        pairs += all_of(("reco-classmix-v2", "reco-classmix"), *columns)
        pairs += all_of(("supervised-v2", "supervised"), f"{dataset}-all")
    return pairs


def ablation(title: str, table: str | None, *rows: str) -> Grid:
    return Grid(title, all_of(rows, "cityscapes-20"), table)


GRIDS = {
    "full-labels": Grid("Few labelled images on three datasets", few_and_all_labels(), "full-labels"),
    "cityscapes-20": Grid(
        "Cityscapes with 20 labelled images",
        all_of((*FEW_LABELS[:-1], "reco-supervised", "reco-classmix"), "cityscapes-20"),
        "full-labels",
    ),
    "camvid-20": Grid(
        "CamVid with 20 labelled images",
        all_of(("supervised", "classmix", "reco-classmix"), "camvid-20"),
        None,
    ),
    "ceiling": Grid(
        "All labels, in the same schedule",
        all_of(("supervised",), "cityscapes-all", "camvid-all"),
        "full-labels",
        baseline="supervised",
        seeds=(0,),
    ),
    "voc-partitions": Grid(
        "Pascal VOC with the published lists of PseudoSeg",
        all_of(("cutmix", "classmix", "reco-classmix"), "voc-92", "voc-183", "voc-366", "voc-732"),
        "voc-partitions",
        baseline="cutmix",  # which the paper has there
    ),
    "partial-labels": Grid(
        "A few labelled pixels of each class in every image",
        all_of(
            ("supervised", "cutmix", "classmix", "reco-classmix"),
            *(f"{dataset}-{pixels}" for dataset in ("voc", "cityscapes") for pixels in PIXELS),
        ),
        "partial-labels",
    ),
    "both-deeplabs": Grid(
        "Random partitions with DeepLabV2 and DeepLabV3+ (appendix B)",
        both_deeplabs(),
        "both-deeplabs",
        baseline="reco-classmix-v2",
    ),
    "queries": ablation(
        "Number of queries", "queries", "classmix", "queries-32", "queries-64", "queries-128", "queries-256"
    ),
    "keys": ablation("Number of keys", "keys", "classmix", "keys-64", "keys-128", "keys-256", "keys-512"),
    "unlabelled-share": ablation(
        "Share of the unlabelled images",
        "unlabelled-share",
        "classmix", "unlabelled-2", "unlabelled-5", "unlabelled-10", "reco-classmix",
    ),
    "mixes": ablation(
        "ReCo on other mixes",
        "mixes",
        "cutout", "reco-cutout", "cutmix", "reco-cutmix", "classmix", "reco-classmix",
    ),
    "sampling": ablation(
        "How queries and keys are sampled",
        "sampling",
        "classmix", "random-random", "active-random", "easy-active", "reco-classmix",
    ),
    "key-sharing": ablation(
        "Negative keys of each query, or shared by a class", None, "classmix", "keys-per-query", "keys-shared"
    ),
    "teacher-norm": ablation(
        "BatchNorm of the teacher when it labels", None, "classmix", "teacher-average", "teacher-batch"
    ),
    "scenes": Grid(
        "To try it out: street scenes that recoseg draws itself",
        all_of(("supervised", "classmix", "reco-classmix"), "scenes-10"),
        None,
    ),
}  # fmt: skip
