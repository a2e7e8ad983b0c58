"""Generated requests."""

from __future__ import annotations

from dataclasses import dataclass

from ._error import wrong_type


@dataclass(frozen=True)
class Workload:
    """Generated requests: a workload expression, or the name of a file that ends in `.toml`.

    >>> Workload("poisson(rate=60/s) uniform size=8KiB reads=67%")
    Workload(text='poisson(rate=60/s) uniform size=8KiB reads=67%', is_toml=False)

    `diskarm simulate --help` describes the syntax. A workload is checked when it
    is used with a drive.
    """

    text: str
    """The expression, or the name of the file."""

    is_toml: bool = False
    """Whether the text is the content of a TOML file."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise wrong_type("text", self.text, "text")

    @classmethod
    def from_toml(cls, text: str) -> Workload:
        """The workload that the text of a TOML file describes."""
        return cls(text, is_toml=True)

    def __str__(self) -> str:
        return self.text
