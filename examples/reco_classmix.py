"""ReCo + ClassMix with 20 labelled images, from top to bottom in one file: copy it and change it.

python examples/reco_classmix.py                           drawn street scenes, on any machine
python examples/reco_classmix.py --data FOLDER --pretrained mobilenet_v2 --lr 2.5e-3 --crop 321

FOLDER has images/ and labels/. Equations and sections are those of Liu et al., "Bootstrapping Semantic
Segmentation with Regional Contrast" (ICLR 2022).
"""

import argparse
import copy

import numpy as np
import torch
import torch.nn.functional as F

from recoseg import RegionalContrast, shrink_labels
from recoseg.augment import ColourJitter, GaussianBlur, RandomCrop
from recoseg.augment.mix import classmix
from recoseg.augment.strong import RandomFlip
from recoseg.data import Cached, Folder, Scenes
from recoseg.evaluate import evaluate
from recoseg.models import DeepLabV3Plus
from recoseg.models.pretrained import load_encoder
from recoseg.splits import few_images
from recoseg.types import IGNORE, PseudoLabels

SEED = 0
BATCH = 4  # labelled crops in a step, and as many unlabelled ones


def load_crops(dataset, keys, crop, rng, *, with_labels):
    """Images (B, 3, H, W) in [0, 1], labels (B, H, W), and inside (B, H, W): False in padding."""
    crops = []
    for key in keys:
        image = dataset.image(key)  # (3, H, W) uint8
        # Hidden labels stay hidden: their files are not even opened.
        none = torch.full(image.shape[1:], IGNORE, dtype=torch.uint8)
        crops.append(crop(image, dataset.labels(key) if with_labels else none, rng))
    images, labels, inside = map(torch.stack, zip(*crops, strict=True))
    return images.float() / 255, labels.long(), inside


def change_colours(images, generator):
    """Appendix A: colour jitter and Gaussian blur."""
    return GaussianBlur()(ColourJitter()(images, generator), generator)


def enlarge(logits, size):
    """(B, K, h, w), a quarter of the image's size -> (B, K, H, W)."""
    return F.interpolate(logits, size, mode="bilinear", align_corners=False)


def update_teacher(teacher, student, iteration, decay=0.99):
    """Section 3.3: theta' = lambda theta' + (1 - lambda) theta, also for the statistics of BatchNorm."""
    decay = min(1 - 1 / (iteration + 1), decay)  # at first the mean of all students so far
    for mine, other in zip(teacher.state_dict().values(), student.state_dict().values(), strict=True):
        mine.lerp_(other, 1 - decay) if mine.is_floating_point() else mine.copy_(other)


def train_step(
    student, teacher, contrast, optimiser, batch, iteration, generator, draws, delta_w=0.7, delta_s=0.97
):  # fmt: skip
    """One update of student and teacher; returns the three parts of Eq. 6.

    `generator`, on the CPU, draws the views; `draws`, on the device, draws queries and keys.
    """
    labelled, labels, unlabelled, inside = batch
    labelled = change_colours(labelled, generator)

    # The teacher labels crops as they are, where it is more accurate than on mixed ones.
    with torch.no_grad():
        probabilities = enlarge(teacher(unlabelled).logits, unlabelled.shape[2:]).softmax(1)
    confidence, likeliest = probabilities.max(1)  # (B, H, W), twice
    pseudo = PseudoLabels(likeliest, confidence).within(inside)

    # The student learns these labels on harder images. ClassMix pastes half of the classes of each image
    # onto the next one; labels and confidence move with their pixels.
    mixed, pseudo = classmix(unlabelled, pseudo, generator)
    mixed, pseudo = RandomFlip()(change_colours(mixed, generator), pseudo, generator)

    # Two passes, because mixed images would change the statistics of BatchNorm for labelled ones.
    on_labelled, on_mixed = student(labelled), student(mixed)

    # L_supervised: the mean over labelled pixels, and 0 instead of NaN where crops have none.
    logits = enlarge(on_labelled.logits, labels.shape[1:])
    supervised = F.cross_entropy(logits, labels, ignore_index=IGNORE, reduction="sum")
    supervised = supervised / (labels != IGNORE).sum().clamp(min=1)

    # eta * L_unsupervised: eta is the share of pixels with a confidence of at least delta_s, here of each
    # image. Labels of a young teacher then weigh nothing, so no ramp is needed.
    logits, known = enlarge(on_mixed.logits, pseudo.labels.shape[1:]), pseudo.labels != IGNORE
    losses = F.cross_entropy(logits, pseudo.labels, ignore_index=IGNORE, reduction="none")  # (B, H, W)
    eta = (known & (pseudo.confidence >= delta_s)).sum((1, 2)) / known.sum((1, 2)).clamp(min=1)  # (B,)
    unsupervised = (losses.sum((1, 2)) * eta).sum() / known.sum().clamp(min=1)

    # L_reco (Eq. 1 to 4) of labelled and unlabelled pixels together, except those below delta_w. The
    # probabilities choose the hard queries (Eq. 4), so they need no gradient.
    features = torch.cat([on_labelled.features, on_mixed.features])  # (2B, D, h, w)
    probabilities = torch.cat([on_labelled.logits, on_mixed.logits]).detach().softmax(1)
    size = features.shape[2:]
    trusted = shrink_labels(pseudo.labels, size, mask=pseudo.confidence >= delta_w)
    classes = torch.cat([shrink_labels(labels, size), trusted])  # (2B, h, w)
    regional = contrast(features, classes, probabilities, generator=draws)

    optimiser.zero_grad()
    (supervised + unsupervised + regional).backward()  # Eq. 6
    optimiser.step()
    update_teacher(teacher, student, iteration)
    return supervised.item(), unsupervised.item(), regional.item()


def main():
    parser = argparse.ArgumentParser(description="Train ReCo + ClassMix with few labelled images.")
    parser.add_argument("--data", help="folder with images/ and labels/; default: drawn street scenes")
    parser.add_argument("--labels", type=int, default=20, help="number of images whose labels are used")
    parser.add_argument("--pretrained", help="encoder with ImageNet weights; default: small, random weights")
    parser.add_argument("--lr", type=float, default=0.05, help="2.5e-3 in the paper, with ImageNet weights")
    parser.add_argument("--crop", type=int, default=96, help="side of a crop in pixels")
    parser.add_argument("--iterations", type=int, default=400, help="40000 in the paper")
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(SEED)  # weights and dropout
    rng = np.random.default_rng(SEED)  # images and crops
    generator = torch.Generator().manual_seed(SEED)
    draws = torch.Generator(device).manual_seed(SEED)

    # Section 4.1: images with many classes, one by one for the class that was drawn least so far.
    scenes = {"height": 96, "width": 192, "num_train": 120, "num_val": 24}
    dataset = Folder(root=args.data) if args.data else Scenes(**scenes)
    dataset = Cached(dataset, budget_bytes=2 * 10**9)
    split = few_images(dataset, labels=args.labels, seed=SEED)
    if not split.unlabelled:
        parser.error("all training images are labelled: lower --labels, or add images without labels")
    size = (args.crop, args.crop)
    crop, crop_unlabelled = RandomCrop(size=size), RandomCrop(size=size, flip=0)  # flipped after the mix

    # The representation head (section 3.1) has 256 channels and is not needed after training. The decoder is
    # smaller than the paper's (256 channels, not separable), so that this runs on a laptop.
    encoder, _ = load_encoder(args.pretrained or "resnet10_small", pretrained=args.pretrained and "imagenet")
    student = DeepLabV3Plus(
        encoder=encoder,
        num_classes=len(dataset.classes),
        feature_channels=256,
        decoder_width=64,
        separable=True,
    ).to(device)
    teacher = copy.deepcopy(student).requires_grad_(False).eval()
    contrast = RegionalContrast()  # appendix A: 256 queries of a class, 512 keys, tau 0.5, delta_s 0.97
    optimiser = torch.optim.SGD(student.parameters(), args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)

    for iteration in range(args.iterations):
        optimiser.param_groups[0]["lr"] = args.lr * (1 - iteration / args.iterations) ** 0.9
        labelled, unlabelled = (rng.choice(keys, BATCH) for keys in (split.labelled, split.unlabelled))
        images, labels, _ = load_crops(dataset, labelled, crop, rng, with_labels=True)
        others, _, inside = load_crops(dataset, unlabelled, crop_unlabelled, rng, with_labels=False)
        batch = [tensor.to(device) for tensor in (images, labels, others, inside)]
        parts = train_step(student, teacher, contrast, optimiser, batch, iteration, generator, draws)
        if iteration % 20 == 0:
            print("step {}: labelled {:.3f}, mixed {:.3f}, ReCo {:.3f}".format(iteration, *parts), flush=True)
    scores = evaluate(teacher, dataset, dataset.keys("val"), device=device)
    print(f"mean IoU of the teacher on {len(dataset.keys('val'))} validation images: {scores.mean_iou:.1%}")


if __name__ == "__main__":
    main()
