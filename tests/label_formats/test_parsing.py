"""Files of other tools as they come in: what is hostile or damaged is refused in one line."""

from __future__ import annotations

import json
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.label_formats import parsing
from recoseg.label_formats.parsing import read_json, read_lines, read_text, read_xml, read_yaml, unpack

BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]\n" for number in range(1, 30)
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_texts_of_editors_are_read(tmp_path, encoding) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("Bläschen\r\n\r\n  Stängel \r\n".encode(encoding))
    assert read_lines(path) == ["Bläschen", "Stängel"]


def test_what_is_no_text_or_too_large_is_refused(tmp_path) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("leaf".encode("utf-16"))
    with pytest.raises(FileError, match="not a text in UTF-8; save it as UTF-8"):
        read_text(path)
    path.write_bytes(b"x" * 2_000_000)
    with pytest.raises(FileError, match=r"2\.0 MB, where 1\.0 are the most"):
        read_text(path, most=1_000_000)
    with pytest.raises(FileError, match=r"2\.0 MB, where 0\.3"):
        read_yaml(path)


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (read_json, "[" * 1_000_000),
        (read_json, '{"a": ' * 100_000),
        (read_json, '{"a": ' + "9" * 10_000 + "}"),
        (read_json, "{"),
        (read_json, ""),
        (read_yaml, "[" * 200_000),
        (read_yaml, "- " * 100_000),
        (read_yaml, "{a: " * 60_000),
        (read_yaml, "a: *b"),
        (read_yaml, "? [a]\n: b\n"),
        (read_xml, "<a>" * 1000),
        (read_xml, "<?xml version='1.0' encoding='utf-32'?>"),
    ],
)
def test_depth_without_end_and_damage_are_one_line(tmp_path, read, content) -> None:
    path = tmp_path / "a.txt"
    path.write_text(content)
    with pytest.raises(FileError, match=r"a\.txt: not (JSON|YAML|XML), or cut short \(.*\); export") as error:
        read(path)
    assert len(str(error.value)) < 500 + len(str(path))


def test_aliases_of_aliases_are_references_and_words_stay_words(tmp_path) -> None:
    path = tmp_path / "data.yaml"
    path.write_text(f"{BOMB}names: [yes, 1:2:3, 0x10, 2024-99-99, !!python/name:os.system leaf]\n")
    content = read_yaml(path)
    assert content["names"] == ["yes", "1:2:3", "0x10", "2024-99-99", "leaf"]
    assert content["a29"][0] is content["a28"]


def archive_of(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


def test_a_zip_that_is_made_to_fill_the_disk_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(parsing, "SMALL", 2**20)
    bomb = archive_of(tmp_path / "bomb.zip", {f"{number}.bmp": bytes(2**20) for number in range(3)})
    with pytest.raises(UserError, match="like a zip bomb"):
        unpack(bomb, tmp_path / "own")
    monkeypatch.setattr(parsing, "MOST_FILES", 2)
    with pytest.raises(UserError, match=r"unpacks to 3 files, .* like a zip bomb"):
        unpack(bomb, tmp_path / "own")
    monkeypatch.undo()
    assert len(list(unpack(bomb, tmp_path / "own").iterdir())) == 3
    monkeypatch.setattr(parsing, "MOST_UNPACKED", 2)
    with pytest.raises(UserError, match="unpacks to"):
        unpack(bomb, tmp_path / "own")


def test_no_more_is_unpacked_than_the_archive_says(tmp_path) -> None:
    path = archive_of(tmp_path / "a.zip", {"a.txt": b"leaf" * 1000})
    content = path.read_bytes().replace(struct.pack("<I", 4000), struct.pack("<I", 40))
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"a\.zip: not a zip that can be read"):
        unpack(path, tmp_path / "own")
    assert not list((tmp_path / "own").iterdir())


@pytest.mark.parametrize(
    "kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_zip_with_any_damaged_byte_is_unpacked_or_refused(tmp_path, kind) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", kind) as file:
        file.writestr("a.json", json.dumps({"images": list(range(60))}))
    content = path.read_bytes()
    for place in range(0, len(content), 1 + len(content) // 150):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with suppress(UserError, OSError):
            unpack(path, tmp_path / "own")
