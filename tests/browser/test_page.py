"""The page in a real browser: nothing goes wrong in it, and what can be pressed or clicked does its work."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.browser

WIDTHS = (360, 800, 1400)
PAGES = ("one", "three", "two_classes", "many_classes", "begun")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched_and_nothing_goes_wrong(pages, open_tab, name) -> None:
    tab = open_tab(pages[name])
    tab.run("new Promise(done => setTimeout(done, 100))")
    assert tab.events("Runtime.exceptionThrown") == []
    assert tab.events("Log.entryAdded") == []
    assert [call["args"] for call in tab.events("Runtime.consoleAPICalled")] == []
    asked = [event["request"]["url"] for event in tab.events("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [pages[name].as_uri()]


@pytest.mark.parametrize("name", PAGES)
def test_all_images_load(pages, open_tab, name) -> None:
    tab = open_tab(pages[name])
    sizes = tab.run("[...document.images].map(image => image.complete && image.naturalWidth)")
    assert all(sizes)
    assert bool(sizes) == (name != "begun")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_holds_the_page(pages, open_tab, shots, name, dark, width) -> None:
    tab = open_tab(pages[name], width=width, dark=dark)
    tab.screenshot(shots / f"{name}-{width}-{'dark' if dark else 'light'}.png")
    assert tab.run("document.documentElement.scrollWidth") == width
    background = tab.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 22, 26)" if dark else "rgb(253, 253, 252)")


def order(tab, table: str) -> list[str]:
    return tab.run(f"[...document.querySelector('{table}').tBodies[0].rows].map(row => row.dataset.class)")


def numbers(tab, table: str, attribute: str) -> list[float]:
    rows = f"[...document.querySelector('{table}').tBodies[0].rows]"
    return [float(value) for value in tab.run(f"{rows}.map(row => row.getAttribute('{attribute}'))") if value]


def test_a_click_sorts_and_another_reverses_and_a_third_restores(pages, open_tab) -> None:
    tab = open_tab(pages["one"])
    original = order(tab, "table.classes")
    button = "table.classes th[data-key=iou] button"
    tab.click(button)
    values = numbers(tab, "table.classes", "data-iou-0")
    assert values == sorted(values, reverse=True)
    assert order(tab, "table.classes")[-1] == "absent"  # without a number, last either way
    assert tab.run("document.querySelector('th[data-key=iou]').ariaSort") == "descending"
    tab.click(button)
    values = numbers(tab, "table.classes", "data-iou-0")
    assert values == sorted(values)
    assert order(tab, "table.classes")[-1] == "absent"
    tab.click(button)
    assert order(tab, "table.classes") == original


@pytest.mark.parametrize("key", ["Enter", " "])
def test_a_key_sorts_too(pages, open_tab, key) -> None:
    tab = open_tab(pages["one"])
    tab.focus("table.classes th[data-key=class] button")
    tab.press(key)
    assert order(tab, "table.classes") == ["absent", *(f"class number {index}" for index in range(18))]


def test_with_several_runs_one_chooses_whose_numbers_count(pages, open_tab) -> None:
    tab = open_tab(pages["three"])
    tab.run(
        "(select => { select.value = '2'; select.dispatchEvent(new Event('change')); })"
        "(document.getElementById('sort-run'))"
    )
    values = numbers(tab, "table.classes", "data-iou-2")
    assert values == sorted(values, reverse=True)


def test_the_differences_of_each_pair_sort_alone(pages, open_tab) -> None:
    tab = open_tab(pages["three"])
    classes = order(tab, "table.classes")
    tab.click("table.differences th[data-key=iou] button")
    values = numbers(tab, "table.differences", "data-iou")
    assert values == sorted(values, reverse=True)
    assert order(tab, "table.classes") == classes


SEEN = """[...document.querySelectorAll('.layer')].filter(layer => layer.getClientRects().length)
          .map(layer => layer.dataset.view)"""


@pytest.mark.parametrize(
    ("key", "view"),
    [("1", "image"), ("2", "truth"), ("3", "prediction"), ("4", "confidence"), ("5", "errors")],
)
def test_a_key_flips_all_pictures(pages, open_tab, key, view) -> None:
    tab = open_tab(pages["three"])
    tab.press(key)
    assert tab.run(SEEN) == [view] * 2 * 3  # two pictures of three runs
    assert tab.run("document.querySelector('input[name=view]:checked').value") == view
    sizes = tab.run(
        f"""[...document.querySelectorAll('.layer[data-view={view}] img')]
        .map(image => image.getBoundingClientRect().width)"""
    )
    assert min(sizes) > 100


def test_side_by_side_shows_the_image_once_and_the_views_of_each_run(pages, open_tab) -> None:
    tab = open_tab(pages["three"])
    tab.press("0")
    seen = tab.run(SEEN)
    assert {view: seen.count(view) for view in seen} == {
        "image": 2, "truth": 2, "prediction": 6, "confidence": 6, "errors": 6, "difference": 4,
    }  # fmt: skip


def test_arrows_go_round_where_the_pictures_have_the_focus_and_only_there(pages, open_tab) -> None:
    tab = open_tab(pages["three"])
    view = "document.getElementById('gallery').dataset.view"
    tab.press("ArrowRight")
    assert tab.run(view) == "prediction"
    tab.focus(".tiles")
    seen = []
    for _ in range(6):
        tab.press("ArrowRight")
        seen.append(tab.run(view))
    assert seen == ["confidence", "errors", "difference", "image", "truth", "prediction"]
    tab.press("ArrowLeft")
    assert tab.run(view) == "truth"


def test_a_click_flips_to_the_next_view(pages, open_tab) -> None:
    tab = open_tab(pages["three"])
    tab.click(".frame")
    assert tab.run(SEEN) == ["confidence"] * 6
    tab.click("input[value=truth] + span")
    assert tab.run(SEEN) == ["truth"] * 6


def test_o_lays_labels_over_the_image(pages, open_tab) -> None:
    tab = open_tab(pages["one"])
    opacity = "getComputedStyle(document.querySelector('.layer[data-view=prediction] img')).opacity"
    assert tab.run(opacity) == "1"
    tab.press("o")
    assert float(tab.run(opacity)) < 1
    assert tab.run("document.getElementById('over').checked")


def test_background_over_the_image_shows_the_image(pages, open_tab, tmp_path) -> None:
    tab = open_tab(pages["two_classes"])  # background and leaf

    def shown(view: str, *, over: bool) -> np.ndarray:
        tab.click(f"input[value={view}] + span")
        if tab.run("document.getElementById('over').checked") != over:
            tab.press("o")
        tab.run("document.querySelector('.frame').scrollIntoView()")
        box = tab.run(f"""(() => {{
          const box = document.querySelector(".layer[data-view={view}] img").getBoundingClientRect();
          return [box.left, box.top + scrollY, box.right, box.bottom + scrollY].map(Math.round);
        }})()""")
        tab.screenshot(tmp_path / "page.png")
        with Image.open(tmp_path / "page.png") as page:
            return np.asarray(page.convert("RGB").crop(box)).astype(int)

    photo, labels = shown("image", over=False), shown("prediction", over=False)
    mixed = shown("prediction", over=True)
    background = (labels <= 4).all(2)  # it is black
    assert 0.1 < background.mean() < 0.9
    assert abs(mixed - photo)[background].max() <= 4
    assert abs(mixed - photo)[~background].mean() > 20


def test_a_letter_in_the_choice_of_a_run_does_not_flip_pictures(pages, open_tab) -> None:
    tab = open_tab(pages["three"])
    tab.focus("#sort-run")
    tab.press("1")
    assert tab.run("document.getElementById('gallery').dataset.view") == "prediction"


READOUT = "document.querySelector('#confusion .readout').textContent"


def test_a_heat_map_tells_what_one_points_at(pages, open_tab) -> None:
    tab = open_tab(pages["two_classes"])
    tab.point("#confusion .cells", across=0.75, down=0.25)
    assert tab.run(READOUT) == "25.0% of background is called leaf"


def test_arrow_keys_walk_over_a_heat_map_and_stop_at_its_edges(pages, open_tab) -> None:
    tab = open_tab(pages["two_classes"])
    tab.focus("#confusion .cells")
    told = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        tab.press(key)
        told.append(tab.run(READOUT))
    assert told == [
        "25.0% of background is called leaf",
        "25.0% of background is called leaf",
        "90.0% of leaf is called leaf",
        "10.0% of leaf is called background",
    ]


def test_everything_that_does_something_can_be_reached_by_tab_and_shows_its_focus(pages, open_tab) -> None:
    tab = open_tab(pages["three"])
    reached = set()
    for _ in range(120):
        tab.press("Tab")
        found = tab.run(
            """(at => [at.closest("section")?.id ?? at.closest("header")?.tagName ?? at.tagName, at.tagName,
            getComputedStyle(at.matches("input[type=radio]") ? at.nextElementSibling : at).outlineStyle])
            (document.activeElement)"""
        )
        if found[0] == "BODY":
            break
        assert found[2] != "none", found
        reached.add((found[0], found[1]))
    assert reached >= {
        ("HEADER", "A"), ("classes", "SELECT"), ("classes", "BUTTON"), ("differences", "BUTTON"),
        ("confusion", "DIV"), ("relations", "DIV"), ("pictures", "INPUT"), ("pictures", "DIV"),
        ("origin", "SUMMARY"),
    }  # fmt: skip


def test_it_prints_without_controls_and_with_all_views(pages, open_tab, shots) -> None:
    tab = open_tab(pages["three"])
    pdf = tab.pdf()
    (shots / "three.pdf").write_bytes(pdf)
    assert pdf.startswith(b"%PDF-")
    assert len(pdf) > 50_000
    tab.call("Emulation.setEmulatedMedia", media="print")
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.run(SEEN).count("confidence") == 6
    place = "getComputedStyle(document.querySelectorAll('.tile figcaption')[1]).position"
    assert tab.run(place) == "absolute"  # the name of a run stands before its views
    controls = "[...document.querySelectorAll('.needs-script, nav, .readout')]"
    assert tab.run(f"{controls}.every(control => !control.getClientRects().length)")
    assert tab.run("[...document.querySelectorAll('details')].every(details => details.open)")
    tab.run("window.dispatchEvent(new Event('afterprint'))")
    assert tab.run("document.getElementById('gallery').dataset.view") == "prediction"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_a_contrast_of_at_least_four_and_a_half(pages, open_tab, dark) -> None:
    assert open_tab(pages["three"], dark=dark).hard_to_read() == []
