"""The exception for invalid input."""

from __future__ import annotations

from collections.abc import Iterable

from . import _diskarm


class Error(ValueError):
    """The input is invalid: a drive, a policy, a workload, a trace, an argument.

    The message is one line: where, what, what was found there, and what would have been accepted.
    """

    file: str | None
    """The file in error, as the user named it; None if it is an argument."""

    line: int | None
    """The line of the file, from 1, if it has lines."""

    field: str | None
    """The field in error: an argument, a key of a file, a column of a trace, a parameter."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.field = field


def wrong_type(field: str, found: object, expected: str) -> TypeError:
    """The error for an argument of another type."""
    return TypeError(f"{field}: found {found!r}, expected {expected}")


def unknown(field: str, found: str, what: str, known: Iterable[str]) -> Error:
    """The error for an unknown name: suggests the nearest known one, or lists
    all."""
    known = list(known)
    near = _diskarm.nearest(found, known)
    hint = ": " + ", ".join(known) if near is None else f', perhaps "{near}"'
    return Error(f'{field}: found "{found}", expected {what}{hint}', field=field)
