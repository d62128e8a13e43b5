"""Runs made of numbers one can check, and a reader that turns a page into a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest
import torch

from recoseg.colours import distinct_colours
from recoseg.evaluate.class_relations import Relations
from recoseg.evaluate.scores import BoundaryScores, Scores
from recoseg.evaluate.scores_file import scores_as_plain
from recoseg.evaluate.survey import Survey
from recoseg.report.run_view import Picture, RunView
from recoseg.types import ClassInfo

VOID_ELEMENTS = {"meta", "link", "img", "input", "wbr"}


@dataclass
class Node:
    """An element of a page."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, tag: str, class_: str | None = None, **attributes: str) -> list[Node]:
        """The elements of that name, class and attributes, in the order of the page."""
        return [
            node
            for node in self.walk()
            if node.tag == tag
            and (class_ is None or class_ in (node.attributes.get("class") or "").split())
            and all(node.attributes.get(key) == value for key, value in attributes.items())
        ]

    def one(self, tag: str, class_: str | None = None, **attributes: str) -> Node:
        found = self.all(tag, class_, **attributes)
        assert len(found) == 1, f"{len(found)} of <{tag}> {class_ or ''} {attributes or ''}"
        return found[0]


class TreeBuilder(HTMLParser):
    """Fails on a tag that is closed without being open, or out of order. Skips line breaks between tags."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute: {names}"
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID_ELEMENTS:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() or "\n" not in data:
            self.open[-1].children.append(data)


@pytest.fixture
def read_html() -> Callable[[str], Node]:
    def read(html: str) -> Node:
        builder = TreeBuilder()
        builder.feed(html)
        builder.close()
        assert builder.open == [builder.root], f"left open: {[node.tag for node in builder.open[1:]]}"
        return builder.root

    return read


@pytest.fixture
def scores_line() -> Callable[..., dict[str, Any]]:
    """A line of metrics.jsonl for a confusion matrix."""

    def line(iteration: int, confusion: list[list[int]]) -> dict[str, Any]:
        return {"iteration": iteration, **scores_as_plain(Scores(torch.tensor(confusion))), "losses": {}}

    return line


@pytest.fixture
def make_survey() -> Callable[..., Survey]:
    """Of a confusion matrix. For three classes, the last absent: Boundary IoU 3/6 and 1/4, boundary F 1/2 and
    2/3 (found 10 of 10, right 5 of 10), and a cosine of 0.8 in Z, of -0.25 in R.
    """

    def survey(confusion: list[list[int]]) -> Survey:
        if len(confusion) != 3:
            return Survey(Scores(torch.tensor(confusion)), {}, 4)
        bands = torch.tensor([[3, 1, 0], [4, 2, 0], [5, 3, 0]])
        contours = torch.tensor([[10, 10, 0], [5, 10, 0], [10, 10, 0], [5, 5, 0]])
        boundary = BoundaryScores(bands, contours, torch.tensor(confusion))
        relations = {"Z": relations_of(0.8), "R": relations_of(-0.25)}
        return Survey(Scores(torch.tensor(confusion), boundary), relations, 4)

    return survey


def relations_of(cosine: float) -> Relations:
    graph = torch.full((3, 3), float("nan"), dtype=torch.float64)
    graph[:2, :2] = torch.tensor([[1, cosine], [cosine, 1]])
    return Relations(graph, torch.tensor([50, 20, 0]))


@pytest.fixture
def make_run(
    scores_line: Callable[..., dict[str, Any]], make_survey: Callable[..., Survey]
) -> Callable[..., RunView]:
    """Three classes, the last absent: IoU 0.6 and 0.5, mean 0.55, accuracy 5/7. Any field can be replaced.

    The survey is that of the last evaluation, unless another is given.
    """

    def run(**replaced: Any) -> RunView:
        fields: dict[str, Any] = {
            "name": "plain",
            "classes": ClassInfo(("road", "sky", "kangaroo"), ((128, 64, 128), (70, 130, 180), (0, 0, 0))),
            "config_yaml": "optimiser:\n  lr: 0.01\n",
            "num_labelled": 12,
            "num_unlabelled": 1234,
            "metrics": [
                scores_line(1000, [[1, 9, 0], [9, 1, 0], [0, 0, 0]]),
                scores_line(2000, [[60, 40, 0], [0, 40, 0], [0, 0, 0]]),
            ],
            "losses": [loss_line(100, 2.5), loss_line(2000, 0.75)],
            "pictures": [],
            "command": "recoseg train --config run.yaml",
            "method": "mean_teacher with classmix",
            "network": "deeplab_v3_plus, resnet101",
        }
        fields |= replaced
        if "survey" not in fields and fields["metrics"]:
            fields["survey"] = make_survey(fields["metrics"][-1]["confusion"])
        return RunView(**fields)

    return run


def loss_line(iteration: int, loss: float, **parts: float) -> dict[str, float]:
    parts = parts or {"supervised": loss}
    return {"iteration": iteration, "lr": 0.01, "loss": loss, **parts, "seconds": iteration / 10}


@pytest.fixture
def make_picture() -> Callable[..., Picture]:
    """Upright stripes of every class, and a prediction that is one class further in the upper half.

    It is sure of the lower half, and half as sure of the upper one.
    """

    def picture(key: str = "street/1", height: int = 8, width: int = 12, num_classes: int = 3) -> Picture:
        truth = (torch.arange(width) * num_classes // width).to(torch.uint8).repeat(height, 1)
        prediction = truth.clone()
        prediction[: height // 2] = (truth[: height // 2] + 1) % num_classes
        image = torch.full((3, height, width), 100, dtype=torch.uint8)
        confidence = torch.full((height, width), 255, dtype=torch.uint8)
        confidence[: height // 2] = 127
        return Picture(key, image, truth, prediction, confidence)

    return picture


@pytest.fixture
def many_classes() -> ClassInfo:
    return ClassInfo(tuple(f"class {index}" for index in range(150)), distinct_colours(150))
