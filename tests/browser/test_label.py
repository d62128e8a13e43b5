"""Labelling in a real browser: what is clicked, pressed and drawn is seen at once and never lost."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import pytest
from PIL import Image

from recoseg.label.marks import VOID

pytestmark = pytest.mark.browser


# ---- Marks


def test_nothing_goes_wrong_and_only_the_server_is_asked(label_page) -> None:
    server, tab = label_page()
    tab.mark((10, 10))
    tab.until(tab.SAVED)
    for event in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
        assert tab.events(event) == []
    asked = {event["request"]["url"].split("?")[0] for event in tab.events("Network.requestWillBeSent")}
    assert {
        url for url in asked if not url.startswith((f"http://127.0.0.1:{server.port}/", "data:"))
    } == set()


def test_a_click_labels_one_pixel_with_the_class_that_a_key_chose(label_page) -> None:
    server, tab = label_page()
    tab.press("2")
    tab.mark((33, 47))
    tab.until(tab.SAVED)
    assert server.labels() == {(33, 47): 1}
    assert tab.run(tab.has(server.colour("soil"), 33, 47))


def test_a_click_is_drawn_within_50_ms_while_the_server_takes_seconds(label_page) -> None:
    server, tab = label_page()
    tab.call(
        "Network.emulateNetworkConditions",
        offline=False,
        latency=2000,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    tab.run(
        f"""document.getElementById("stage").addEventListener("pointerup", ({{timeStamp}}) => {{
          const look = () => {{
            if ({tab.has(server.colour("leaf"), 80, 60)}) window.took = performance.now() - timeStamp;
            else requestAnimationFrame(look);
          }};
          look();
        }})"""
    )
    tab.mark((80, 60))
    took = tab.until("window.took")
    assert tab.run(tab.STATE) == "saving"
    assert took < 50
    tab.call(
        "Network.emulateNetworkConditions",
        offline=False,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    tab.until(tab.SAVED)
    assert server.labels() == {(80, 60): 0}


def test_a_drag_is_a_scribble(label_page) -> None:
    server, tab = label_page()
    tab.mark((20, 30), (40, 30), (60, 30))
    tab.until(tab.SAVED)
    assert server.labels() == {(x, 30): 0 for x in range(20, 61)}


def test_a_box_is_dragged_with_shift(label_page) -> None:
    server, tab = label_page()
    tab.mark((20, 30), (25, 35), (29, 33), modifiers="shift")
    tab.until(tab.SAVED)
    assert server.labels() == {(x, y): 0 for x in range(20, 30) for y in range(30, 34)}


def test_a_polygon_has_a_corner_at_each_click_with_shift_and_closes_at_the_first(label_page) -> None:
    server, tab = label_page()
    for corner in [(20, 20), (100, 20), (20, 100), (20, 20)]:
        tab.mark(corner, modifiers="shift")
    tab.until(tab.SAVED)
    (record,) = server.records()
    assert (record["shape"], record["at"]) == ("polygon", [[20, 20], [100, 20], [20, 100]])
    labels = server.labels()
    assert labels[(40, 40)] == 0
    assert (90, 90) not in labels


def test_enter_closes_a_polygon_and_escape_gives_it_up(label_page) -> None:
    server, tab = label_page()
    for key in ("Escape", "Enter"):
        for corner in [(20, 20), (40, 20), (40, 40)]:
            tab.mark(corner, modifiers="shift")
        tab.press(key)
    tab.until(f"{tab.SAVED} && !document.getElementById('undo').disabled")
    (record,) = server.records()
    assert (record["shape"], record["at"]) == ("polygon", [[20, 20], [40, 20], [40, 40]])


def test_the_right_button_erases(label_page) -> None:
    server, tab = label_page()
    tab.mark((50, 50))
    tab.mark((90, 50))
    tab.mark((51, 50), button="right")  # nobody hits a single pixel
    tab.until(tab.SAVED)
    assert server.labels() == {(90, 50): 0}
    tab.until(f"{tab.seen(50, 50)}[3] == 0")


def test_nothing_of_these_classes_is_a_label_too(label_page) -> None:
    server, tab = label_page()
    tab.press("0")
    tab.mark((5, 6))
    tab.until(tab.SAVED)
    assert server.labels() == {(5, 6): VOID}


def test_undo_and_redo_have_no_end_and_survive_a_reload(label_page) -> None:
    server, tab = label_page()
    places = [(10 + 12 * (index % 10), 10 + 20 * (index // 10)) for index in range(30)]
    for place in places:
        tab.mark(place)
    for _ in range(15):
        tab.press("z", "control")
    tab.until(tab.SAVED)
    assert server.labels() == dict.fromkeys(places[:15], 0)
    tab.reload()
    tab.until(f"{tab.READY} && !document.getElementById('undo').disabled")
    for _ in range(15):
        tab.click("#undo")
        tab.until(f"{tab.SAVED} && new Promise(requestAnimationFrame)")
    assert server.labels() == {}
    for _ in range(15):
        tab.press("z", "control shift")
    tab.until(tab.SAVED)
    assert server.labels() == dict.fromkeys(places[:15], 0)


# ---- Without a mouse


def test_the_keyboard_alone_moves_a_crosshair_and_labels(label_page) -> None:
    server, tab = label_page()
    tab.focus("#stage")
    tab.press("2")
    tab.press("ArrowRight", "shift")  # from the middle, (80, 60)
    tab.press("ArrowUp", "shift")
    tab.press("Enter")
    tab.until(tab.SAVED)
    assert server.labels() == {(81, 59): 1}
    assert tab.until("document.getElementById('said').textContent.includes('soil at 81, 59')")
    tab.press("Delete")
    tab.until(f"{tab.SAVED} && document.getElementById('said').textContent.includes('Erased')")
    assert server.labels() == {}


def test_the_keyboard_scribbles_and_fills(label_page) -> None:
    server, tab = label_page()
    tab.focus("#stage")
    for key in ("s", "ArrowRight", "ArrowRight", "s"):
        tab.press(key, "shift" if key.startswith("Arrow") else "")
    tab.press("b")
    for key in ("Enter", "ArrowDown", "ArrowDown", "Enter"):
        tab.press(key, "shift" if key.startswith("Arrow") else "")
    tab.until(tab.SAVED)
    assert server.labels() == dict.fromkeys([(80, 60), (81, 60), (82, 60), (82, 61), (82, 62)], 0)


def test_fingers_label_and_two_of_them_zoom_without_labelling(label_page) -> None:
    server, tab = label_page(width=360, height=740)
    scale = float(tab.run(tab.READY).split()[0])

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": index} for index, (x, y) in enumerate(places)]
        tab.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    (x, y) = tab.at(80, 60)
    touch("touchStart", (x - 20, y))
    touch("touchStart", (x - 20, y), (x + 20, y))
    touch("touchMove", (x - 40, y), (x + 40, y))
    touch("touchEnd")
    tab.until(f"Math.abs(Number({tab.READY}.split(' ')[0]) - {2 * scale}) < 0.05")
    x, y = tab.at(80, 60)
    touch("touchStart", (x, y))
    touch("touchEnd")
    tab.until(f"{tab.SAVED} && !document.getElementById('undo').disabled")
    assert server.labels() == {(80, 60): 0}


# ---- Nothing is lost


def test_a_reload_shows_what_was_marked(label_page) -> None:
    server, tab = label_page()
    tab.mark((120, 20))
    tab.until(tab.SAVED)
    tab.reload().until(f"{tab.READY} && {tab.has(server.colour('leaf'), 120, 20)}")


def test_two_tabs_see_each_other_and_do_not_overwrite(label_page, label_tab) -> None:
    server, one = label_page()
    other = label_tab(server.address)
    other.press("2")
    one.mark((20, 20))
    other.mark((60, 20))
    one.call("Page.bringToFront")  # it was behind the other, and catches up
    one.until(one.has(server.colour("soil"), 60, 20))
    other.call("Page.bringToFront")
    other.until(other.has(server.colour("leaf"), 20, 20))
    assert server.labels() == {(20, 20): 0, (60, 20): 1}
    one.press("z", "control")  # its own, although the other's is later
    other.call("Page.bringToFront")
    other.until(f"{other.seen(20, 20)}[3] == 0")
    assert server.labels() == {(60, 20): 1}


def test_clicks_made_while_the_server_is_gone_are_kept_shown_as_unsaved_and_sent_once(label_page) -> None:
    server, tab = label_page()
    tab.mark((10, 10))
    tab.until(tab.SAVED)
    server.stop()
    for x in (30, 50, 70):
        tab.mark((x, 10))
    tab.press("z", "control")
    text = "document.getElementById('saved-text').textContent"
    assert tab.until(f"{tab.STATE} == 'unsaved' && {text}") == "Not saved: 4 actions"
    tab.until(f"{tab.has(server.colour('leaf'), 50, 10)} && {tab.seen(70, 10)}[3] == 0")
    server.start()
    tab.until(tab.SAVED)
    assert server.labels() == {(10, 10): 0, (30, 10): 0, (50, 10): 0}
    assert [record["type"] for record in server.records()] == ["mark"] * 4 + ["undo"]


def test_what_a_closed_tab_could_not_send_is_sent_by_the_next(label_page, label_tab) -> None:
    server, tab = label_page()
    server.stop()
    tab.mark((30, 10))
    tab.until(f"{tab.STATE} == 'unsaved'")
    tab.close()
    server.start()
    other = label_tab(server.address)
    other.until(f"{other.SAVED} && {other.has(server.colour('leaf'), 30, 10)}")
    assert server.labels() == {(30, 10): 0}


def test_what_the_server_refuses_is_said_and_taken_back(label_page, label_tab) -> None:
    server, tab = label_page()
    server.stop()
    tab.mark((30, 10))
    tab.until(f"{tab.STATE} == 'unsaved'")
    server.start()
    first = server.labelling.folder.state.classes()[0].id
    server.labelling.do("another", [{"id": "gone", "type": "delete_class", "class": first}])
    tab.until(f"{tab.SAVED} && document.querySelector('.notice')")
    assert server.labels() == {}
    tab.until(f"{tab.seen(30, 10)}[3] == 0")


def test_a_server_that_is_killed_and_started_again_has_every_click(label_server, label_tab, tmp_path) -> None:
    """The command itself, learner and all, killed without a warning."""
    server = label_server()
    server.stop()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def start() -> tuple[subprocess.Popen[str], str]:
        command = [
            sys.executable,
            "-m",
            "recoseg",
            "label",
            str(tmp_path),
            "--no-browser",
            "--port",
            str(port),
        ]
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "80"}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                return process, found[0]
        raise AssertionError("it printed no address")

    process, address = start()
    try:
        tab = label_tab(address)
        tab.mark((10, 10))
        tab.until(tab.SAVED)
        tab.mark((20, 10))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        tab.mark((30, 10))
        tab.press("2")
        tab.mark((40, 10))
        tab.until(f"{tab.STATE} == 'unsaved'")
        process, again = start()
        assert again == address
        tab.until(tab.SAVED, seconds=60)
        tab.mark((50, 10))
        counts = "[...document.querySelectorAll('.class .count')].map(count => parseInt(count.textContent))"
        tab.until(f"{tab.SAVED} && String({counts}) == '3,2,0'")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
    server.start()
    assert server.labels() == {(10, 10): 0, (20, 10): 0, (30, 10): 0, (40, 10): 1, (50, 10): 1}


# ---- The token, and keys of classes


def test_the_address_bar_shows_no_token_and_a_reload_and_a_second_tab_work(label_page, label_tab) -> None:
    server, tab = label_page()
    assert server.token not in tab.run("location.href")
    assert server.token not in tab.run("document.cookie")
    tab.reload().until(tab.READY)
    second = label_tab(f"http://127.0.0.1:{server.port}/")
    second.mark((33, 47))
    second.until(second.SAVED)
    assert server.labels() == {(33, 47): 0}
    asked = [event["request"]["url"] for event in tab.events("Network.requestWillBeSent")]
    assert [url for url in asked if server.token in url] == [server.address]


def test_a_class_keeps_its_key_when_the_one_before_it_is_deleted(label_page) -> None:
    server, tab = label_page(classes=("leaf", "soil", "sky"))
    server.labelling.do("another tab", [{"id": "gone", "type": "delete_class", "class": 0}])
    tab.until("document.querySelectorAll('#classes kbd').length == 3")
    assert (
        tab.run("[...document.querySelectorAll('#classes kbd')].map(key => key.textContent).join()")
        == "2,3,0"
    )
    tab.press("3")
    tab.mark((33, 47))
    tab.until(tab.SAVED)
    assert server.labels() == {(33, 47): 2}


def test_the_page_says_which_class_was_added_also_before_the_list_has_it(label_page) -> None:
    server, tab = label_page()
    server.labelling._counted = lambda: {}  # type: ignore[method-assign]  # no list comes
    tab.run("document.getElementById('new-name').value = 'sky'")
    tab.click("#add-class button")
    assert tab.until("document.getElementById('said').textContent") == "sky chosen."


def test_a_missing_thumbnail_is_asked_for_less_and_less_often(label_server, label_tab) -> None:
    server = label_server()
    (server.root / "images" / "1.png").unlink()
    tab = label_tab(server.address)

    def times() -> list[float]:
        sent = tab.events("Network.requestWillBeSent")
        return [event["timestamp"] for event in sent if "thumbnail?key=1" in event["request"]["url"]]

    while len(times()) < 3:
        tab.run("new Promise(done => setTimeout(done, 100))")
    _, second, third = times()
    assert third - second > 3.9


def test_an_image_that_was_replaced_or_deleted_is_shown_as_it_is(label_page) -> None:
    server, tab = label_page()
    images = server.root / "images"
    tab.press("n")
    tab.until("document.getElementById('image-name').textContent == '1'")
    Image.new("RGB", (200, 50), (200, 30, 30)).save(images / "0.png")
    tab.press("p")
    tab.until(
        f"Math.abs({tab.seen(190, 40, 'image')}[0] - 200) < 5 && {tab.seen(190, 40, 'image')}[3] == 255"
    )
    tab.press("n")
    tab.until("document.getElementById('image-name').textContent == '1'")
    (images / "2.png").unlink()
    tab.press("n")
    tab.until("document.getElementById('notices').textContent.includes('image 2 cannot be read')")
