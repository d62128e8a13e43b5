"""Words for people, and names from outside made fit for a terminal."""

from __future__ import annotations

import pytest

from recoseg.text import listed, printable


def test_words_are_listed() -> None:
    assert [listed(["a", "b", "c"][:count]) for count in (0, 1, 2, 3)] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, grün, 漢字, 😀", "plain, grün, 漢字, 😀"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("a\u2028b", r"a\u2028b"),
        ("\udcff.png", r"\udcff.png"),
        ("می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"),
        ("two\u00a0words", "two\u00a0words"),
    ],
)
def test_what_would_steer_a_terminal_is_shown_and_letters_of_all_languages_stay(text, shown) -> None:
    assert printable(text) == shown
