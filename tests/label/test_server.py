"""The server's addresses: what people do arrives, and what hostile pages try does not."""

from __future__ import annotations

import io
import json
import socket
import threading

import httpx
import numpy as np
from PIL import Image

from recoseg.label.map_prediction import MapPrediction
from recoseg.label.marks import VOID
from recoseg.label.messages import Spot
from recoseg.label.server import MOST_BYTES
from recoseg.types import IGNORE


def click(key: str, one: object, x: int, y: int, **more: object) -> dict:
    return {"type": "mark", "image": key, "class": one, "shape": "points", "at": [[x, y]], **more}


def pixels_of(answer: httpx.Response) -> np.ndarray:
    assert answer.status_code == 200, answer.text
    with Image.open(io.BytesIO(answer.content)) as image:
        return np.array(image)


def test_a_click_is_answered_with_its_record_and_is_in_state_image_tile_and_history(served, image_folder):
    server = served(image_folder({"a": (40, 30), "b/ü": (8, 8)}), "leaf", "soil")
    answer = server.do(click("b/ü", 1, 5, 6))
    record = answer.json()["records"][0]
    assert (record["type"], record["image"], record["class"], record["box"]) == (
        "mark",
        "b/ü",
        1,
        [5, 6, 6, 7],
    )
    state = server.get("/api/state").json()
    assert state["version"] == record["number"]
    assert [(one["id"], one["name"], one["marks"], one["pixels"]) for one in state["classes"]] == [
        (0, "leaf", 0, 0),
        (1, "soil", 1, 1),
    ]
    assert state["undo"]["id"] == record["id"]
    image = server.get("/api/image", key="b/ü").json()
    assert (image["width"], image["height"], image["levels"], image["index"]) == (8, 8, 1, 1)
    assert image["pixels"] == {"1": 1}
    tile = pixels_of(server.get("/api/tile/labels", key="b/ü", level=0, x=0, y=0))
    assert tile[6, 5].tolist() == [1, 1, 0]
    assert (tile[..., 0] != IGNORE).sum() == 1
    assert server.get("/api/history", count=1).json()["actions"][0] == record | {"active": True}


def test_undo_of_one_tab_takes_back_what_another_did_and_both_hear_of_it(served, image_folder):
    server = served(image_folder({"a": (8, 8)}), "leaf")
    heard: list[tuple[str, dict]] = []
    ready, done = threading.Event(), threading.Event()

    def listen() -> None:
        with httpx.stream(
            "GET",
            f"{server.address}/api/events",
            params={"since": 0},
            headers=BEARER,
            timeout=60,
        ) as stream:
            kind = ""
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: "):
                    heard.append((kind, json.loads(line[6:])))
                    ready.set()
                    if heard[-1][1].get("type") == "undo":
                        done.set()
                        return

    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(60)
    server.do(click("a", 0, 1, 1), client="one")
    undone = server.do({"type": "undo"}, client="two").json()["records"][0]
    assert done.wait(60)
    thread.join()
    actions = [data for kind, data in heard if kind == "action"]
    assert [data["number"] for data in actions] == list(
        range(1, undone["number"] + 1)
    )  # none twice, none missed
    assert actions[-1]["undone_type"] == "mark"
    assert server.get("/api/image", key="a").json()["pixels"] == {}


def test_events_begin_after_the_last_that_a_browser_saw(served, image_folder):
    server = served(image_folder({"a": (8, 8)}), "leaf")
    last = server.do(click("a", 0, 1, 1), click("a", 0, 2, 2)).json()["version"]
    with server.client.stream("GET", "/api/events", headers={"Last-Event-ID": str(last - 1)}) as stream:
        lines = iter(stream.iter_lines())
        assert next(lines) == f"id: {last}"
        assert next(lines) == "event: action"


def test_what_is_sent_again_is_answered_with_the_first_record(served, image_folder):
    server = served(image_folder({"a": (8, 8)}), "leaf")
    once = server.do(click("a", 0, 1, 1, id="same")).json()
    assert server.do(click("a", 0, 1, 1, id="same")).json() == once


def test_label_files_follow_the_clicks(served, image_folder, until):
    root = image_folder({"a": (8, 6)})
    server = served(root, "leaf", "soil")
    server.do(click("a", 1, 3, 2), click("a", "void", 0, 0))
    until(lambda: (root / "labels" / "a.png").exists())
    labels = np.array(Image.open(root / "labels" / "a.png"))
    assert labels[2, 3] == 1
    assert (labels != IGNORE).sum() == 1  # void is no label
    assert json.loads((root / "classes.json").read_text())["names"] == ["leaf", "soil"]
    server.do({"type": "delete_class", "class": 0})
    until(lambda: np.array(Image.open(root / "labels" / "a.png"))[2, 3] == 0)  # soil is the first class now
    server.do({"type": "delete_class", "class": 1})
    until(lambda: not (root / "labels" / "a.png").exists())


def test_a_prediction_is_shown_as_tiles_and_accepted_where_it_is_sure_and_nothing_else_is_said(
    served, image_folder
):
    server = served(image_folder({"a": (8, 4)}), "leaf", "soil")
    assert server.get("/api/tile/prediction", key="a", level=0, x=0, y=0).status_code == 404
    assert server.do({"type": "accept", "image": "a", "version": 3}).status_code == 409
    left = np.zeros((1, 4, 8), np.float16)
    left[..., :4] = 0.95
    left[..., 4:] = 0.3
    probabilities = np.concatenate((left, 1 - left))
    found = MapPrediction(probabilities, np.array([0, 1], np.uint8), 3, "quick")
    server.labelling.predictions.put("a", found)
    tile = pixels_of(server.get("/api/tile/prediction", key="a", level=0, x=0, y=0))
    assert tile[0, 0].tolist() == [0, 242, 230]  # 255 times 0.95 and 0.9
    assert tile[0, 7].tolist() == [1, 179, 102]  # 0.7 in 16 bits, and 0.4
    server.do(click("a", 1, 0, 0))
    assert server.do({"type": "accept", "image": "a", "version": 2}).status_code == 409
    assert server.do({"type": "accept", "image": "a", "version": 3, "above": 0.9}).status_code == 200
    labels = pixels_of(server.get("/api/tile/labels", key="a", level=0, x=0, y=0))
    assert labels[0, 0].tolist() == [1, 1, 0]  # by hand
    assert labels[1, 0].tolist() == [0, 2, 0]  # accepted
    assert labels[1, 7].tolist() == [IGNORE, 0, 0]
    assert server.get("/api/image", key="a").json()["accepted"] is True


def test_tiles_of_a_large_image_join_to_it_and_lose_no_point(served, image_folder):
    server = served(image_folder({"a": (1100, 600)}), "leaf")
    image = server.get("/api/image", key="a").json()
    assert image["levels"] == 3
    server.do(click("a", 0, 1099, 599))
    for level, (width, height) in enumerate([(1100, 600), (550, 300), (275, 150)]):
        columns, rows = -(-width // 512), -(-height // 512)
        tiles = [
            [
                pixels_of(server.get("/api/tile/labels", key="a", level=level, x=x, y=y))
                for x in range(columns)
            ]
            for y in range(rows)
        ]
        whole = np.concatenate([np.concatenate(row, axis=1) for row in tiles])
        assert whole.shape == (height, width, 3)
        assert whole[-1, -1].tolist() == [0, 1, 0]
        picture = pixels_of(server.get("/api/tile/image", key="a", level=level, x=columns - 1, y=rows - 1))
        assert picture.shape == tiles[-1][-1].shape
    assert server.get("/api/tile/image", key="a", level=0, x=3, y=0).status_code == 400
    assert server.get("/api/tile/image", key="a", level=3, x=0, y=0).status_code == 400
    assert server.get("/api/tile/labels", key="a", level=0, x=-1, y=0).status_code == 400


def test_files_are_written_for_others(served, image_folder):
    root = image_folder({"a": (8, 6)})
    server = served(root, "leaf", "soil")
    assert server.client.post("/api/export", json={"what": ["index"]}).status_code == 409
    server.do({"type": "mark", "image": "a", "class": 1, "shape": "box", "at": [[0, 0], [3, 5]]})
    answer = server.client.post("/api/export", json={"what": ["index", "palette", "overlay"], "of": "labels"})
    assert answer.json() == {"folder": str(root / "export" / "labels"), "files": 3, "left_out": 0}
    index = np.array(Image.open(root / "export/labels/index/a.png"))
    assert np.unique(index[:, :4]).tolist() == [1]
    palette = Image.open(root / "export/labels/palette/a.png")
    assert palette.mode == "P"
    colour = server.get("/api/state").json()["classes"][1]["colour"]
    assert list(palette.convert("RGB").getpixel((0, 0))) == colour
    overlay = np.array(Image.open(root / "export/labels/overlay/a.png")).astype(int)
    np.testing.assert_allclose(overlay[0, 0], 0.4 * np.array(colour) + 0.6 * np.array([90, 120, 60]), atol=1)
    assert overlay[0, 3].tolist() == colour  # the contour
    assert overlay[0, 7].tolist() == [90, 120, 60]
    answer = server.client.post("/api/export", json={"what": ["coco"], "of": "labels"})
    assert answer.json()["files"] == 1
    coco = json.loads((root / "export/labels/coco.json").read_text())
    assert [one["name"] for one in coco["categories"]][:2] == ["leaf", "soil"]
    assert [one["file_name"] for one in coco["images"]] == [next((root / "images").iterdir()).name]
    found = [one for one in coco["annotations"] if one["category_id"] == 2]
    assert [one["bbox"] for one in found] == [[0, 0, 4, 6]]


def test_names_are_never_taken_for_anything_else(served, image_folder, until):
    markup = "<img src=x onerror=alert(1)>&\"'[red]"
    root = image_folder({"<b>x": (8, 8)})
    server = served(root)
    assert server.do({"type": "add_class", "name": markup}).status_code == 200
    assert server.get("/api/state").json()["classes"][0]["name"] == markup
    server.do(click("<b>x", 0, 1, 1))
    until(lambda: (root / "labels" / "<b>x.png").exists())
    assert json.loads((root / "classes.json").read_text(encoding="utf-8"))["names"] == [markup]
    assert server.get("/api/image", key="<b>x").headers["content-type"] == "application/json"


# Hostile requests


BEARER = {"Authorization": "Bearer a-token-of-some-letters"}
STRANGERS = [
    {},
    {"Authorization": "Bearer wrong"},
    {"Authorization": "a-token-of-some-letters"},
    BEARER | {"Origin": "http://evil.example"},
    BEARER | {"Origin": "null"},
    BEARER | {"Origin": "http://127.0.0.1:1"},
    {"Cookie": "recoseg_label_1=a-token-of-some-letters"},
]


def test_strangers_are_refused(served, image_folder):
    server = served(image_folder({"a": (8, 8)}))
    paths = (
        "/?token=wrong",
        "/api/state",
        "/api/state?token=a-token-of-some-letters",
        "/api/tile/image?key=a&level=0&x=0&y=0",
        "/api/events",
    )
    body = {"client": "x", "actions": [{"id": "1", "type": "add_class", "name": "leaf"}]}
    with httpx.Client(base_url=server.address) as stranger:
        for headers in STRANGERS:
            assert stranger.post("/api/actions", json=body, headers=headers).status_code == 403
            for path in paths:
                answer = stranger.get(path, headers=headers)
                assert answer.status_code == 403, (path, headers)
                assert answer.headers["content-security-policy"].startswith("default-src 'none'")
                assert "access-control-allow-origin" not in answer.headers
                assert "set-cookie" not in answer.headers
        assert stranger.get("/docs").status_code == stranger.get("/openapi.json").status_code == 404
        assert stranger.get("/api/state", headers=BEARER | {"Host": "evil.example"}).status_code == 400
    assert server.get("/api/state").json()["classes"] == []


def test_the_page_exchanges_the_token_for_a_cookie_that_scripts_cannot_read(served, image_folder):
    server = served(image_folder({"a": (8, 8)}))
    with httpx.Client(base_url=server.address) as browser:
        answer = browser.get("/", params={"token": "a-token-of-some-letters"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        name, _, rest = answer.headers["set-cookie"].partition("=")
        assert name == f"recoseg_label_{server.port}"  # another server has another cookie
        assert {"HttpOnly", "SameSite=strict"} <= set(rest.split("; "))
        assert browser.get("/").text.startswith("<!doctype html>")
        state = browser.get("/api/state").json()
        assert "a-token-of-some-letters" not in json.dumps(state)
        elsewhere = {"Origin": "http://127.0.0.1:1"}  # the same site, for browsers
        assert browser.post("/api/export", json={}, headers=elsewhere).status_code == 403


def test_our_own_origin_may_ask(served, image_folder):
    server = served(image_folder({"a": (8, 8)}))
    assert server.client.get("/api/state", headers={"Origin": server.address}).status_code == 200


def test_images_are_found_by_key_alone(served, image_folder):
    root = image_folder({"a": (8, 8)})
    Image.new("RGB", (8, 8)).save(root / "secret.png")
    server = served(root, "leaf")
    for key in ("../secret", "..%2Fsecret", "/etc/passwd", "a/../../secret", "a.png", "", "a\0"):
        for path in ("image", "thumbnail", "tile/image", "tile/labels", "tile/prediction"):
            assert server.get(f"/api/{path}", key=key, level=0, x=0, y=0).status_code == 404
        assert server.do(click(key, 0, 1, 1)).status_code == 400
    assert not list(root.glob("labels/**/*"))


def test_the_page_gives_its_own_files_alone(served, image_folder):
    server = served(image_folder({"a": (8, 8)}))
    for name in (
        "../server.py",
        "%2e%2e/server.py",
        "..%2fserver.py",
        "nothing.js",
        "index.html/../x",
        ".x.js",
    ):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:  # httpx would tidy the path
            connection.sendall(f"GET /page/{name} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            assert connection.recv(4096).split(b" ", 2)[1] in (b"404", b"403"), name


def test_a_large_body_is_refused_by_what_it_says_and_by_what_it_is(served, image_folder):
    server = served(image_folder({"a": (8, 8)}))
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"POST /api/actions HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += "Authorization: Bearer a-token-of-some-letters\r\n"
        connection.sendall(f"{head}Content-Length: 8000000000\r\n\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")  # before a byte of it came

    def endless():
        for _ in range(2 * MOST_BYTES // 2**16):
            yield b"x" * 2**16

    try:
        answer = server.client.post("/api/actions", content=endless())
        assert answer.status_code == 413
    except httpx.TransportError:
        pass  # the connection may be closed before all is sent
    assert server.get("/api/state").status_code == 200


MARK = {"id": "1", "type": "mark", "image": "a", "class": 0, "shape": "points", "at": [[1, 0]]}
NO_BODIES = (b"", b"nonsense", b"[]", b"[" * 100_000, b'{"client": "x", "actions": []}')
NO_ACTIONS = (
    {"type": "undo"},
    {"id": "1", "type": "run"},
    {"id": "1", "type": ["mark"]},
    {"id": "1", "type": "import", "image": "a", "mask": ""},
    {"id": "1", "type": "add_class", "name": "\ud800"},
    {"id": "1", "type": "add_class", "name": "two\nlines"},
    {"id": "1", "type": "add_class", "name": "two\u2028lines"},
    {"id": "1", "type": "change_class", "class": 0, "name": "\u202efael"},
    {"id": "1", "type": "add_class", "name": "a\x1b[31m"},
    {"id": "1" * 65, "type": "add_class", "name": "a"},
    MARK | {"at": [[1e9, 0]]},
    MARK | {"at": [[1, 0]] * 20_001},
    MARK | {"class": True},
    MARK | {"class": 7},
    MARK | {"radius": -1},
    MARK | {"shape": "box"},
)


def test_nonsense_is_refused_in_one_line_and_changes_nothing(served, image_folder):
    server = served(image_folder({"a": (8, 8)}), "leaf")
    before = server.get("/api/state").json()["version"]
    bodies = [json.dumps({"client": "x", "actions": [action]}).encode() for action in NO_ACTIONS]
    for body in (*NO_BODIES, *bodies, json.dumps({"client": "", "actions": [MARK]}).encode()):
        answer = server.client.post("/api/actions", content=body)
        assert answer.status_code == 400, body
        assert "\n" not in answer.json()["error"]
    assert server.get("/api/state").json()["version"] == before


def test_a_void_mark_has_a_value_of_its_own(served, image_folder):
    server = served(image_folder({"a": (8, 8)}), "leaf")
    server.do(click("a", "void", 2, 2))
    tile = pixels_of(server.get("/api/tile/labels", key="a", level=0, x=0, y=0))
    assert tile[2, 2].tolist() == [VOID, 1, 0]
    assert server.get("/api/state").json()["void"] == {"marks": 1, "pixels": 1}


def test_a_spot_is_held_for_its_client_until_somebody_marks_or_skips_it(served, image_folder):
    server = served(image_folder({"a": (100, 100)}), "leaf", "soil")
    assert server.get("/api/next", client="one").json() == {"spots": []}
    places = ((0.1, 0.1), (0.5, 0.5), (0.9, 0.9))
    server.labelling.spots.spots = [
        Spot("a", x, y, guess=0, second=1, confidence=0.5, cell=number)
        for number, (x, y) in enumerate(places)
    ]

    def next_place(client: str) -> tuple[int, int]:
        (spot,) = server.get("/api/next", client=client).json()["spots"]
        assert spot["why"] == "leaf or soil?"
        return spot["x"], spot["y"]

    assert next_place("one") == next_place("one") == (10, 10)
    assert next_place("two") == (50, 50)
    server.do(click("a", 0, 12, 9))  # near enough to the first
    assert next_place("one") == (90, 90)
    server.do({"type": "skip", "image": "a", "at": [[50, 50]]})
    assert server.get("/api/next", client="two").json() == {"spots": []}
    server.do({"type": "undo"}, {"type": "undo"})
    assert next_place("two") == (10, 10)
    assert next_place("one") == (50, 50)


def test_predictions_of_all_images_are_written_where_there_are_some(served, image_folder):
    root = image_folder({"a": (4, 4), "b": (4, 4)})
    server = served(root, "leaf", "soil")
    body = {"what": ["index"], "of": "prediction"}
    assert server.client.post("/api/export", json=body).status_code == 409
    sure = np.stack((np.zeros((2, 2)), np.ones((2, 2)))).astype(np.float16)
    found = MapPrediction(sure, np.array([0, 1], np.uint8), 1, "quick")
    server.labelling.predictions.put("b", found)
    assert server.client.post("/api/export", json=body).json()["files"] == 1
    assert (np.array(Image.open(root / "export/prediction/index/b.png")) == 1).all()


def test_images_come_in_natural_order(served, image_folder):
    server = served(image_folder(dict.fromkeys(("10", "0", "2", "1", "b/x9", "b/x10"), (8, 8))))
    answer = server.get("/api/images").json()
    assert [image["key"] for image in answer["images"]] == ["0", "1", "2", "10", "b/x9", "b/x10"]
    assert [image["index"] for image in answer["images"]] == list(range(6))


def test_a_missing_or_damaged_image_is_404_and_a_full_disk_costs_no_thumbnail(served, image_folder):
    root = image_folder({"a": (8, 8), "gone": (8, 8), "broken": (8, 8)})
    server = served(root)
    (root / "images" / "gone.png").unlink()
    (root / "images" / "broken.png").write_bytes(b"no image")
    for key in ("gone", "broken"):
        for path in ("thumbnail", "tile/image"):
            answer = server.get(f"/api/{path}", key=key, level=0, x=0, y=0)
            assert answer.status_code == 404, (path, key)
            assert f"{key}.png" in answer.json()["error"]
    (root / ".recoseg" / "label" / "thumbnails").write_text("in the way of a folder")
    assert server.get("/api/thumbnail", key="a").status_code == 200


def test_a_browser_keeps_pictures_until_the_image_file_is_replaced(served, image_folder):
    root = image_folder({"a": (8, 8)})
    server = served(root)
    for path in ("thumbnail", "tile/image"):
        words = {"params": {"key": "a", "level": 0, "x": 0, "y": 0}}
        first = server.client.get(f"/api/{path}", **words)
        words["headers"] = {"If-None-Match": first.headers["etag"]}
        assert "max-age" not in first.headers["cache-control"]
        assert server.client.get(f"/api/{path}", **words).status_code == 304
        color = (200, 30, 30) if path == "thumbnail" else (30, 30, 200)
        Image.new("RGB", (20, 12), color).save(root / "images" / "a.png")
        pixels = pixels_of(server.client.get(f"/api/{path}", **words))
        assert pixels.shape == (12, 20, 3)
        np.testing.assert_allclose(pixels[6, 10], color, atol=8)


def test_a_class_keeps_its_key_when_another_is_deleted(served, image_folder):
    server = served(image_folder({"a": (8, 8)}), *"abcdefghijk")

    def keys() -> dict[str, int | None]:
        return {one["name"]: one["key"] for one in server.get("/api/state").json()["classes"]}

    before = keys()
    assert list(before.values()) == [*range(1, 10), None, None]
    server.do({"type": "delete_class", "class": 1})
    del before["b"]
    assert keys() == before
    server.do({"type": "add_class", "name": "new"})  # the key that is free
    assert keys() == before | {"new": 2}
