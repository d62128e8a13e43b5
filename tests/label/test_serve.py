"""What the command does around the server: the token's files, and the browser that it opens."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

from recoseg.label.serve import kept_token

RECORDER = """#!/bin/sh
echo "$*" > {words}
cp "${{1#file://}}" {page}
stat -c %a "${{1#file://}}" > {rights}
"""


def test_only_this_user_reads_the_token(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old = os.umask(0)
    try:
        token = kept_token(tmp_path / "leaves")
    finally:
        os.umask(old)
    (file,) = (tmp_path / "recoseg" / "label_tokens").iterdir()
    assert file.read_text() == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    file.write_text("damaged!")
    assert kept_token(tmp_path / "leaves") == file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_browser_starts_with_a_private_file_and_not_with_the_token(
    image_folder, start, tmp_path, monkeypatch, until
):
    browser, words = tmp_path / "browser", tmp_path / "words"
    page, rights = tmp_path / "page.html", tmp_path / "rights"
    browser.write_text(RECORDER.format(words=words, page=page, rights=rights))
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    server = start(image_folder({"a": (8, 8)}), "--port", "0", opens=True)
    until(rights.exists)
    until(rights.read_text)
    assert re.fullmatch(r"file:///\S+\.html\n", words.read_text())
    assert server.token not in words.read_text()
    assert f"url={server.address}/?token={server.token}" in page.read_text()
    assert rights.read_text() == "600\n"
    server.end(2)
    assert not Path(words.read_text().strip().removeprefix("file://")).exists()


def test_the_server_runs_without_torch(two_tone):
    """A process of 40 MB rather than of 400."""
    code = """
import sys
from pathlib import Path
from pathlib import Path
from fastapi.testclient import TestClient
from recoseg.label.label_folder import LabelFolder
from recoseg.label.labelling import Labelling
from recoseg.label.serve import serve
from recoseg.label.server import application

labelling = Labelling(LabelFolder(Path(sys.argv[1])))
headers = {"Authorization": "Bearer t"}
client = TestClient(application(labelling, token="t"), base_url="http://127.0.0.1", headers=headers)
mark = {"id": "2", "type": "mark", "image": "0", "class": 0, "shape": "points", "at": [[1, 1]]}
actions = [{"id": "1", "type": "add_class", "name": "leaf"}, mark]
assert client.post("/api/actions", json={"client": "x", "actions": actions}).status_code == 200
for path in ("state", "images", "tile/image", "tile/labels", "thumbnail", "next"):
    answer = client.get(f"/api/{path}", params={"key": "0", "level": 0, "x": 0, "y": 0})
    assert answer.status_code == 200, path
assert client.post("/api/export", json={"what": ["index", "coco"]}).status_code == 200
labelling.close()
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(two_tone)], check=True)
