"""The tables of the paper, and ours: rows (methods), columns (labels), and the grids of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from recoseg.data import CamVid, Cityscapes, Dataset, PascalVOC, Scenes, SunRGBD
from recoseg.splits.published import PARTITIONS

Settings = Mapping[str, object]
"""Settings of a config by their dotted names; a section's name alone, as `method`, chooses its kind."""

# Rows.


@dataclass(frozen=True)
class Row:
    """A method, with or without the contrast; `changes` and `model` are what a variant has otherwise."""

    title: str
    method: str  # its name in a config
    mix: str | None = None
    contrast: bool = False
    changes: Settings = field(default_factory=dict)
    model: str | None = None  # another network than the profile's, with the same encoder

    @property
    def settings(self) -> Settings:
        """Those of its method, without what a variant changes."""
        mix = {"method.mix": self.mix} if self.mix else {}
        return {"method": self.method, **mix, "contrast": "reco" if self.contrast else None}


METHODS = {
    "supervised": Row("Supervised", "supervised"),
    "s4gan": Row("S4GAN", "s4gan"),
    "advsemseg": Row("AdvSemSeg", "advsemseg"),
    "mean-teacher": Row(
        "Mean Teacher",
        "mean_teacher",
        "none",
        changes={"method.consistency": "probabilities", "method.ramp": None},  # its own, not the mixes'
    ),
    "vat": Row("VAT", "vat"),
    "cct": Row("CCT", "cct"),
    "gct": Row("GCT", "gct"),
    "pseudoseg": Row("PseudoSeg", "pseudoseg"),
    "dmt": Row("DMT", "dmt"),
    "ecs": Row("ECS", "ecs"),
    "fixmatch": Row("FixMatch", "fixmatch"),
    "unimatch": Row("UniMatch", "unimatch"),
    "unimatch-v2": Row("UniMatch V2", "unimatch_v2"),
    "prevmatch": Row("PrevMatch", "prevmatch"),
    "cutout": Row("CutOut", "mean_teacher", "cutout"),
    "cutmix": Row("CutMix", "mean_teacher", "cutmix"),
    "classmix": Row("ClassMix", "mean_teacher", "classmix"),
    "reco-supervised": Row("ReCo + Supervised", "supervised", contrast=True),
    "reco-cutout": Row("ReCo + CutOut", "mean_teacher", "cutout", contrast=True),
    "reco-cutmix": Row("ReCo + CutMix", "mean_teacher", "cutmix", contrast=True),
    "reco-classmix": Row("ReCo + ClassMix", "mean_teacher", "classmix", contrast=True),
}
_WITHOUT_RECO = tuple(row for row in METHODS if not METHODS[row].contrast and f"reco-{row}" not in METHODS)
METHODS |= {
    f"reco-{row}": replace(METHODS[row], title=f"ReCo + {METHODS[row].title}", contrast=True)
    for row in _WITHOUT_RECO
}
"""Every method without and with the contrast on top."""


def _reco(title: str, changes: Settings) -> Row:
    """ReCo + ClassMix with some settings changed."""
    return replace(METHODS["reco-classmix"], title=title, changes=changes)


VARIANTS = {
    **{
        f"queries-{count}": _reco(f"{count} queries", {"contrast.num_queries": count})
        for count in (32, 64, 128, 256)
    },
    **{
        f"keys-{count}": _reco(f"{count} keys", {"contrast.num_keys": count}) for count in (64, 128, 256, 512)
    },
    **{
        f"unlabelled-{share}": _reco(f"{share} % of the unlabelled images", {"split.unlabelled": f"{share}%"})
        for share in (2, 5, 10)
    },
    "random-random": _reco(
        "random queries, random keys", {"contrast.queries": "pixels", "contrast.negatives": "pixels"}
    ),
    "active-random": _reco("active queries, random keys", {"contrast.negatives": "pixels"}),
    "easy-active": _reco("easy queries, active keys", {"contrast.queries": "easy"}),
    "keys-per-query": _reco("keys of each query's own", {"contrast.keys": "per_query"}),
    "keys-shared": _reco("keys shared by a class", {"contrast.keys": "shared"}),
    **{
        f"graph-temperature-{tau}": _reco(f"graph temperature {tau}", {"contrast.graph_temperature": tau})
        for tau in (0.5, 1)
    },
    "feature-bank": _reco(
        "keys and class means from a feature bank",
        {"contrast.bank.name": "labelled", "contrast.bank.prototypes": "bank"},
    ),
    "bank-negatives": _reco("negative keys from a feature bank", {"contrast.bank.name": "labelled"}),
    "teacher-average": _reco("teacher's BatchNorm: averages", {"method.teacher_norm": "average"}),
    "teacher-batch": _reco("teacher's BatchNorm: batch", {"method.teacher_norm": "batch"}),
    **{
        f"{row}-{name}": replace(
            METHODS[row],
            title=f"{METHODS[row].title}, {title}",
            changes={"train.class_weights": weights},
        )
        for row, (name, title, weights) in product(
            ("supervised", "classmix", "reco-classmix"),
            (("plain", "all pixels alike", "none"), ("weighted", "classes weighted", "root")),
        )
    },
    **{
        f"{row}-v2": replace(METHODS[row], title=f"{METHODS[row].title}, DeepLabV2", model="deeplab_v2")
        for row in (
            "supervised", "advsemseg", "s4gan", "cutmix", "classmix", "gct", "dmt", "reco-classmix",
        )
    },
}  # fmt: skip
ROWS = {**METHODS, **VARIANTS}


# Columns.

_IN_TABLES: tuple[type[Dataset], ...] = (PascalVOC, Cityscapes, SunRGBD, CamVid, Scenes)
DATASETS = {dataset.short_name: dataset.title for dataset in _IN_TABLES}
"""Names of datasets here, in profiles and in `--data NAME=FOLDER` -> titles."""

DRAWN = (Scenes.short_name,)
"""Those that need no folder of images."""

_PIXELS = {"1-pixel": "1", "1%": "1%", "5%": "5%", "25%": "25%"}
"""What of each class in each image is labelled, by its name in columns -> its setting."""


@dataclass(frozen=True)
class _Column:
    """`settings` make the split; `seeded` where it is drawn, so that every seed has another."""

    dataset: str
    title: str
    settings: Settings = field(default_factory=dict)
    seeded: bool = True
    subset: str = "val"  # what is scored
    published_list: bool = False  # labelled images by a list that others published


def _few_images() -> dict[str, _Column]:
    """The paper's partitions, by their names."""
    return {
        name: _Column(
            dataset.short_name,
            f"{partition.labels} labelled images",
            {"split.partition": name},
            seeded=partition.draw != "list",
            published_list=partition.draw == "list",
        )
        for name, (dataset, partition) in PARTITIONS.items()
    }


def _few_pixels(dataset: str) -> dict[str, _Column]:
    titles = {"1-pixel": "1 pixel"}
    return {
        f"{dataset}-{name}": _Column(
            dataset, f"{titles.get(name, name)} of each class in every image", {"split.pixels": setting}
        )
        for name, setting in _PIXELS.items()
    }


COLUMNS = {
    **_few_images(),
    **{f"{name}-all": _Column(name, "all labels", seeded=False) for name in ("voc", "cityscapes", "sun")},
    **_few_pixels("voc"),
    **_few_pixels("cityscapes"),
    "camvid-20": _Column("camvid", "20 labelled images", {"split.labels": 20}, subset="test"),
    "camvid-all": _Column("camvid", "all labels", seeded=False, subset="test"),
    "scenes-10": _Column("scenes", "10 labelled images", {"split.labels": 10}),
}


# Grids.

_Pairs = tuple[tuple[str, str], ...]

_FEW_LABELS = ("supervised", "s4gan", "cutout", "cutmix", "classmix", "reco-classmix")
_ALL_LABELS = ("supervised", "reco-supervised")
_BUDGETS = {"voc": (60, 200, 600), "cityscapes": (20, 50, 150), "sun": (50, 150, 500)}
_LEADERS = ("fixmatch", "unimatch", "unimatch-v2", "prevmatch")
_TABLE_2 = (
    "advsemseg",
    "mean-teacher",
    "cct",
    "gct",
    "vat",
    "cutmix",
    "classmix",
    "pseudoseg",
    "reco-classmix",
)
_APPENDIX_B = (
    "advsemseg-v2", "s4gan-v2", "cutmix-v2", "classmix-v2", "gct-v2", "dmt-v2", "cct", "ecs",
    "reco-classmix-v2", "reco-classmix",
)  # fmt: skip
_RANDOM_BUDGETS = {"voc": (100, 212, 529, 1323), "cityscapes": (100, 372, 744, 1488)}


@dataclass(frozen=True)
class Grid:
    """`pairs` are (row, column): not every row of a table has every column."""

    title: str
    pairs: _Pairs
    table: str | None  # of the paper, by its name in paper_figures.yaml
    baseline: str = "classmix"
    seeds: tuple[int, ...] = (0, 1, 2)
    gaps: bool = False  # whether a score is followed by how far it is from that with all labels

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row for row, _ in self.pairs))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for _, column in self.pairs))


def all_of(rows: tuple[str, ...], *columns: str) -> _Pairs:
    return tuple((row, column) for column, row in product(columns, rows))


def _few_and_all_labels() -> _Pairs:
    pairs: _Pairs = ()
    for dataset, budgets in _BUDGETS.items():
        pairs += all_of(_FEW_LABELS, *(f"{dataset}-{labels}" for labels in budgets))
        pairs += all_of(_ALL_LABELS, f"{dataset}-all")
    return pairs


def _both_deeplabs() -> _Pairs:
    pairs: _Pairs = ()
    for dataset, budgets in _RANDOM_BUDGETS.items():
        columns = (f"{dataset}-{labels}" for labels in budgets)
        pairs += all_of(_APPENDIX_B, *columns)
        pairs += all_of(("supervised-v2", "supervised"), f"{dataset}-all")
    return pairs


def _ablation(title: str, table: str | None, *rows: str) -> Grid:
    return Grid(title, all_of(rows, "cityscapes-20"), table)


GRIDS = {
    # Table 1 of the paper; the tables' numbers stand with their figures in tables/paper_figures.yaml.
    "full-labels": Grid("Few labelled images on three datasets", _few_and_all_labels(), "full-labels"),
    "cityscapes-20": Grid(
        "Cityscapes with 20 labelled images",
        all_of((*_FEW_LABELS[:-1], "reco-supervised", "reco-classmix"), "cityscapes-20"),
        "full-labels",
    ),
    "camvid-20": Grid(
        "CamVid with 20 labelled images",
        all_of(("supervised", "classmix", "reco-classmix"), "camvid-20"),
        None,
    ),
    "twenty-labels": Grid(
        "20 labelled images of CamVid and of Cityscapes",
        all_of(("supervised", "classmix", "reco-classmix"), "camvid-20", "cityscapes-20"),
        "full-labels",
    ),
    "methods": Grid(
        "Every method, without and with ReCo",
        all_of(
            tuple(name for row in METHODS if not METHODS[row].contrast for name in (row, f"reco-{row}")),
            "camvid-20",
        ),
        None,
        baseline="supervised",
    ),
    "leaders": Grid(
        "Today's leaders, without and with ReCo",
        all_of(
            ("classmix", "reco-classmix", *(name for row in _LEADERS for name in (row, f"reco-{row}"))),
            "camvid-20",
            "cityscapes-20",
        ),
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
        all_of(_TABLE_2, "voc-92", "voc-183", "voc-366", "voc-732"),
        "voc-partitions",
        baseline="cutmix",  # which the paper has there
    ),
    "partial-labels": Grid(
        "A few labelled pixels of each class in every image",
        all_of(
            ("supervised", "cutmix", "classmix", "reco-classmix"),
            *(f"{dataset}-{pixels}" for dataset in ("voc", "cityscapes") for pixels in _PIXELS),
        ),
        "partial-labels",
    ),
    "both-deeplabs": Grid(
        "Random partitions with DeepLabV2 and DeepLabV3+ (appendix B)",
        _both_deeplabs(),
        "both-deeplabs",
        baseline="reco-classmix-v2",
        gaps=True,
    ),
    "queries": _ablation(
        "Number of queries", "queries", "classmix", "queries-32", "queries-64", "queries-128", "queries-256"
    ),
    "keys": _ablation("Number of keys", "keys", "classmix", "keys-64", "keys-128", "keys-256", "keys-512"),
    "unlabelled-share": _ablation(
        "Share of the unlabelled images",
        "unlabelled-share",
        "classmix", "unlabelled-2", "unlabelled-5", "unlabelled-10", "reco-classmix",
    ),
    "mixes": _ablation(
        "ReCo on other mixes",
        "mixes",
        "cutout", "reco-cutout", "cutmix", "reco-cutmix", "classmix", "reco-classmix",
    ),
    "sampling": Grid(
        "How queries and keys are sampled",
        all_of(
            ("classmix", "random-random", "active-random", "easy-active", "reco-classmix"),
            "cityscapes-20",
            "camvid-20",
        ),
        "sampling",
    ),
    "key-sharing": Grid(
        "Negative keys of each query, or shared by a class",
        all_of(("classmix", "keys-per-query", "keys-shared"), "camvid-20", "cityscapes-20"),
        None,
    ),
    "graph-temperature": Grid(
        "How sharply negative classes are chosen",
        all_of(("classmix", "graph-temperature-0.5", "graph-temperature-1"), "camvid-20", "cityscapes-20"),
        None,
    ),
    "class-weights": Grid(
        "Pixels that count alike, or more in rare classes",
        all_of(
            (
                "supervised-plain", "classmix-plain", "reco-classmix-plain",
                "supervised-weighted", "classmix-weighted", "reco-classmix-weighted",
            ),
            "camvid-20",
            "cityscapes-20",
        ),
        None,
        baseline="classmix-plain",
    ),
    "feature-bank": Grid(
        "Keys from a feature bank instead of the batch",
        all_of(("classmix", "feature-bank", "bank-negatives", "reco-classmix"), "cityscapes-20", "camvid-20"),
        "feature-bank",
    ),
    "teacher-norm": _ablation(
        "BatchNorm of the teacher when it labels", None, "classmix", "teacher-average", "teacher-batch"
    ),
    "scenes": Grid(
        "To try it out: street scenes that recoseg draws itself",
        all_of(("supervised", "classmix", "reco-classmix"), "scenes-10"),
        None,
    ),
}  # fmt: skip
