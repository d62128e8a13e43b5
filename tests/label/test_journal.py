"""The journal: what was acknowledged comes back, in the same state, whatever happened in between."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from recoseg.errors import UserError
from recoseg.label.actions import NotNowError
from recoseg.label.journal import NAME, Journal
from recoseg.label.label_folder import LabelFolder
from recoseg.label.label_state import LabelState
from recoseg.label.marks import Painted

KEYS = ("a", "b/c")
PIXEL = st.lists(st.integers(-3, 12), min_size=2, max_size=2)
CLASS = st.integers(0, 3)
ACTION = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("mark"),
            "image": st.sampled_from(KEYS),
            "class": st.one_of(st.none(), st.just("void"), CLASS),
            "shape": st.sampled_from(["points", "scribble", "polygon"]),
            "at": st.lists(PIXEL, min_size=1, max_size=4),
            "radius": st.integers(0, 2),
        }
    ),
    st.fixed_dictionaries({"type": st.just("add_class"), "name": st.sampled_from("pqrs")}),
    st.fixed_dictionaries(
        {
            "type": st.just("change_class"),
            "class": CLASS,
            "colour": st.just([1, 2, 3]),
            "name": st.sampled_from("pqxy"),
        }
    ),
    st.fixed_dictionaries({"type": st.just("delete_class"), "class": CLASS}),
    st.fixed_dictionaries(
        {
            "type": st.just("skip"),
            "image": st.sampled_from(KEYS),
            "at": st.lists(PIXEL, min_size=1, max_size=1),
        }
    ),
    st.just({"type": "undo"}),
    st.just({"type": "redo"}),
    st.fixed_dictionaries({"type": st.sampled_from(["undo", "redo"]), "action": st.integers(0, 20).map(str)}),
)
STORY = st.lists(st.tuples(st.sampled_from(["one", "two"]), st.integers(0, 25), ACTION), max_size=30)


def new_folder(root: Path) -> LabelFolder:
    for key in KEYS:
        path = root / "images" / f"{key}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (10, 8)).save(path)
    return LabelFolder(root)


@given(story=STORY)
def test_a_replayed_journal_gives_the_state_that_was_live(story):
    """Two clients, numbers of actions that come again, undo and redo of anything, refused ones in between."""
    with tempfile.TemporaryDirectory() as place:
        folder = new_folder(Path(place))
        for client, number, action in story:
            try:
                folder.do(client, [action | {"id": str(number)}])
            except UserError:
                continue
        live = folder.state.as_plain()
        labels = {key: folder.labels(key).ids for key in KEYS}
        folder.close()
        again = LabelFolder(Path(place))
        try:
            assert again.state.as_plain() == live
            for key in KEYS:
                np.testing.assert_array_equal(again.labels(key).ids, labels[key])
        finally:
            again.close()


@given(marks=st.lists(st.tuples(CLASS, PIXEL), min_size=1, max_size=12), steps=st.integers(1, 12))
def test_undoing_and_doing_again_leads_back_to_where_one_was(marks, steps):
    with tempfile.TemporaryDirectory() as place:
        folder = new_folder(Path(place))
        folder.add_classes("pqrs")
        states = [folder.labels("a").ids]
        for number, (one, at) in enumerate(marks):
            folder.do(
                "one",
                [
                    {
                        "id": f"m{number}",
                        "type": "mark",
                        "image": "a",
                        "class": one,
                        "shape": "points",
                        "at": [at],
                    }
                ],
            )
            states.append(folder.labels("a").ids)
        steps = min(steps, len(marks))
        for number in range(steps):
            folder.do("two", [{"id": f"u{number}", "type": "undo"}])
            np.testing.assert_array_equal(folder.labels("a").ids, states[-2 - number])
        for number in range(steps):
            folder.do("one", [{"id": f"r{number}", "type": "redo"}])
            np.testing.assert_array_equal(folder.labels("a").ids, states[len(marks) - steps + number + 1])
        with pytest.raises(NotNowError, match="nothing to do again"):
            folder.do("one", [{"id": "last", "type": "redo"}])
        folder.close()


def test_an_action_that_comes_twice_is_applied_once(tmp_path):
    folder = new_folder(tmp_path)
    (first,) = folder.do("one", [{"id": "x", "type": "add_class", "name": "leaf"}])
    (second,) = folder.do("one", [{"id": "x", "type": "add_class", "name": "leaf"}])
    assert second == first
    assert [one.name for one in folder.state.classes()] == ["leaf"]
    folder.close()


def test_of_a_list_with_a_mistake_nothing_is_applied(tmp_path):
    folder = new_folder(tmp_path)
    before = folder.state.as_plain()
    with pytest.raises(UserError, match="shape: got 'blob'"):
        folder.do(
            "one",
            [
                {"id": "1", "type": "add_class", "name": "leaf"},
                {"id": "2", "type": "mark", "image": "a", "class": 0, "shape": "blob", "at": [[1, 1]]},
            ],
        )
    assert folder.state.as_plain() == before
    folder.close()


def labels_of(records: list[dict]) -> dict:
    """What a folder shows of them: its state and its labels."""
    state = LabelState.replay(records)
    painted = {key: Painted.blank(8, 10) for key in KEYS}
    for key in KEYS:
        for record in state.active(key):
            painted[key].paint(record)
    return {"state": state.as_plain(), "labels": {key: painted[key].ids.tolist() for key in KEYS}}


def test_damage_to_any_byte_is_found_or_harmless(tmp_path):
    folder = new_folder(tmp_path)
    folder.add_classes("pqrs")
    for number in range(12):
        at = [[number % 10, number % 8], [3, number % 5]]
        mark = {"type": "mark", "image": KEYS[number % 2], "class": number % 4, "shape": "points", "at": at}
        folder.do("one", [{"id": f"m{number}", **mark}])
    folder.do("two", [{"id": "u", "type": "undo"}, {"id": "d", "type": "delete_class", "class": 1}])
    folder.close()
    whole = (tmp_path / NAME).read_bytes()
    path = tmp_path / "damaged" / NAME
    path.parent.mkdir()
    path.write_bytes(whole)
    intact = Journal(path)
    intact.close()
    expected = labels_of(intact.records)
    random = np.random.default_rng(0)
    found = 0
    for case in range(1_500):
        place, byte = int(random.integers(len(whole))), int(random.integers(1, 256))
        flipped, inserted = bytes([whole[place] ^ byte]), bytes([byte])
        damaged = {0: flipped, 1: b"", 2: whole[place : place + 1] + inserted}[case % 3]
        path.write_bytes(whole[:place] + damaged + whole[place + 1 :])
        path.with_suffix(".torn").unlink(missing_ok=True)
        try:
            journal = Journal(path)
        except UserError as error:
            found += bool(
                re.fullmatch(rf"{re.escape(str(path))}: (one of )?lines? \d+.* is damaged; .*", str(error))
            )
            continue
        journal.close()
        if journal.torn is None:
            assert labels_of(journal.records) == expected, (case, place, byte)
        else:
            found += 1
            assert labels_of(journal.records) == labels_of(intact.records[: len(journal.records)])
    assert found > 1_400


def test_an_older_journal_without_checksums_opens_and_is_protected_from_the_next_action_on(tmp_path):
    path = tmp_path / NAME
    path.write_text('{"number":1,"id":"a"}\n{"number":2,"id":"b"}\n')
    journal = Journal(path)
    assert [record["id"] for record in journal.records] == ["a", "b"]
    journal.append([{"number": 3, "id": "c"}])
    journal.append([{"number": 4, "id": "d"}])
    journal.close()
    again = Journal(path)
    again.close()
    assert again.records == [{"number": n, "id": name} for n, name in enumerate("abcd", 1)]
    path.write_text(path.read_text().replace('"id":"b"', '"id":"x"'))
    with pytest.raises(UserError, match="one of lines 1 to 3 is damaged"):
        Journal(path)


def test_a_last_line_without_its_end_is_kept_beside_and_the_next_one_follows_the_whole_ones(tmp_path):
    path = tmp_path / NAME
    journal = Journal(path)
    journal.append([{"number": 1, "id": "a"}, {"number": 2, "id": "b"}])
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"number":3,"id":"torn')
    journal = Journal(path)
    assert [record["id"] for record in journal.records] == ["a", "b"]
    assert journal.torn is not None
    assert journal.torn.read_bytes() == b'{"number":3,"id":"torn\n'
    journal.append([{"number": 3, "id": "c"}])
    journal.close()
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["a", "b", "c"]


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    (tmp_path / NAME).write_text('{"number":1}\nnonsense\n{"number":3}\n')
    with pytest.raises(UserError, match="line 2 is damaged"):
        Journal(tmp_path / NAME)


def test_a_folder_has_one_writer(tmp_path):
    folder = new_folder(tmp_path)
    with pytest.raises(UserError, match="is being labelled by another process"):
        LabelFolder(tmp_path)
    folder.close()


def test_where_the_disk_is_full_nothing_is_applied_and_it_works_again_afterwards(tmp_path, monkeypatch):
    folder = new_folder(tmp_path)
    before, size = folder.state.as_plain(), (tmp_path / NAME).stat().st_size
    pwrite = os.pwrite

    def half(file: int, content: bytes, at: int) -> int:
        pwrite(file, content[: len(content) // 2], at)
        raise OSError(errno.ENOSPC, "No space left on device")

    action = {"id": "x", "type": "add_class", "name": "leaf"}
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half)
        with pytest.raises(OSError, match="No space left"):
            folder.do("one", [action])
    assert folder.state.as_plain() == before
    assert (tmp_path / NAME).stat().st_size == size
    folder.do("one", [action])
    assert [one.name for one in folder.state.classes()] == ["leaf"]
    folder.close()


def test_an_action_is_synced_before_it_is_acknowledged(tmp_path, monkeypatch):
    folder = new_folder(tmp_path)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((tmp_path / NAME).stat().st_size))
    folder.do("one", [{"id": "x", "type": "add_class", "name": "leaf"}])
    assert synced == [(tmp_path / NAME).stat().st_size]
    folder.close()


def test_the_class_of_a_deleted_id_is_never_given_again():
    state = LabelState.replay(
        [
            {
                "number": 1,
                "id": "1",
                "client": "x",
                "type": "add_class",
                "class": 0,
                "name": "a",
                "colour": [0, 0, 0],
            },
            {"number": 2, "id": "2", "client": "x", "type": "delete_class", "class": 0},
        ]
    )
    assert state.classes() == []
    assert state.num_class_ids == 1
