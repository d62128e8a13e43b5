"""The one error that means "the user can mend this"; the command line prints it as a single line."""

from __future__ import annotations


class UserError(ValueError):
    """A mistake in what was given to us: the message says what was given, what is allowed, what to do."""
