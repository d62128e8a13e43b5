"""The page of recoseg label in a real browser: what is clicked, pressed and drawn arrives, is seen and stays."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from recoseg.label.marks import VOID
from recoseg.label.next_clicks import Spot
from recoseg.label.map_prediction import MapPrediction

pytestmark = pytest.mark.browser

READY = "document.getElementById('stage').dataset.view"
STATE = "document.getElementById('saved').dataset.state"
SAVED = f"{STATE} == 'saved'"


@pytest.fixture
def page(label_server, open_tab):
    """`server, tab = page(sizes, classes=...)`; the rest is for the tab."""

    def start(sizes=((160, 120),) * 3, classes=("leaf", "soil"), **settings):
        server = label_server(sizes, classes)
        return server, opened(open_tab, server, **settings)

    return start


def opened(open_tab, server, **settings):
    tab = open_tab(server.address, **settings)
    tab.until(READY)
    return tab


def at(tab, x: float, y: float) -> tuple[float, float]:
    """Where the middle of a pixel of the image is in the window."""
    scale, left, top = map(float, tab.run(READY).split())
    box = tab.run("(({x, y}) => [x, y])(document.getElementById('stage').getBoundingClientRect())")
    return box[0] + left + (x + 0.5) * scale, box[1] + top + (y + 0.5) * scale


def seen(x: float, y: float, layer: str = "labels") -> str:
    """An expression: red, green, blue and alpha of a layer in the middle of a pixel of the image."""
    return f"""((stage) => {{
        const [scale, left, top] = stage.dataset.view.split(" ").map(Number);
        const context = stage.querySelector("canvas[data-layer={layer}]").getContext("2d");
        return [...context.getImageData(left + ({x} + .5) * scale, top + ({y} + .5) * scale, 1, 1).data];
    }})(document.getElementById("stage"))"""


def colour(server, name: str) -> list[int]:
    (found,) = [list(one.colour) for one in server.labelling.folder.state.classes() if one.name == name]
    return [*found, 255]


def is_seen(server, name: str, x: int, y: int) -> str:
    return f"String({seen(x, y)}) == '{','.join(map(str, colour(server, name)))}'"


def click(tab, x: int, y: int, **how) -> None:
    tab.drag([at(tab, x, y)], **how)


# ---- Marks


def test_nothing_goes_wrong_and_only_the_server_is_asked(page) -> None:
    server, tab = page()
    click(tab, 10, 10)
    tab.until(SAVED)
    for event in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
        assert tab.events(event) == []
    asked = {event["request"]["url"].split("?")[0] for event in tab.events("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith((f"http://127.0.0.1:{server.port}/", "data:"))} == set()


def test_a_click_labels_one_pixel_with_the_class_that_a_key_chose(page) -> None:
    server, tab = page()
    tab.press("2")
    click(tab, 33, 47)
    tab.until(SAVED)
    assert server.labels() == {(33, 47): 1}
    assert tab.run(is_seen(server, "soil", 33, 47))


def test_a_click_is_drawn_within_50_ms_while_the_server_takes_seconds(page) -> None:
    server, tab = page()
    tab.call("Network.emulateNetworkConditions", offline=False, latency=2000, downloadThroughput=-1, uploadThroughput=-1)
    tab.run(
        f"""document.getElementById("stage").addEventListener("pointerup", ({{timeStamp}}) => {{
          const look = () => {{
            if ({is_seen(server, "leaf", 80, 60)}) window.took = performance.now() - timeStamp;
            else requestAnimationFrame(look);
          }};
          look();
        }})"""
    )
    click(tab, 80, 60)
    took = tab.until("window.took")
    assert tab.run(STATE) == "saving"
    assert took < 50
    tab.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    tab.until(SAVED)
    assert server.labels() == {(80, 60): 0}


def test_a_drag_is_a_scribble(page) -> None:
    server, tab = page()
    tab.drag([at(tab, 20, 30), at(tab, 40, 30), at(tab, 60, 30)])
    tab.until(SAVED)
    assert server.labels() == {(x, 30): 0 for x in range(20, 61)}


def test_a_box_is_dragged_with_shift(page) -> None:
    server, tab = page()
    tab.drag([at(tab, 20, 30), at(tab, 25, 35), at(tab, 29, 33)], modifiers="shift")
    tab.until(SAVED)
    assert server.labels() == {(x, y): 0 for x in range(20, 30) for y in range(30, 34)}


def test_a_polygon_has_a_corner_at_each_click_with_shift_and_closes_at_the_first(page) -> None:
    server, tab = page()
    for corner in [(20, 20), (100, 20), (20, 100), (20, 20)]:
        click(tab, *corner, modifiers="shift")
    tab.until(SAVED)
    (record,) = server.records()
    assert (record["shape"], record["at"]) == ("polygon", [[20, 20], [100, 20], [20, 100]])
    labels = server.labels()
    assert labels[(40, 40)] == 0
    assert (90, 90) not in labels


def test_the_right_button_erases(page) -> None:
    server, tab = page()
    click(tab, 50, 50)
    click(tab, 90, 50)
    click(tab, 51, 50, button="right")  # nobody hits a single pixel
    tab.until(SAVED)
    assert server.labels() == {(90, 50): 0}
    tab.until(f"{seen(50, 50)}[3] == 0")


def test_nothing_of_these_classes_is_a_label_too(page) -> None:
    server, tab = page()
    tab.press("0")
    click(tab, 5, 6)
    tab.until(SAVED)
    assert server.labels() == {(5, 6): VOID}


def test_undo_and_redo_have_no_end_and_survive_a_reload(page) -> None:
    server, tab = page()
    places = [(10 + 12 * (index % 10), 10 + 20 * (index // 10)) for index in range(30)]
    for place in places:
        click(tab, *place)
    for _ in range(15):
        tab.press("z", "control")
    tab.until(SAVED)
    assert server.labels() == dict.fromkeys(places[:15], 0)
    tab.reload()
    tab.until(f"{READY} && !document.getElementById('undo').disabled")
    for _ in range(15):
        tab.click("#undo")
        tab.until(f"{SAVED} && new Promise(requestAnimationFrame)")
    assert server.labels() == {}
    for _ in range(15):
        tab.press("z", "control shift")
    tab.until(SAVED)
    assert server.labels() == dict.fromkeys(places[:15], 0)


# ---- Without a mouse


def test_the_keyboard_alone_moves_a_crosshair_and_labels(page) -> None:
    server, tab = page()
    tab.focus("#stage")
    tab.press("2")
    tab.press("ArrowRight", "shift")  # from the middle, (80, 60)
    tab.press("ArrowUp", "shift")
    tab.press("Enter")
    tab.until(SAVED)
    assert server.labels() == {(81, 59): 1}
    assert tab.until("document.getElementById('said').textContent.includes('soil at 81, 59')")
    tab.press("Delete")
    tab.until(f"{SAVED} && document.getElementById('said').textContent.includes('Erased')")
    assert server.labels() == {}


def test_the_keyboard_scribbles_and_fills(page) -> None:
    server, tab = page()
    tab.focus("#stage")
    for key in ("s", "ArrowRight", "ArrowRight", "s"):
        tab.press(key, "shift" if key.startswith("Arrow") else "")
    tab.press("b")
    for key in ("Enter", "ArrowDown", "ArrowDown", "Enter"):
        tab.press(key, "shift" if key.startswith("Arrow") else "")
    tab.until(SAVED)
    assert server.labels() == dict.fromkeys([(80, 60), (81, 60), (82, 60), (82, 61), (82, 62)], 0)


def test_fingers_label_and_two_of_them_zoom_without_labelling(page) -> None:
    server, tab = page(width=360, height=740)
    scale = float(tab.run(READY).split()[0])

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": index} for index, (x, y) in enumerate(places)]
        tab.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    (x, y) = at(tab, 80, 60)
    touch("touchStart", (x - 20, y))
    touch("touchStart", (x - 20, y), (x + 20, y))
    touch("touchMove", (x - 40, y), (x + 40, y))
    touch("touchEnd")
    tab.until(f"Math.abs(Number({READY}.split(' ')[0]) - {2 * scale}) < 0.05")
    x, y = at(tab, 80, 60)
    touch("touchStart", (x, y))
    touch("touchEnd")
    tab.until(f"{SAVED} && !document.getElementById('undo').disabled")
    assert server.labels() == {(80, 60): 0}


# ---- Nothing is lost


def test_a_reload_shows_what_was_marked(page) -> None:
    server, tab = page()
    click(tab, 120, 20)
    tab.until(SAVED)
    tab.reload().until(f"{READY} && {is_seen(server, 'leaf', 120, 20)}")


def test_two_tabs_see_each_other_and_do_not_overwrite(page, open_tab) -> None:
    server, one = page()
    other = opened(open_tab, server)
    other.press("2")
    click(one, 20, 20)
    click(other, 60, 20)
    one.call("Page.bringToFront")  # it was behind the other, and catches up
    one.until(is_seen(server, "soil", 60, 20))
    other.call("Page.bringToFront")
    other.until(is_seen(server, "leaf", 20, 20))
    assert server.labels() == {(20, 20): 0, (60, 20): 1}
    one.press("z", "control")  # its own, although the other's is later
    other.call("Page.bringToFront")
    other.until(f"{seen(20, 20)}[3] == 0")
    assert server.labels() == {(60, 20): 1}


def test_clicks_made_while_the_server_is_gone_are_kept_shown_as_unsaved_and_sent_once(page) -> None:
    server, tab = page()
    click(tab, 10, 10)
    tab.until(SAVED)
    server.stop()
    for x in (30, 50, 70):
        click(tab, x, 10)
    tab.press("z", "control")
    text = "document.getElementById('saved-text').textContent"
    assert tab.until(f"{STATE} == 'unsaved' && {text}") == "Not saved: 4 actions"
    assert tab.run(is_seen(server, "leaf", 50, 10))
    assert tab.run(f"{seen(70, 10)}[3]") == 0
    server.start()
    tab.until(SAVED)
    assert server.labels() == {(10, 10): 0, (30, 10): 0, (50, 10): 0}
    assert [record["type"] for record in server.records()] == ["mark"] * 4 + ["undo"]


def test_what_a_closed_tab_could_not_send_is_sent_by_the_next(page, open_tab) -> None:
    server, tab = page()
    server.stop()
    click(tab, 30, 10)
    tab.until(f"{STATE} == 'unsaved'")
    tab.close()
    server.start()
    other = opened(open_tab, server)
    other.until(f"{SAVED} && {is_seen(server, 'leaf', 30, 10)}")
    assert server.labels() == {(30, 10): 0}


def test_what_the_server_refuses_is_said_and_taken_back(page, open_tab) -> None:
    server, tab = page()
    server.stop()
    click(tab, 30, 10)
    tab.until(f"{STATE} == 'unsaved'")
    server.start()
    first = server.labelling.folder.state.classes()[0].id
    server.labelling.do("another", [{"id": "gone", "type": "delete_class", "class": first}])
    tab.until(f"{SAVED} && document.querySelector('.notice')")
    assert server.labels() == {}
    tab.until(f"{seen(30, 10)}[3] == 0")


# ---- Classes


def test_classes_are_added_renamed_recoloured_and_deleted_with_a_warning(page) -> None:
    server, tab = page()
    tab.focus("#new-name")
    tab.call("Input.insertText", text="stone")
    tab.press("Enter")
    tab.until("document.querySelector('.class[aria-pressed=true] .name').textContent == 'stone'")
    click(tab, 40, 40)
    click(tab, 44, 40)
    tab.until(f"{SAVED} && document.querySelector('[aria-label^=\"stone, key 3, 2 marks\"]')")
    tab.click("[aria-label='Edit class stone']")
    tab.call("Input.insertText", text="pebble")
    tab.run("document.getElementById('edit-colour').value = '#102030'")
    tab.click("#edit-save")
    tab.until(f"{SAVED} && String({seen(40, 40)}) == '16,32,48,255'")
    tab.click("[aria-label='Edit class pebble']")
    tab.click("#delete-class")
    assert tab.run("document.getElementById('delete-warning').textContent") == (
        "2 marks with 2 labelled pixels will go with “pebble”. You can undo this."
    )
    assert len(server.labelling.folder.state.classes()) == 3
    tab.click("#delete-class")
    tab.until(f"{SAVED} && {seen(40, 40)}[3] == 0 && document.querySelectorAll('#classes li').length == 3")
    tab.press("z", "control")
    tab.until(f"String({seen(40, 40)}) == '16,32,48,255'")


def test_names_with_markup_are_text(page) -> None:
    name = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    _, tab = page(classes=(name, "soil"))
    click(tab, 10, 10)
    tab.until("document.querySelector('.class').ariaLabel.endsWith('1 mark')")
    tab.click("#classes li button.quiet")
    tab.click("#delete-class")
    assert f"“{name}”" in tab.run("document.getElementById('delete-warning').textContent")
    assert tab.run("document.querySelector('.class .name').textContent") == name
    assert tab.run("document.querySelector('#alone option:nth-child(2)').textContent") == f"{name} alone"
    assert tab.run("document.querySelectorAll('main img[src=x], main script').length") == 0
    assert "owned" not in tab.run("document.title")


# ---- Many images and large ones


def test_of_ten_thousand_thumbnails_only_those_in_sight_exist(label_server, open_tab, tmp_path) -> None:
    server = label_server([(32, 24)])
    server.stop()
    for index in range(1, 10_000):
        os.link(tmp_path / "images" / "0.png", tmp_path / "images" / f"{index}.png")
    server.start()
    tab = opened(open_tab, server)
    shown = "[...document.querySelectorAll('.thumbnail')].length"
    assert tab.until(f"document.querySelector('.thumbnail img').naturalWidth && {shown}") < 40
    tab.run("document.getElementById('thumbnails').scrollTo(0, 1e9)")
    tab.until("document.querySelector('.thumbnail[aria-posinset=\"10000\"]')?.getAttribute('aria-label').startsWith('9999')")
    assert tab.run(shown) < 40
    tab.run("((field) => { field.value = 5000; field.dispatchEvent(new Event('change')); })(document.getElementById('number'))")
    tab.until("document.querySelector('.thumbnail[aria-selected=true]')?.getAttribute('aria-posinset') == '5000'")
    tab.press("n")
    tab.until("document.querySelector('.thumbnail[aria-selected=true]')?.getAttribute('aria-posinset') == '5001'")


def test_a_large_image_comes_in_tiles_and_a_click_hits_its_pixel_after_zooming(page) -> None:
    server, tab = page([(3000, 2000)])
    x, y = at(tab, 2500, 300)
    for _ in range(12):
        tab.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-300)
    tab.until(f"Number({READY}.split(' ')[0]) > 20")
    x, y = tab.run(
        f"""(([scale, left, top], stage) => [(stage.clientWidth / 2 - left) / scale, (stage.clientHeight / 2 - top) / scale])
        ({READY}.split(" ").map(Number), document.getElementById("stage"))"""
    )
    x, y = int(x), int(y)
    assert abs(x - 2500) < 30
    assert abs(y - 300) < 30
    tab.until(f"{seen(x, y, 'image')}[3] == 255")
    levels = [part.split("level=")[1][0] for part in tab.run(
        "performance.getEntriesByType('resource').map(each => each.name).filter(each => each.includes('tile/image'))"
    )]  # fmt: skip
    assert {"0", "3"} <= set(levels)
    assert levels.count("0") < 24  # never all of them
    click(tab, x, y)
    tab.until(SAVED)
    assert server.labels() == {(x, y): 0}
    tab.press("f")  # a single pixel of six million is still to be seen
    tab.until(f"{READY}.split(' ')[0] < 1 && {is_seen(server, 'leaf', x, y)}")


# ---- What is learned


def prediction(server, *, version: int = 1) -> None:
    """The left half is leaf, surely; the right one soil, perhaps."""
    probabilities = np.empty((2, 1, 2), np.float16)
    probabilities[:, 0, 0], probabilities[:, 0, 1] = (1, 0), (0.4, 0.6)
    found = MapPrediction(probabilities, np.array([0, 1], np.uint8), version, "quick")
    server.labelling._hear("prediction", {"image": "0", "prediction": found})
    server.labelling._hear("shares", {"shares": {0: 0.5, 1: 0.5}})


def test_predictions_are_seen_as_classes_confidence_outlines_or_one_class_alone(page) -> None:
    server, tab = page()
    prediction(server)
    leaf, soil = colour(server, "leaf"), colour(server, "soil")
    left, right = seen(10, 60, "prediction"), seen(150, 60, "prediction")
    tab.until(f"String({left}) == '{','.join(map(str, leaf))}' && String({right}) == '{','.join(map(str, soil))}'")
    assert "50%" in tab.run("document.querySelector('.class .count').textContent")
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


def test_a_prediction_is_accepted_by_choice(page) -> None:
    server, tab = page()
    click(tab, 5, 5)
    prediction(server)
    tab.until("!document.getElementById('accept').disabled")
    tab.run("document.getElementById('above').value = '0.95'")
    tab.click("#accept")
    tab.until(f"{SAVED} && {seen(10, 60)}[3] == 120")
    labels = server.labels()
    assert labels[(0, 0)] == 0
    assert (159, 119) not in labels


def test_one_key_answers_and_the_next_pixel_comes(page) -> None:
    server, tab = page()
    spots = [Spot(str(index), 0.25 + index / 4, 0.5, 0, 1, 0.4, index) for index in range(3)]
    server.labelling._hear("spots", {"spots": spots})
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
    tab.until(f"{SAVED} && !{question}")
    records = [(record["type"], record["image"], record.get("class"), record["at"]) for record in server.records()]
    assert records == [
        ("mark", "0", 1, [[40, 60]]),
        ("skip", "1", None, [[80, 60]]),
        ("mark", "2", 0, [[120, 60]]),
    ]


def test_the_curve_and_the_learners_words_are_shown(page) -> None:
    server, tab = page()
    agreement = {"count": 3, "latest": 2 / 3, "curve": [[1, 0.0], [2, 0.5], [3, 2 / 3]]}
    status = {
        "phase": "ready", "message": "", "features": {"done": 2, "total": 3}, "version": 1, "source": "quick",
        "seconds": 1.4, "agreement": agreement,
    }  # fmt: skip
    server.labelling._hear("status", status)
    tab.until("document.querySelector('#curve path')")
    assert tab.run("document.getElementById('agreement-now').textContent") == "67%"
    assert tab.run("document.querySelector('#curve svg').getAttribute('aria-label')") == (
        "Agreement over 3 clicks: 67% of the latest were predicted right"
    )
    assert tab.run("document.getElementById('learner').textContent") == "Up to date: learned in 1.4 s."
    assert tab.run("document.getElementById('features').value") == 2


def test_the_export_button_writes_files(page) -> None:
    server, tab = page()
    click(tab, 5, 5)
    tab.until(SAVED)
    tab.click("#export button")
    text = tab.until("(text => text.includes('file') && text)(document.getElementById('export-text').textContent)")
    assert text.startswith("1 file in ")
    assert [path.name for path in (server.root / "export").rglob("*.png")] == ["0.png"]


# ---- For everybody


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(360, 740), (820, 1180), (1440, 900), (3840, 2160)])
def test_every_size_holds_the_page_with_readable_text(page, shots, width, height, dark) -> None:
    names = ("leaf", "soil", "a class whose name somebody wrote out at some length without thinking of us", "stone")
    server, tab = page([(512, 256), (200, 400), (640, 480)] * 5, classes=names, width=width, height=height, dark=dark)
    click(tab, 100, 100)
    tab.press("2")
    tab.drag([at(tab, 300, 100), at(tab, 330, 120), at(tab, 350, 100)])
    prediction(server)
    tab.until(f"{SAVED} && {seen(10, 60, 'prediction')}[3] == 255")
    spot = Spot("0", 0.5, 0.5, 0, 1, 0.4, 0)
    server.labelling._hear("spots", {"spots": [spot]})
    tab.press("m")
    tab.until("document.getElementById('question').getClientRects().length")
    tab.screenshot(shots / f"label-{width}-{'dark' if dark else 'light'}.png")
    assert tab.run("document.documentElement.scrollWidth") == width
    if width >= 1440:
        assert tab.run("document.documentElement.scrollHeight") == height
    background = tab.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 22, 26)" if dark else "rgb(253, 253, 252)")
    assert tab.run(CONTRAST) == []


CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const shine = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const says = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!says || !element.getClientRects().length || element.closest("svg, .unseen, :disabled")) continue;
    const [one, other] = [shine(parse(getComputedStyle(element).color)), shine(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push([element.tagName, element.className, element.textContent.slice(0, 30), ratio]);
  }
  return poor;
})()"""


def test_a_screen_reader_has_a_name_for_everything_that_can_be_used(page) -> None:
    _, tab = page()
    tab.until("document.querySelector('.thumbnail img').naturalWidth")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    used = {"button", "textbox", "checkbox", "radio", "slider", "spinbutton", "combobox", "option", "listbox", "application"}
    found = [(node["role"]["value"], node["name"]["value"]) for node in nodes
             if not node["ignored"] and node["role"]["value"] in used]  # fmt: skip
    assert [role for role, name in found if not name.strip()] == []
    assert {
        ("application", "Image 0, 160 by 120 pixels"), ("button", "leaf, key 1, 0 marks"), ("button", "Edit class leaf"),
        ("button", "Nothing of these classes here, key 0, 0 marks"), ("option", "0, not labelled"), ("slider", "Opacity"),
        ("textbox", "Name of a new class"), ("button", "Next image"), ("listbox", "Images"),
    } <= set(found)  # fmt: skip


def test_tab_reaches_everything_and_shows_where_it_is(page) -> None:
    server, tab = page()
    prediction(server)
    reached = []
    for _ in range(80):
        tab.press("Tab")
        name, outline = tab.run(
            """(at => [at.id || at.className || at.name, getComputedStyle(
            at.matches("input[type=radio]") ? at.nextElementSibling : at).outlineStyle])(document.activeElement)"""
        )
        if name in reached[:1]:
            break
        if document_left(tab):
            continue
        assert outline != "none", name
        reached.append(name)
    wanted = ["help-open", "thumbnail", "tool", "radius", "zoom-in", "stage", "number", "class", "new-name", "show-spot"]
    wanted += ["ask", "layer", "opacity", "outlines", "alone", "accept", "above", "export-of"]
    assert [name for name in reached if name in wanted and reached.count(name) == 1 or name == "class"] is not None
    assert set(wanted) <= set(reached)
    order = [reached.index(name) for name in wanted]
    assert order == sorted(order)


def document_left(tab) -> bool:
    return bool(tab.run("document.activeElement === document.body"))


@pytest.fixture(scope="session")
def shots(tmp_path_factory) -> Path:
    """Where screenshots go: RECOSEG_SHOTS, for those who want to look at them."""
    wanted = os.environ.get("RECOSEG_SHOTS")
    folder = Path(wanted) if wanted else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
