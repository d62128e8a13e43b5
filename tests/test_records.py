"""What recoseg wrote comes back as what it was, or as one line that names file and field."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pytest
from torch import Tensor, ones

from recoseg.errors import UserError
from recoseg.records import Count, Share, checked, read_record, read_records, require_lengths


@dataclass(frozen=True)
class Inner:
    name: str
    size: tuple[int, int] = (1, 1)


class Outer(TypedDict):
    count: Count
    share: Share | None
    rows: list[list[float]]
    inner: NotRequired[Inner]
    by_name: NotRequired[dict[str, bool]]
    more: NotRequired[Any]


def square(value: Any) -> None:
    require_lengths("rows", value["rows"], len(value["rows"]), len(value["rows"]))


GOOD = {"count": 3, "share": None, "rows": [[1, 2.5], [0, -1e9]]}


def read(tmp_path, content: str | bytes) -> Any:
    path = tmp_path / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_record(path, Outer, what="thing", remedy="do this", rule=square)


def test_what_is_right_comes_back_with_objects_made_of_it(tmp_path) -> None:
    inner = {"name": "a", "size": [2, 3]}
    found = read(tmp_path, json.dumps({**GOOD, "inner": inner, "by_name": {"x": True}, "more": [None, {}]}))
    assert found == {**GOOD, "inner": Inner("a", (2, 3)), "by_name": {"x": True}, "more": [None, {}]}
    assert type(found["rows"][0][0]) is float
    assert read(tmp_path, json.dumps({**GOOD, "inner": {"name": "a"}}))["inner"] == Inner("a")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": "x"}, 'count must be a whole number, not "x"'),
        ({"count": None}, "count must be a whole number, not null"),
        ({"count": True}, "count must be a whole number, not true"),
        ({"count": 3.0}, "count must be a whole number, not 3.0"),
        ({"count": -1}, "count must be at least 0, not -1"),
        ({"count": 2**63}, "count must be at most 9.22337e+18, not 9223372036854775808"),
        ({"share": 1.5}, "share must be at most 1, not 1.5"),
        ({"share": []}, "share must be a number or null, not a list"),
        ({"rows": {}}, "rows must be a list, not an object"),
        ({"rows": [[1, 2], 3]}, "rows[1] must be a list, not 3"),
        ({"rows": [[1, 2], [3, "\x1b[2J"]]}, 'rows[1][1] must be a number, not "\\u001b[2J"'),
        ({"rows": [[1, 2], [3]]}, "rows[1] must have 2 entries, not 1"),
        ({"rows": [[1, 2]]}, "rows[0] must have 1 entries, not 2"),
        ({"inner": "a"}, 'inner must be an object, not "a"'),
        ({"inner": {}}, "inner.name is missing"),
        ({"inner": {"name": "a", "size": [1]}}, "inner.size must have 2 entries, not 1"),
        ({"inner": {"name": "a", "size": [1, None]}}, "inner.size[1] must be a whole number, not null"),
        ({"by_name": {"x": 1}}, "by_name.x must be true or false, not 1"),
        ({"cuont": 1}, "cuont is not known; did you mean 'count'?"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(tmp_path, change, says) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, json.dumps({**GOOD, **change}))
    assert str(caught.value).startswith(f"{tmp_path / 'file.json'}: {says}")
    assert str(caught.value).endswith("; do this")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", " is empty; do this"),
        (" \n", " is empty; do this"),
        ('{"count": 3, "sh', ": not JSON, or cut short (Input data was truncated); do this"),
        (b'{"count": "\xff"}', ": not UTF-8 text; do this"),
        ("[" * 100_000, ": nested too deep; do this"),
        ('{"count": ' + "9" * 5000 + "}", ": not JSON, or cut short (Integer value out of range); do this"),
        ("null", ": must be an object, not null; do this"),
        ("{}", ": count is missing; do this"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_told_in_words(tmp_path, content, says) -> None:
    with pytest.raises(UserError, match=re.escape(f"{tmp_path / 'file.json'}{says}") + "$"):
        read(tmp_path, content)


def test_what_is_no_file_is_told_and_not_waited_for(tmp_path) -> None:
    def read_at(name: str) -> Any:
        return read_record(tmp_path / name, Outer, what="thing", remedy="do this")

    with pytest.raises(UserError, match=f"^no thing at {tmp_path / 'nowhere'}$"):
        read_at("nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(UserError, match=f"{name} is not a file"):
            read_at(name)


@pytest.mark.parametrize("end", ["", '{"count": 3, "sh', "\0\0\0\0", "\udc80"])
def test_a_log_may_end_with_half_a_line_but_not_go_on_after_it(tmp_path, end) -> None:
    path, good = tmp_path / "log.jsonl", json.dumps(GOOD) + "\n"

    def lines(content: str, *, is_log: bool = True) -> list[Any]:
        path.write_bytes(content.encode(errors="surrogateescape"))
        return read_records(path, Outer, what="log", remedy="do this", is_log=is_log)

    assert lines(good * 2 + end) == [GOOD] * 2
    assert lines(good + "\n" + good.rstrip()) == [GOOD] * 2  # whole but for its end
    for wrong, is_log in ((good + end + "\n" + good, True), (good + end, False)):
        if end:
            with pytest.raises(UserError, match=r"log\.jsonl line 2: not "):
                lines(wrong, is_log=is_log)
    with pytest.raises(UserError, match=r'log\.jsonl line 2: count must be a whole number, not "x"'):
        lines(good + json.dumps({**GOOD, "count": "x"}))  # whole, and wrong: no crash did that


def test_values_that_are_not_json_are_told_by_their_class() -> None:
    assert checked({"a": ones(2)}, dict[str, Tensor], where="here", remedy="do this")["a"].tolist() == [1, 1]
    with pytest.raises(UserError, match=r"^here: a must be a Tensor, not 3; do this$"):
        checked({"a": 3}, dict[str, Tensor], where="here", remedy="do this")
    with pytest.raises(UserError, match=r"^here: a must be text, not a Tensor; do this$"):
        checked({"a": ones(2)}, dict[str, str], where="here", remedy="do this")
