"""Requests that are drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """Requests that are drawn, in words or in the file of a name that ends in `.toml`.

    >>> Workload("poisson(rate=60/s) uniform size=8KiB reads=67%")
    Workload(text='poisson(rate=60/s) uniform size=8KiB reads=67%', is_toml=False)

    `diskarm simulate --help` lists the syntax. Whether a workload fits is checked when it
    meets a drive.
    """

    text: str
    """The words, or the name of the file."""

    is_toml: bool = False
    """Whether the text is the content of a TOML file."""

    @classmethod
    def from_toml(cls, text: str) -> Workload:
        """The workload that the text of a TOML file describes."""
        return cls(text, is_toml=True)

    def __str__(self) -> str:
        return self.text
