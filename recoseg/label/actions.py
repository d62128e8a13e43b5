"""What clients may ask for: every action checked, and made a record that the journal can hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from recoseg.colours import distinct_colours
from recoseg.errors import UserError
from recoseg.label.journal import Record
from recoseg.label.label_state import CLASSES, LabelState
from recoseg.label.marks import MOST_IDS
from recoseg.text import is_text, lookup, require_plain_name, shortened

MOST_PIXELS = 20_000
MOST_RADIUS = 200
MOST_ACTIONS = 1_000
_LONGEST_NAME = 100
_LONGEST_ID = 64
_FURTHEST = 2**17
_SHAPES = ("points", "scribble", "polygon", "box")

Action = Mapping[str, Any]


class NotNowError(UserError):
    """Nothing is wrong with what was asked for, but it cannot be done as things are."""


def checked_client(value: object) -> str:
    return _text(value, "client", _LONGEST_ID)


def record_of(action: object, state: LabelState, images: Collection[str]) -> Record:
    """The record of an action, without number and client, or a `UserError` that says what is wrong with it.

    Fields that mean nothing are left out. `accept` still lacks its mask.
    """
    if not isinstance(action, dict):
        raise UserError('an action must be an object such as {"id": ..., "type": "mark", ...}')
    kind = action.get("type")
    if not isinstance(kind, str):
        raise UserError(f"an action needs a type: one of {', '.join(_CHECKS)}")
    check = lookup(_CHECKS, kind, what="type of action")
    known = {"id": _text(action.get("id"), "id", _LONGEST_ID), "type": kind}
    if kind in ("mark", "accept", "skip"):
        known["image"] = _image(action, images)
    return known | check(action, state)


def _mark(action: Action, state: LabelState) -> Record:
    one, shape = action.get("class"), action.get("shape")
    if one is not None and one != "void":
        one = _class(action, state)
    if shape not in _SHAPES:
        raise UserError(f"shape: got {shortened(repr(shape))}, needs one of {', '.join(_SHAPES)}")
    at = _pixels(action.get("at"))
    if shape == "box" and len(at) != 2:
        raise UserError(f"a box needs two corners, not {len(at)}")
    return {
        "class": one,
        "shape": shape,
        "at": at,
        "radius": _whole(action, "radius", 0, MOST_RADIUS, default=0),
    }


def _accept(action: Action, state: LabelState) -> Record:
    above = action.get("above", 0)
    if isinstance(above, bool) or not isinstance(above, int | float) or not 0 <= above <= 1:
        raise UserError(f"above: got {shortened(repr(above))}, needs a confidence from 0 to 1")
    return {"version": _whole(action, "version", 0, 2**53), "above": above}


def _skip(action: Action, state: LabelState) -> Record:
    return {"at": _pixels(action.get("at"))[:1]}


def _add_class(action: Action, state: LabelState) -> Record:
    number = state.num_class_ids
    if number >= MOST_IDS:
        raise UserError(f"a folder can have {MOST_IDS} classes in its life; rename one that is not needed")
    colours = {one.colour for one in state.classes()}
    bright = distinct_colours(len(colours) + 2)[1:]  # without black
    free = next(colour for colour in bright if colour not in colours)
    colour = _colour(action["colour"]) if action.get("colour") is not None else list(free)
    return {"class": number, "name": _new_name(action, state), "colour": colour}


def _change_class(action: Action, state: LabelState) -> Record:
    one = _class(action, state)
    record: Record = {"class": one}
    if action.get("name") is not None:
        record["name"] = _new_name(action, state, but=one)
    if action.get("colour") is not None:
        record["colour"] = _colour(action["colour"])
    if len(record) == 1:
        raise UserError("change_class needs a name or a colour")
    return record


def _delete_class(action: Action, state: LabelState) -> Record:
    return {"class": _class(action, state)}


def _undo(action: Action, state: LabelState) -> Record:
    if action.get("action") is None:
        found = state.next_undo()
        if found is None:
            raise NotNowError("there is nothing to undo")
    else:
        found = _named_action(action, state)
        if not state.is_step(found["number"]):
            raise NotNowError(f"the action {shortened(found['id'])} cannot be undone, or is already")
    return _about(found)


def _redo(action: Action, state: LabelState) -> Record:
    if action.get("action") is None:
        found = state.next_redo()
        if found is None:
            raise NotNowError("there is nothing to do again")
    else:
        found = _named_action(action, state)
        if found["number"] not in state.undone:
            raise NotNowError(f"the action {shortened(found['id'])} is not undone")
    return _about(found)


def _named_action(action: Action, state: LabelState) -> Record:
    number = state.number_of.get(_text(action["action"], "action", _LONGEST_ID))
    if number is None:
        raise UserError(f"there is no action {shortened(action['action'])!r}")
    return state.record(number)


def _about(found: Record) -> Record:
    image = {} if found["type"] in CLASSES else {"image": found["image"]}
    return {"action": found["id"], "undone_type": found["type"], **image}


_CHECKS: dict[str, Callable[[Action, LabelState], Record]] = {
    "mark": _mark,
    "accept": _accept,
    "skip": _skip,
    "add_class": _add_class,
    "change_class": _change_class,
    "delete_class": _delete_class,
    "undo": _undo,
    "redo": _redo,
}


# Fields


def _text(value: object, name: str, longest: int) -> str:
    if not isinstance(value, str) or not value.strip() or not is_text(value):
        raise UserError(f"{name}: got {shortened(repr(value))}, needs a text")
    if len(value) > longest:
        raise UserError(f"{name}: got {len(value)} letters, needs at most {longest}")
    return value


def _image(action: Action, images: Collection[str]) -> str:
    key = action.get("image")
    if not isinstance(key, str) or key not in images:
        raise UserError(f"image: there is none with the key {shortened(repr(key))}")
    return key


def _class(action: Action, state: LabelState) -> int:
    one = action.get("class")
    known = [found.id for found in state.classes()]
    if isinstance(one, bool) or not isinstance(one, int) or one not in known:
        raise UserError(f"class: there is none with the id {shortened(repr(one))}; ids are {known}")
    return one


def _new_name(action: Action, state: LabelState, but: int | None = None) -> str:
    name = _text(action.get("name"), "name", _LONGEST_NAME).strip()
    require_plain_name(name, what="the class name")
    if any(one.name == name and one.id != but for one in state.classes()):
        raise UserError(f"there is a class {name!r} already; choose another name")
    return name


def _colour(value: object) -> Sequence[int]:
    if (
        not isinstance(value, list)
        or len(value) != 3
        or not all(type(c) is int and 0 <= c <= 255 for c in value)
    ):
        raise UserError(f"colour: got {shortened(repr(value))}, needs [red, green, blue] from 0 to 255")
    return value


def _whole(action: Action, name: str, low: int, high: int, default: int | None = None) -> int:
    value = action.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise UserError(f"{name}: got {shortened(repr(value))}, needs a whole number from {low} to {high}")
    return value


def _pixels(value: object) -> list[list[int]]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_PIXELS:
        raise UserError(f"at: needs a list of 1 to {MOST_PIXELS} pixels [x, y]")
    for pixel in value:
        if (
            not isinstance(pixel, list)
            or len(pixel) != 2
            or not all(type(c) is int and -_FURTHEST <= c <= _FURTHEST for c in pixel)
        ):
            raise UserError(f"at: got {shortened(repr(pixel))}, needs pixels [x, y] of whole numbers")
    return value
