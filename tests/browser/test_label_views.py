"""The labelling page in a real browser: classes, large images, what is learned, all screens and readers."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from recoseg.label.map_prediction import MapPrediction
from recoseg.label.messages import Predicted, Spot, Status, Survey

pytestmark = pytest.mark.browser


# ---- Classes


def test_classes_are_added_renamed_recoloured_and_deleted_with_a_warning(label_page) -> None:
    server, tab = label_page()
    tab.focus("#new-name")
    tab.call("Input.insertText", text="stone")
    tab.press("Enter")
    tab.until("document.querySelector('.class[aria-pressed=true] .name').textContent == 'stone'")
    tab.mark((40, 40))
    tab.mark((44, 40))
    tab.until(f"{tab.SAVED} && document.querySelector('[aria-label^=\"stone, key 3, 2 marks\"]')")
    tab.click("[aria-label='Edit class stone']")
    tab.call("Input.insertText", text="pebble")
    tab.run("document.getElementById('edit-colour').value = '#102030'")
    tab.click("#edit-save")
    tab.until(f"{tab.SAVED} && String({tab.seen(40, 40)}) == '16,32,48,255'")
    tab.click("[aria-label='Edit class pebble']")
    tab.click("#delete-class")
    assert tab.run("document.getElementById('delete-warning').textContent") == (
        "2 marks with 2 labelled pixels will go with “pebble”. You can undo this."
    )
    assert len(server.labelling.folder.state.classes()) == 3
    tab.click("#delete-class")
    tab.until(
        f"{tab.SAVED} && {tab.seen(40, 40)}[3] == 0 && document.querySelectorAll('#classes li').length == 3"
    )
    tab.press("z", "control")
    tab.until(f"String({tab.seen(40, 40)}) == '16,32,48,255'")


def test_without_a_class_the_page_asks_for_one_and_a_click_leads_there(label_page) -> None:
    server, tab = label_page(classes=())
    tab.until("document.getElementById('no-classes').getClientRects().length")
    tab.mark((10, 10))
    assert tab.run("document.activeElement.id") == "new-name"
    tab.call("Input.insertText", text="leaf")
    tab.press("Enter")
    tab.until("document.querySelector('.class[aria-pressed=true]')")
    tab.mark((10, 10))
    tab.until(f"{tab.SAVED} && {tab.has(server.colour('leaf'), 10, 10)}")
    assert server.labels() == {(10, 10): 0}


def test_names_with_markup_are_text(label_page) -> None:
    name = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    _, tab = label_page(classes=(name, "soil"))
    tab.mark((10, 10))
    tab.until("document.querySelector('.class').ariaLabel.endsWith('1 mark')")
    tab.click("#classes li button.quiet")
    tab.click("#delete-class")
    assert f"“{name}”" in tab.run("document.getElementById('delete-warning').textContent")
    assert tab.run("document.querySelector('.class .name').textContent") == name
    assert tab.run("document.querySelector('#alone option:nth-child(2)').textContent") == f"{name} alone"
    assert tab.run("document.querySelectorAll('main img[src=x], main script').length") == 0
    assert "owned" not in tab.run("document.title")


# ---- Many images and large ones


def test_of_ten_thousand_thumbnails_only_those_in_sight_exist(label_server, label_tab, tmp_path) -> None:
    server = label_server([(32, 24)])
    server.stop()
    for index in range(1, 10_000):
        os.link(tmp_path / "images" / "0.png", tmp_path / "images" / f"{index}.png")
    server.start()
    tab = label_tab(server.address)
    shown = "[...document.querySelectorAll('.thumbnail')].length"
    assert tab.until(f"document.querySelector('.thumbnail img').naturalWidth && {shown}") < 40
    tab.run("document.getElementById('thumbnails').scrollTo(0, 1e9)")
    tab.until("document.querySelector('[aria-posinset=\"10000\"]')?.ariaLabel.startsWith('9999')")
    assert tab.run(shown) < 40
    chosen = "document.querySelector('.thumbnail[aria-selected=true]')?.getAttribute('aria-posinset')"
    tab.run("document.getElementById('number').value = 5000")
    tab.run("document.getElementById('number').dispatchEvent(new Event('change'))")
    tab.until(f"{chosen} == '5000'")
    tab.press("n")
    tab.until(f"{chosen} == '5001'")


def test_a_large_image_comes_in_tiles_and_a_click_hits_its_pixel_after_zooming(label_page) -> None:
    server, tab = label_page([(3000, 2000)])
    x, y = tab.at(2500, 300)
    for _ in range(12):
        tab.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-300)
    tab.until(f"Number({tab.READY}.split(' ')[0]) > 20")
    scale, left, top = map(float, tab.run(tab.READY).split())
    width, height = tab.run(
        "(stage => [stage.clientWidth, stage.clientHeight])(document.getElementById('stage'))"
    )
    x, y = int((width / 2 - left) / scale), int((height / 2 - top) / scale)
    assert abs(x - 2500) < 30
    assert abs(y - 300) < 30
    loaded = (
        "performance.getEntriesByType('resource').map(({name}) => name.match(/tile.image.*level=(.)/)?.[1])"
    )
    tab.until(f"{tab.seen(x, y, 'image')}[3] == 255 && {loaded}.includes('0')")
    assert tab.run(loaded).count("3") == 1  # the whole image, to fall back on
    assert tab.run(loaded).count("0") < 24  # never all of them
    tab.mark((x, y))
    tab.until(tab.SAVED)
    assert server.labels() == {(x, y): 0}
    tab.press("f")  # a single pixel of six million is still to be seen
    tab.until(f"{tab.READY}.split(' ')[0] < 1 && {tab.has(server.colour('leaf'), x, y)}")


# ---- What is learned


def predict(server, *, version: int = 1) -> None:
    """The left half is leaf, surely; the right one soil, perhaps."""
    probabilities = np.empty((2, 1, 2), np.float16)
    probabilities[:, 0, 0], probabilities[:, 0, 1] = (1, 0), (0.4, 0.6)
    found = MapPrediction(probabilities, np.array([0, 1], np.uint8), version, "quick")
    server.labelling.receive(Predicted("0", found))
    server.labelling.receive(Survey({0: 0.5, 1: 0.5}, []))


def test_predictions_are_seen_as_classes_confidence_outlines_or_one_class_alone(label_page) -> None:
    server, tab = label_page()
    predict(server)
    left, right = tab.seen(10, 60, "prediction"), tab.seen(150, 60, "prediction")
    tab.until(tab.has(server.colour("leaf"), 10, 60, "prediction"))
    tab.until(tab.has(server.colour("soil"), 150, 60, "prediction"))
    tab.until("document.querySelector('.class .count').textContent.includes('50%')")
    tab.press("a")
    tab.until(f"{left}[3] == 255 && {right}[3] == 0")
    tab.press("a")
    tab.click("#outlines")
    tab.until(f"{left}[3] == 0 && {right}[3] == 0")
    tab.press("o")
    tab.until(f"String({left}) == '253,231,37,255'")  # viridis, where it is sure
    tab.press("o")
    tab.until(f"{left}[3] == 0")
    tab.point("#stage")
    tab.until("document.getElementById('readout').textContent.includes('predicted: ')")


def test_a_prediction_with_a_deleted_class_is_no_longer_shown(label_page) -> None:
    server, tab = label_page()
    predict(server)
    tab.until(tab.has(server.colour("soil"), 150, 60, "prediction"))
    tab.until("!document.getElementById('accept').disabled")
    server.labelling.do("another", [{"id": "gone", "type": "delete_class", "class": 1}])
    tab.until(f"{tab.seen(10, 60, 'prediction')}[3] == 0 && {tab.seen(150, 60, 'prediction')}[3] == 0")
    tab.until("document.getElementById('accept').disabled")
    server.labelling.do("another", [{"id": "back", "type": "undo", "action": "gone"}])
    predict(server, version=2)
    tab.until(tab.has(server.colour("soil"), 150, 60, "prediction"))
    tab.until("!document.getElementById('accept').disabled")


def test_a_prediction_is_accepted_by_choice(label_page) -> None:
    server, tab = label_page()
    tab.mark((5, 5))
    predict(server)
    tab.until("!document.getElementById('accept').disabled")
    tab.run("document.getElementById('above').value = '0.95'")
    tab.click("#accept")
    tab.until(f"{tab.SAVED} && {tab.seen(10, 60)}[3] == 120")
    labels = server.labels()
    assert labels[(0, 0)] == 0
    assert (159, 119) not in labels


def test_one_key_answers_and_the_next_pixel_comes(label_page) -> None:
    server, tab = label_page()
    spots = [Spot(str(index), 0.25 + index / 4, 0.5, 0, 1, 0.4, index) for index in range(3)]
    server.labelling.receive(Survey({}, spots))
    shown = "document.getElementById('image-name').textContent"
    tab.press("m")
    question = "document.getElementById('question').getClientRects().length"
    tab.until(f"{question} && {shown} == '0'")
    assert "leaf or soil?" in tab.run("document.getElementById('question-why').textContent")
    tab.press("2")
    tab.until(f"{shown} == '1'")
    tab.press("x")
    tab.until(f"{shown} == '2'")
    tab.press("1")
    tab.until(f"{tab.SAVED} && !{question}")
    records = [
        (record["type"], record["image"], record.get("class"), record["at"]) for record in server.records()
    ]
    assert records == [
        ("mark", "0", 1, [[40, 60]]),
        ("skip", "1", None, [[80, 60]]),
        ("mark", "2", 0, [[120, 60]]),
    ]


def test_the_curve_and_the_learners_words_are_shown(label_page) -> None:
    server, tab = label_page()
    agreement = {
        "count": 3, "latest": 2 / 3, "curve": [[1, 0.0], [2, 0.5], [3, 2 / 3]],
        "classes": {"0": [2, 2], "1": [0, 1]},
    }  # fmt: skip
    status = {
        "phase": "ready", "message": "", "features": {"done": 2, "total": 3}, "version": 1, "source": "quick",
        "seconds": 1.4, "agreement": agreement,
    }  # fmt: skip
    server.labelling.receive(Status(status))
    tab.until("document.querySelector('#curve path')")
    assert tab.run("document.getElementById('agreement-now').textContent") == "2 of 3"  # no percentage
    assert tab.run("document.querySelector('#curve svg').getAttribute('aria-label')") == (
        "Agreement over 3 clicks: 67% of the latest were predicted right"
    )
    assert tab.run("document.getElementById('learner').textContent") == (
        "Up to date: trained in 1.4 s. 2 of 3 images looked at."
    )
    assert tab.run("document.getElementById('features').value") == 2
    by_class = "[...document.querySelectorAll('#agreement-classes li')].map(one => one.textContent)"
    assert tab.run(by_class) == ["leaf: 2 of 2 clicks", "soil: 0 of 1 click"]
    server.labelling.receive(Status(status | {"agreement": agreement | {"count": 60, "latest": 0.9}}))
    tab.until("document.getElementById('agreement-now').textContent == '90%'")
    assert tab.run("document.getElementById('agreement-of').textContent") == "of the latest 50 clicks were"


def test_full_training_is_asked_for_and_shows_how_far_it_is(label_page, monkeypatch) -> None:
    server, tab = label_page()
    text = "document.getElementById('training-text').textContent"
    running = {"phase": "running", "message": "", "step": 30, "steps": 120, "held_back": None, "used": False}

    def show(training: dict[str, Any]) -> None:
        monkeypatch.setattr(server.labelling.training, "as_plain", lambda: training)
        server.labelling.tell("training", training)

    show(running)
    tab.until(f"{text} == 'Full training: step 30 of 120.'")
    assert tab.run("document.getElementById('discard').hidden")
    assert tab.run("(({value, max}) => value / max)(document.getElementById('training-progress'))") == 0.25
    assert tab.run("document.getElementById('train').textContent") == "Stop training"
    better = {"quick": 0.8, "full": 0.9}
    show(running | {"phase": "finished", "held_back": better, "used": True})
    tab.until(
        f"{text} == 'Full training is finished. On points held back: quick 80%, full 90%, which is shown.'"
    )
    assert tab.run("document.getElementById('training-progress').hidden")
    none = running | {"phase": "none", "step": 0}
    monkeypatch.setattr(server.labelling.training, "discard", lambda: show(none))
    tab.click("#discard")
    tab.until(f"{text}.startsWith('Full training takes minutes')")
    tab.until("document.getElementById('discard').hidden")
    tab.click("#train")  # without a label there is nothing to train on, which the server says
    tab.until("document.querySelector('.notice')?.textContent.startsWith('Training: ')")


def test_the_export_button_writes_files(label_page) -> None:
    server, tab = label_page()
    tab.mark((5, 5))
    tab.until(tab.SAVED)
    tab.click("#export button")
    text = tab.until(
        "(text => text.includes('file') && text)(document.getElementById('export-text').textContent)"
    )
    assert text.startswith("1 file in ")
    assert [path.name for path in (server.root / "export").rglob("*.png")] == ["0.png"]


# ---- For everybody


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(360, 740), (820, 1180), (1440, 900), (3840, 2160)])
def test_every_size_holds_the_page_with_readable_text(label_page, shots, width, height, dark) -> None:
    names = (
        "leaf",
        "soil",
        "a class whose name somebody wrote out at some length without thinking of us",
        "stone",
    )
    server, tab = label_page(
        [(512, 256), (200, 400), (640, 480)] * 5, classes=names, width=width, height=height, dark=dark
    )
    tab.mark((100, 100))
    tab.press("2")
    tab.mark((300, 100), (330, 120), (350, 100))
    predict(server)
    tab.until(f"{tab.SAVED} && {tab.seen(10, 60, 'prediction')}[3] == 255")
    spot = Spot("0", 0.5, 0.5, 0, 1, 0.4, 0)
    server.labelling.receive(Survey({}, [spot]))
    tab.press("m")
    tab.until("document.getElementById('question').getClientRects().length")
    tab.screenshot(shots / f"label-{width}-{'dark' if dark else 'light'}.png")
    assert tab.run("document.documentElement.scrollWidth") == width
    if width >= 1440:
        assert tab.run("document.documentElement.scrollHeight") == height
    background = tab.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 22, 26)" if dark else "rgb(253, 253, 252)")
    assert tab.hard_to_read() == []


def test_a_screen_reader_has_a_name_for_everything_that_can_be_used(label_page) -> None:
    _, tab = label_page()
    tab.until("document.querySelector('.thumbnail img').naturalWidth")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    used = {
        "button",
        "textbox",
        "checkbox",
        "radio",
        "slider",
        "spinbutton",
        "combobox",
        "option",
        "listbox",
        "application",
    }
    found = [(node["role"]["value"], node["name"]["value"]) for node in nodes
             if not node["ignored"] and node["role"]["value"] in used]  # fmt: skip
    assert [role for role, name in found if not name.strip()] == []
    assert {
        ("application", "Image 0, 160 by 120 pixels"),
        ("button", "leaf, key 1, 0 marks"),
        ("button", "Edit class leaf"),
        ("button", "Nothing of these classes here, key 0, 0 marks"),
        ("option", "0, not labelled"),
        ("slider", "Opacity"),
        ("textbox", "Name of a new class"),
        ("button", "Next image"),
        ("listbox", "Images"),
    } <= set(found)


def test_tab_reaches_everything_in_order_and_shows_where_it_is(label_page) -> None:
    server, tab = label_page()
    predict(server)
    tab.until("!document.getElementById('accept').disabled")
    tab.run("document.activeElement.blur()")
    reached: list[str] = []
    for _ in range(80):
        tab.press("Tab")
        name, outline = tab.run(
            """((at) => [
              at === document.body ? "" : at.id || at.name || at.className || at.tagName,
              getComputedStyle(at.matches("input[type=radio]") ? at.nextElementSibling : at).outlineStyle,
            ])(document.activeElement)"""
        )
        if not name:  # past the last
            break
        assert outline != "none", name
        reached.append(name)
    wanted = ["help-open", "thumbnail", "tool", "radius", "zoom-in", "stage", "number", "class", "new-name"]
    wanted += [
        "show-spot",
        "ask",
        "layer",
        "opacity",
        "outlines",
        "alone",
        "train",
        "accept",
        "above",
        "export-of",
    ]
    assert [name for name in dict.fromkeys(reached) if name in wanted] == wanted
