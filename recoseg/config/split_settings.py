"""Settings that say which labels may be seen: `split`."""

from recoseg.config.setting import FilePath, Number, Section, Seed


class SplitSettings(Section, frozen=True, kw_only=True):
    """Which labels the run may see."""

    #: a split file to use; none: the split is drawn and saved in the run folder
    file: FilePath | None = None
    #: number of labelled training images to use, drawn by the paper's rule: many classes in each, rare
    #: classes as often as others; none: all
    labels: Number | None = None
    #: draw until every class is in this many images; with labels: in this many of them
    images_per_class: Number | None = None
    #: instead of labels: a share of the labelled images, such as 1/8
    fraction: str | None = None
    #: classes that an image must have to be drawn; none: the paper's, cityscapes 12, pascal_voc 3,
    #: else 1 (a prepared dataset is a folder: give it, or a partition)
    min_classes: Number | None = None
    #: draw the images without regard to their classes
    random: bool = False
    #: a partition of the paper's tables, such as cityscapes-20, voc-60, voc-1323 or sun-50
    partition: str | None = None
    #: a published list of the labelled images: one key or path a line, or 'image label' paths
    labelled_list: FilePath | None = None
    #: a list of the unlabelled images; none: all that are not in labelled_list
    unlabelled_list: FilePath | None = None
    #: the share of the unlabelled images to use, such as 10%; none: all
    unlabelled: str | None = None
    #: labelled pixels of each class in each labelled image: 1, or a percentage such as 5%
    pixels: str | None = None
    #: seed of the draw
    seed: Seed = 0
