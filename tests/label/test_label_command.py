"""`recoseg label` as people start it: a server that is killed loses nothing."""

from __future__ import annotations

import signal

import numpy as np
from PIL import Image

from recoseg.cli.main import main


def test_a_server_that_is_killed_between_clicks_has_them_all_at_its_next_start(image_folder, start, until):
    root = image_folder({"a": (16, 12)})
    server = start(root, "--port", "0", "--classes", "leaf,soil")
    for number in range(5):
        assert server.mark(number, number % 2, number, 3).status_code == 200
    server.end(signal.SIGKILL)
    with (root / "label_journal.jsonl").open("ab") as file:
        file.write(b'{"number":99,"id":"never acknowl')
    port = server.address.rpartition(":")[2]
    again = start(root, "--port", port)  # the same port: whoever had the page open goes on
    assert again.token == server.token
    assert [line for line in again.lines if str(root / "label_journal.torn") in line]
    assert b"never acknowl" in (root / "label_journal.torn").read_bytes()
    image = again.client.get("/api/image", params={"key": "a"}).json()
    assert image["pixels"] == {"0": 3, "1": 2}
    assert again.mark(2, 1, 9, 9).json()["records"][0]["at"] == [[2, 3]]  # sent again, and not applied again
    assert again.mark(5, 1, 9, 9).status_code == 200
    until(
        lambda: (
            (root / "labels" / "a.png").exists()
            and np.array(Image.open(root / "labels" / "a.png"))[9, 9] == 1
        )
    )
    again.end(signal.SIGINT)
    assert again.process.returncode in (0, 130)
    labels = np.array(Image.open(root / "labels" / "a.png"))
    assert labels[3, :5].tolist() == [0, 1, 0, 1, 0]


def test_an_interrupt_ends_open_pages_without_a_traceback(image_folder, start, capfd):
    server = start(image_folder({"a": (16, 12)}), "--port", "0", "--classes", "leaf")
    with server.client.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: learner"
        server.process.send_signal(signal.SIGINT)
        assert "event: end" not in list(lines)  # the stream ends properly
    server.process.wait(300)
    assert "Traceback" not in capfd.readouterr().err


def test_mistakes_are_told_in_one_line(tmp_path, capsys, image_folder):
    root = image_folder({"a": (8, 8)})
    for words, told in (
        ([str(tmp_path / "nothing")], "does not exist"),
        ([str(root / "images")], f"give the folder above it: {root}"),
        ([str(root), "--port", "99999"], "needs a number from 0 to 65535"),
    ):
        assert main(["label", *words]) == 1
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
