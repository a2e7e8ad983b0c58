"""Comparison of models with measurements of real drives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import _diskarm
from ._diskarm import Drive
from ._simulate import drive_of
from ._trace import Reading


class Figures(Mapping[str, Any]):
    """Metrics by name, as attributes and as keys, with the names of the program's --json."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return _named(self._values[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return f"Figures({self._values!r})"


def _named(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Figures(value)
    return [_named(one) for one in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Calibration:
    """A drive fitted to a trace."""

    drive: Drive
    """The fitted drive."""
    figures: Figures
    """The fitted values and their accuracy, with the names of `diskarm calibrate --json`."""
    warnings: list[str]
    """Reasons to distrust it."""


def validate(
    drive: str | os.PathLike[str] | Drive,
    file: str | os.PathLike[str],
    *,
    rows: str = "0..",
    locked: bool = False,
    format: str | None = None,
    on_error: str = "stop",
) -> Figures:
    """Compares a drive's model with response times measured on the real drive: mean responses and
    the demerit, the distance between their distributions.

    With locked, the model follows the measured drive and predicts each response before it sees it.
    `diskarm validate --help` has details; the names are those of its --json. rows is a half-open
    range from 0: "0..5000", "5000..".
    """
    reading = Reading(format=format, on_error=on_error)
    judged = _diskarm.validate(drive_of(drive), os.fspath(file), reading, rows, locked)
    return Figures(judged)


def calibrate(
    drive: str | os.PathLike[str] | Drive,
    file: str | os.PathLike[str],
    *,
    name: str = "fitted",
    rows: str = "0..",
    format: str | None = None,
    on_error: str = "stop",
) -> Calibration:
    """Fits the specification of a drive to a trace with measured response times; name is the name
    of the fitted drive. It takes minutes for thousands of rows. `diskarm calibrate --help` says
    more.
    """
    reading = Reading(format=format, on_error=on_error)
    arguments = (drive_of(drive), os.fspath(file), reading, rows, name)
    fitted, figures, warnings = _diskarm.calibrate(*arguments)
    return Calibration(fitted, Figures(figures), warnings)
