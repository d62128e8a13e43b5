"""Damages small exports of every format at random and imports them: python fuzz.py COUNT SEED FOLDER.

Each must be imported, or refused in one line, in a few seconds and a gigabyte. What is not is kept in FOLDER
and printed; the exit code is 1 then. `test_fuzz.py` runs it in a process of its own.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from recoseg.cli.main import main as recoseg

SECONDS, BYTES = 5, 2**30
SIZE = (6, 8)  # height, width
SQUARE = [1, 1, 5, 1, 5, 4, 1, 4]
NASTY = [
    None, True, -1, 0, 1.5, 10**9, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64, 10**30, -(2**63), 1e308, -1e308,
    float("nan"), float("inf"), "", "x", "nan", "1e308", "\ud800", "\0", "a" * 5000, "\u202e\n", [], {}, [[]],
    [None], {"a": 1}, "../../etc", "/", "é" * 3, [1e308] * 6, [10**9] * 8, "o" * 50,
]  # fmt: skip
WORDS = re.compile(rb"-?\d+(?:\.\d+)?|[A-Za-z_]+")


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


PHOTO = png(np.full((*SIZE, 3), 90, dtype=np.uint8))
MASK = np.zeros(SIZE, dtype=np.uint8)
MASK[2:4, 2:6] = 1


def coco(*objects: dict[str, Any], **more: Any) -> dict[str, Any]:
    shared = {"image_id": 1, "category_id": 1, "iscrowd": 0, "bbox": [1, 1, 4, 3], "area": 12}
    return {
        "images": [{"id": 1, "file_name": "a.png", "height": SIZE[0], "width": SIZE[1]}],
        "annotations": [{"id": number, **shared, **one} for number, one in enumerate(objects)],
        "categories": [{"id": 1, "name": "leaf", "color": [1, 2, 3]}, {"id": 2, "name": "stem"}],
        **more,
    }


def region(kind: str, **value: Any) -> dict[str, Any]:
    about = {"original_width": SIZE[1], "original_height": SIZE[0], "image_rotation": 0}
    return {"id": "x", "type": kind, **about, "value": {**value, kind: ["leaf"]}}


BRUSH = [0, 0, 0, 192, 58, 87, 255, 190, 0]
TASK = {"id": 3, "data": {"image": "/data/upload/1/1a2b3c4d-a.png"}, "annotations": [{"id": 1, "result": [
    region("polygonlabels", points=[[10, 10], [60, 10], [60, 60]]),
    region("ellipselabels", x=40, y=40, radiusX=20, radiusY=20, rotation=30),
    region("rectanglelabels", x=10, y=10, width=20, height=20, rotation=30),
    region("brushlabels", format="rle", rle=BRUSH),
    region("keypointlabels", x=10, y=10, width=1),
    region("vectorlabels", vertices=[{"x": 1, "y": 1}, {"x": 9, "y": 9}, {"x": 9, "y": 1}], closed=True),
]}]}  # fmt: skip
LABELME = {"shapes": [
    {"label": "leaf", "shape_type": kind, "points": points, "mask": base64.b64encode(png(MASK)).decode()}
    for kind, points in (("polygon", [[1, 1], [5, 1], [5, 4]]), ("circle", [[3, 3], [3, 5]]),
                         ("rectangle", [[1, 1], [3, 3]]), ("mask", [[0, 0], [7, 5]]), ("line", [[1, 1]]))
], "imagePath": "a.png", "imageHeight": SIZE[0], "imageWidth": SIZE[1]}  # fmt: skip
CVAT = f"""<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version><meta><task><labels><label><name>leaf</name><color>#00a000</color></label>
</labels></task></meta><image id="0" name="a.png" subset="train" width="{SIZE[1]}" height="{SIZE[0]}">
<polygon label="leaf" points="1,1;5,1;5,4" z_order="1"/>
<box label="leaf" xtl="3" ytl="0" xbr="5" ybr="1" rotation="30"/>
<ellipse label="leaf" cx="1.5" cy="4.5" rx="0.9" ry="0.9" rotation="30"/>
<mask label="stem" rle="1, 2, 3" left="5" top="4" width="3" height="2" z_order="0"/>
<polyline label="leaf" points="1,1;5,1"/><points label="leaf" points="1,1;5,1"/><cuboid label="leaf"/>
</image></annotations>"""
YAML = "path: .\ntrain: images\nnames:\n  0: leaf\n  1: stem\n"
LINES = "0 0.1 0.1 0.5 0.1 0.5 0.5\n1 0.5 0.5 0.2 0.2\n1 0 0 1 0 1 1 0 1\n"
COLOURS = "# label:color_rgb:parts:actions\nbackground:0,0,0::\nleaf:0,160,0::\n"
PANOPTIC = {"image_id": 1, "file_name": "a.png", "segments_info": [{"id": 1, "category_id": 1, "iscrowd": 0}]}
COCO = coco(
    {"segmentation": [SQUARE]},
    {"segmentation": {"size": list(SIZE), "counts": [8, 2, 38]}},
    {"segmentation": {"size": list(SIZE), "counts": "82V1"}},
    {"segmentation": [], "category_id": 2},
    {"keypoints": [1, 1, 2, 4, 2, 1, 5, 3, 2]},
)

Files = dict[str, bytes]
EXPORTS: list[tuple[str, Files]] = [
    ("coco", {"x.json": json.dumps(COCO).encode(), "a.png": PHOTO}),
    ("coco", {"panoptic.json": json.dumps(coco(annotations=[PANOPTIC])).encode(), "a.png": PHOTO,
              "panoptic/a.png": png(np.stack([MASK, MASK * 0, MASK * 0], axis=2))}),
    ("labelme", {"a.json": json.dumps(LABELME).encode(), "a.png": PHOTO}),
    ("label_studio", {"tasks.json": json.dumps([TASK]).encode(), "a.png": PHOTO}),
    ("cvat", {"annotations.xml": CVAT.encode(), "a.png": PHOTO}),
    ("yolo", {"data.yaml": YAML.encode(), "labels/a.txt": LINES.encode(), "images/a.png": PHOTO}),
    ("yolo", {"classes.txt": b"leaf\nstem\n", "labels/a.txt": LINES.encode(), "images/a.png": PHOTO}),
    ("voc", {"SegmentationClass/a.png": png(MASK), "class_names.txt": b"background\nleaf\n",
             "ImageSets/Segmentation/val.txt": b"a\n", "JPEGImages/a.png": PHOTO}),
    ("voc", {"SegmentationClass/a.png": png(np.stack([MASK * 0, MASK * 160, MASK * 0], axis=2)),
             "labelmap.txt": COLOURS.encode(), "JPEGImages/a.png": PHOTO}),
    ("masks", {"masks/leaf/a.png": png(MASK * 255), "images/a.png": PHOTO}),
]  # fmt: skip


# Damage


def replace_value(content: bytes, draw: random.Random) -> bytes:
    """Some value of a JSON is another, is gone, or is there many times."""
    root = [json.loads(content)]
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(root)
    for holder, key in draw.sample(places, min(len(places), draw.choice((1, 1, 2, 4)))):
        with contextlib.suppress(KeyError, IndexError):  # another one took its place
            kind = draw.random()
            if kind < 0.1:
                del holder[key]
            elif kind < 0.2 and isinstance(holder[key], list):
                holder[key] = holder[key] * draw.choice((2, 100))
            else:
                holder[key] = draw.choice(NASTY)
    return json.dumps(root[0] if root else None).encode()


def replace_word(content: bytes, draw: random.Random) -> bytes:
    """Some number or name is another."""
    found = list(WORDS.finditer(content))
    if not found:
        return content
    one = draw.choice(found)
    word = str(draw.choice(NASTY)).encode("utf-8", "surrogatepass")
    return content[: one.start()] + word + content[one.end() :]


def change_bytes(content: bytes, draw: random.Random) -> bytes:
    """Some bytes are others, gone, or there again."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 3, 10))):
        place = draw.randrange(len(changed) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            changed[place : place + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            del changed[place : place + draw.choice((1, 4, 30))]
        elif kind == 2:
            changed[place:place] = changed[place : place + 20] * draw.choice((1, 3))
        elif kind == 3:
            del changed[place:]
        else:
            changed[place:place] = draw.choice(
                (b"\xef\xbb\xbf", b"\xff\xfe", b"[" * 3000, b"<a>" * 3000, b"&a ")
            )
    return bytes(changed)


def damaged(files: Files, draw: random.Random) -> Files:
    """With one of the files of labels changed; the photo too, now and then."""
    name = draw.choice(
        [name for name, content in files.items() if content is not PHOTO or draw.random() < 0.05]
    )
    ways: list[Callable[[bytes, random.Random], bytes]] = [change_bytes]
    if name.endswith(".json"):
        ways = [replace_value, replace_value, replace_value, replace_word, change_bytes]
    elif not name.endswith(".png"):
        ways = [replace_word, replace_word, change_bytes]
    return {**files, name: draw.choice(ways)(files[name], draw)}


def write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def zipped(files: Files, draw: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw.choice((0, 8, 12, 14))) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return change_bytes(file.getvalue(), draw)


# The trial


def trouble_of(words: list[str]) -> str | None:
    """What is wrong with how the command ended; None for an import, or one line that refuses it."""
    told, errors = io.StringIO(), io.StringIO()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(errors):
            code = recoseg(words)
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    lines = errors.getvalue().splitlines()
    if code not in (0, 1) or len(lines) > 1 or any(len(line) > 3000 for line in lines):
        return f"exit code {code}: {errors.getvalue()[:3000]}"
    return f"in vain: {lines[0]}" if lines and "out of memory" in lines[0] else None


def run_case(number: int, seed: int, folder: Path) -> str | None:
    """The outcome of one damaged export, which is gone after it unless something is wrong."""
    draw = random.Random(f"{seed} {number}")
    name, files = EXPORTS[number % len(EXPORTS)]
    source, destination = folder / f"case {number}", folder / f"own {number}"
    if draw.random() < 0.1:
        source = source.with_suffix(".zip")
        source.write_bytes(zipped(files, draw))
    else:
        write(damaged(files, draw), source)
    words = [name] if draw.random() < 0.8 else []
    trouble = trouble_of(["import", *words, str(source), str(destination), "--workers", "1"])
    shutil.rmtree(destination, ignore_errors=True)
    if trouble is None:
        shutil.rmtree(source) if source.is_dir() else source.unlink()
    return trouble


def end(number: int, frame: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s of the processor")


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def fuzz(count: int, seed: int, folder: Path) -> int:
    warnings.simplefilter("error")  # of numpy, say, that a number overflows
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    signal.signal(signal.SIGPROF, end)
    os.fsync = lambda descriptor: None  # a disk that is busy makes thousands of small files slow
    for name, files in EXPORTS:  # undamaged, each is imported; and all that is needed is loaded
        write(files, folder / "whole")
        with contextlib.redirect_stdout(io.StringIO()):
            assert recoseg(["import", name, str(folder / "whole"), str(folder / "own"), "--strict"]) < 2, name
        for path in (folder / "whole", folder / "own"):
            shutil.rmtree(path)
    if Path("/proc/self/statm").exists():
        limit_memory()
    num_bad = 0
    for number in range(count):
        (folder / "number").write_text(str(number))  # which one it was, if this process dies
        trouble = run_case(number, seed, folder)
        if trouble is not None:
            num_bad += 1
            print(f"case {number} ({EXPORTS[number % len(EXPORTS)][0]}): {trouble}", flush=True)
    return int(num_bad > 0)


if __name__ == "__main__":
    sys.exit(fuzz(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
