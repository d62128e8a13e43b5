"""The one error that means "the user can mend this", and how to tell that memory ran out."""

from __future__ import annotations

import errno


class UserError(ValueError):
    """A mistake in what was given to us: the message says what was given, what is allowed, what to do."""


class UsageError(UserError):
    """A mistake in the words of a command: an option, command or setting that does not exist or fit."""


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
