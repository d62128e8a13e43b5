"""The rows of tables: methods, and variants of them, each with the settings that make it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    """A method, with or without the contrast; `settings` and `model` are what a variant changes."""

    title: str
    method: str  # its name in a config
    mix: str | None = None
    contrast: bool = False
    settings: tuple[str, ...] = ()
    model: str | None = None  # another network than the profile's, with the same encoder

    def words(self) -> tuple[str, ...]:
        """Its settings as the command line takes them, without those of a variant."""
        mix = ("--method.mix", self.mix) if self.mix else ()
        return ("--method", self.method, *mix, "--contrast", "reco" if self.contrast else "none")


METHODS = {
    "supervised": Row("Supervised", "supervised"),
    "s4gan": Row("S4GAN", "s4gan"),
    "cutout": Row("CutOut", "mean_teacher", "cutout"),
    "cutmix": Row("CutMix", "mean_teacher", "cutmix"),
    "classmix": Row("ClassMix", "mean_teacher", "classmix"),
    "reco-supervised": Row("ReCo + Supervised", "supervised", contrast=True),
    "reco-cutout": Row("ReCo + CutOut", "mean_teacher", "cutout", contrast=True),
    "reco-cutmix": Row("ReCo + CutMix", "mean_teacher", "cutmix", contrast=True),
    "reco-classmix": Row("ReCo + ClassMix", "mean_teacher", "classmix", contrast=True),
}


def reco(title: str, *settings: str) -> Row:
    """ReCo + ClassMix with some settings changed."""
    return replace(METHODS["reco-classmix"], title=title, settings=settings)


VARIANTS = {
    **{
        f"queries-{count}": reco(f"{count} queries", "--contrast.num_queries", str(count))
        for count in (32, 64, 128, 256)
    },
    **{
        f"keys-{count}": reco(f"{count} keys", "--contrast.num_keys", str(count))
        for count in (64, 128, 256, 512)
    },
    **{
        f"unlabelled-{share}": reco(f"{share} % of the unlabelled images", "--split.unlabelled", f"{share}%")
        for share in (2, 5, 10)
    },
    "random-random": reco(
        "random queries, random keys", "--contrast.queries", "random", "--contrast.negatives", "uniform"
    ),
    "active-random": reco("active queries, random keys", "--contrast.negatives", "uniform"),
    "easy-active": reco("easy queries, active keys", "--contrast.queries", "easy"),
    "keys-per-query": reco("keys of each query's own", "--contrast.keys", "per_query"),
    "keys-shared": reco("keys shared by a class", "--contrast.keys", "shared"),
    "teacher-average": reco("teacher's BatchNorm: averages", "--method.teacher_norm", "average"),
    "teacher-batch": reco("teacher's BatchNorm: batch", "--method.teacher_norm", "batch"),
    "supervised-v2": Row("Supervised, DeepLabV2", "supervised", model="deeplab_v2"),
    "reco-classmix-v2": replace(reco("ReCo + ClassMix, DeepLabV2"), model="deeplab_v2"),
}
ROWS = {**METHODS, **VARIANTS}
