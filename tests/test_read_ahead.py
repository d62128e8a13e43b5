"""Reading in a thread while the last item is in use."""

from __future__ import annotations

import threading

import pytest

from recoseg.read_ahead import read_ahead


def test_items_keep_their_order() -> None:
    assert list(read_ahead(iter(range(20)))) == list(range(20))
    assert list(read_ahead(iter(()))) == []


def test_the_next_item_is_made_while_one_is_in_use_and_none_after_it() -> None:
    made, second = [], threading.Event()

    def items():
        for number in range(5):
            made.append(number)
            if number == 1:
                second.set()
            yield number

    ahead = read_ahead(items())
    assert next(ahead) == 0
    assert second.wait(600), "the second item is made although nobody has asked for it"
    threading.Event().wait(0.05)
    assert made == [0, 1]
    ahead.close()
    assert made == [0, 1]


def test_an_error_of_the_reader_arrives_at_its_place() -> None:
    def items():
        yield 1
        raise ValueError("a broken file")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(ValueError, match="a broken file"):
        next(ahead)


def test_the_thread_ends_with_the_loop() -> None:
    before = threading.active_count()
    for _ in read_ahead(iter(range(3))):
        break
    for _ in read_ahead(iter(range(3))):
        pass
    assert threading.active_count() == before
