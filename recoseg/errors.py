"""The one error that means "the user can mend this", and how to tell that memory ran out."""

from __future__ import annotations

import errno
from numbers import Real
from typing import Any


class UserError(ValueError):
    """Mistake in an argument, setting or file of the user, with a message of one line.

    The message names what was given, what is allowed and what to do. The command line prints it without a
    traceback. It is a `ValueError`.

    Args:
        message: That line.

    Example:
        >>> import recoseg
        >>> try:
        ...     recoseg.RegionalContrast(temperature=0)
        ... except recoseg.UserError as error:
        ...     print(error)
        temperature: got 0, needs a number above 0
    """


class UsageError(UserError):
    """A mistake in the words of a command: an option, command or setting that does not exist or fit."""


def require_number(name: str, value: Any) -> None:
    """Refuse what does not compare with numbers, such as text, and what no float holds."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or abs(value) > _LARGEST:
        raise UserError(f"{name}: got {_start_of(value)}, needs a number")


def require_whole(name: str, value: object, *, at_least: int = 1) -> None:
    """Refuse anything but a whole number from `at_least` on."""
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= _LARGEST:
        raise UserError(f"{name}: got {_start_of(value)}, needs a whole number of at least {at_least}")


_LARGEST = 2**63 - 1


def _start_of(value: object) -> str:
    """What was given; Python refuses to write very long numbers."""
    return "a very large number" if isinstance(value, int) and abs(value) > _LARGEST else f"{value!r:.100}"


_SHORTAGE = (
    "out of memory", "not enough memory", "allocate memory", "bad_alloc", "size calculation overflowed",
    "start new thread", "unexpected pos",
)  # fmt: skip
"""What those say who have no error of their own: PyTorch on a CPU or when it saves, Pillow, threads."""


def is_shortage(error: BaseException) -> bool:
    """Whether memory was asked for in vain."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    return not isinstance(error, UserError) and any(words in str(error) for words in _SHORTAGE)
