"""The compiled part of `diskarm`; `make python` checks this file against it."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final, final

from ._options import Options
from ._policy import Policy
from ._trace import Reading, Trace

__all__ = [
    "VERSION",
    "Batch",
    "Column",
    "Drive",
    "Keeper",
    "Pending",
    "Study",
    "calibrate",
    "check_trace",
    "drives",
    "main",
    "nearest",
    "policies",
    "simulate",
    "study_texts",
    "validate",
]

VERSION: Final[str]

@final
class Drive:
    """A drive's model: a name of the catalogue, or a path that ends in .toml to a specification."""

    def __new__(cls, name: str, /) -> Drive: ...
    @staticmethod
    def from_toml(text: str, name: str = "drive.toml") -> Drive:
        """The drive that the text of a specification describes. Errors call it name."""

    def edit(
        self, changes: Mapping[str, bool | int | float | str], name: str | None = None
    ) -> Drive:
        """The drive with values of its specification set, by their dotted keys,
        {"buffer.segments": 4}; a time, a rate or a size is text with its unit. Comments and all
        else stay as written.
        """

    @property
    def name(self) -> str:
        """The name that the drive was requested by."""

    @property
    def toml(self) -> str:
        """Its specification, in TOML."""

    @property
    def sectors(self) -> int:
        """How many sectors it has."""

    @property
    def sector_bytes(self) -> int:
        """Bytes of a sector."""

    def describe(self) -> dict[str, Any]:
        """All that its specification says, as diskarm drives show --json."""

@final
class Pending:
    """A request that waits, as it is at a decision."""

    @property
    def id(self) -> int:
        """The request's number; a workload counts from 0."""

    @property
    def lbn(self) -> int:
        """Its first block."""

    @property
    def sectors(self) -> int:
        """How many blocks."""

    @property
    def is_read(self) -> bool:
        """Whether it reads."""

    @property
    def arrived_us(self) -> float:
        """When it entered the queue, in microseconds."""

    @property
    def cylinder(self) -> int:
        """Where its first block lies."""

    @property
    def positioning_us(self) -> float:
        """Time until its media transfer would begin, in microseconds."""

    @property
    def is_buffered(self) -> bool:
        """Whether the drive's buffer has the beginning of its data, or is just getting it."""

@final
class Batch:
    """Requests in columns, by their names."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def column(self, name: str) -> Column:
        """The column of this name."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Column:
    """One column."""

    @property
    def words(self) -> list[str] | None:
        """What its numbers stand for, of a column of words."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Its memory, for NumPy: read-only."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

@final
class Study:
    """A study that was read."""

    def __new__(
        cls, toml: str, name: str, file: str, quick: bool, traces: Sequence[str]
    ) -> Study: ...
    @property
    def title(self) -> str:
        """What it is about, in a line."""

    @property
    def source(self) -> str:
        """Where it comes from."""

    @property
    def about(self) -> str:
        """What is simulated, and where it departs from its source."""

    @property
    def cells(self) -> list[Mapping[str, Any]]:
        """Of each cell the value of every axis."""

    @property
    def metrics(self) -> list[str]:
        """The names of what is measured of each cell."""

    def run(self, folder: str | PathLike[str], jobs: int | None) -> dict[str, Any]:
        """Simulates what folder lacks, on so many threads, and writes everything there."""

    def compute(self, place: int) -> list[str]:
        """The runs of one cell, each as a line for a Keeper."""

@final
class Keeper:
    """Keeps the runs of a study that are computed elsewhere; its folder is held meanwhile."""

    def __new__(cls, study: Study, folder: str | PathLike[str]) -> Keeper: ...
    def missing(self) -> list[int]:
        """The places of the cells that lack a run."""

    def keep(self, lines: Sequence[str]) -> None:
        """Keeps runs, as Study.compute gives them."""

    def finish(self) -> dict[str, Any] | None:
        """Closes it and writes everything that comes of the study; None where a run is missing."""

    def close(self) -> None:
        """Lets the folder go."""

def study_texts() -> list[tuple[str, str]]:
    """The studies that come with the module: their names and texts."""

def nearest(written: str, known: Sequence[str]) -> str | None:
    """What of the known names may have been meant."""

def drives() -> list[str]:
    """The names of the catalogue, in alphabetic order."""

def policies() -> list[dict[str, Any]]:
    """The policies that can be named, as diskarm policies --json: a list of dicts."""

def check_trace(trace: Trace) -> None:
    """Raises an Error where the fields of a Trace mean nothing."""

def simulate(
    drive: Drive, policies: Sequence[str | Policy], options: Options
) -> list[tuple[dict[str, Any], bool, Batch | None]]:
    """Simulates under each policy; returns for each its figures, whether it is saturated, and its
    requests if requested.
    """

def validate(
    drive: Drive, file: str, reading: Reading, rows: str, locked: bool
) -> dict[str, Any]:
    """Replays the trace in file and compares; or, locked, predicts each response before it is
    seen.
    """

def calibrate(
    drive: Drive, file: str, reading: Reading, rows: str, name: str
) -> tuple[Drive, dict[str, Any], list[str]]:
    """Fits drive to the trace in file; returns the fitted drive, called name, the figures, and
    warnings.
    """

def main(arguments: Sequence[str | PathLike[str]]) -> int:
    """Does what the program diskarm does with these arguments, of which the first is its name;
    returns its exit code.
    """
