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
    """A drive's model: a name in the catalogue, or the path of a specification that ends in
    .toml."""

    def __new__(cls, name: str, /) -> Drive: ...
    @staticmethod
    def from_toml(text: str, name: str = "drive.toml") -> Drive:
        """The drive that the text of a specification describes. Errors call it name."""

    def edit(
        self, changes: Mapping[str, bool | int | float | str], name: str | None = None
    ) -> Drive:
        """The drive with values of its specification set by their dotted keys,
        {"buffer.segments": 4}; a time, a rate or a size is text with its unit. Comments and
        everything else stay as they are.
        """

    @property
    def name(self) -> str:
        """The name by which the drive was requested."""

    @property
    def toml(self) -> str:
        """Its specification, in TOML."""

    @property
    def sectors(self) -> int:
        """Its number of sectors."""

    @property
    def sector_bytes(self) -> int:
        """The size of a sector in bytes."""

    def describe(self) -> dict[str, Any]:
        """Its whole specification, as printed by diskarm drives show --json."""

@final
class Pending:
    """A waiting request at the time of a decision."""

    @property
    def id(self) -> int:
        """The request's number; a workload counts from 0."""

    @property
    def lbn(self) -> int:
        """Its first block."""

    @property
    def sectors(self) -> int:
        """Its number of blocks."""

    @property
    def is_read(self) -> bool:
        """Whether it is a read."""

    @property
    def arrived_us(self) -> float:
        """When it entered the queue, in microseconds."""

    @property
    def cylinder(self) -> int:
        """The cylinder of its first block."""

    @property
    def positioning_us(self) -> float:
        """Time until its media transfer would begin, in microseconds."""

    @property
    def is_buffered(self) -> bool:
        """Whether the drive's buffer has the beginning of its data or is just reading it."""

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
        """The text for each code, in a column of codes."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Its memory, for NumPy: read-only."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

@final
class Study:
    """A parsed study."""

    def __new__(
        cls, toml: str, name: str, file: str, quick: bool, traces: Sequence[str]
    ) -> Study: ...
    @property
    def title(self) -> str:
        """Its title."""

    @property
    def source(self) -> str:
        """Its source: paper, section, figure."""

    @property
    def about(self) -> str:
        """What is simulated, and how that differs from the source."""

    @property
    def cells(self) -> list[Mapping[str, Any]]:
        """For each cell, the value of every axis."""

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""

    def run(self, folder: str | PathLike[str], jobs: int | None) -> dict[str, Any]:
        """Simulates the runs that folder lacks, on this many threads, and writes all results to
        it."""

    def compute(self, place: int) -> list[str]:
        """The runs of one cell, each as a line for a Keeper."""

@final
class Keeper:
    """Stores the runs of a study that are computed elsewhere; it locks its folder until closed."""

    def __new__(cls, study: Study, folder: str | PathLike[str]) -> Keeper: ...
    def missing(self) -> list[int]:
        """The indices of the cells that lack a run."""

    def keep(self, lines: Sequence[str]) -> None:
        """Stores runs, as Study.compute returns them."""

    def finish(self) -> dict[str, Any] | None:
        """Closes it and writes all results of the study; None if a run is missing."""

    def close(self) -> None:
        """Unlocks the folder."""

def study_texts() -> list[tuple[str, str]]:
    """The studies that come with the module, as names and texts."""

def nearest(written: str, known: Sequence[str]) -> str | None:
    """Suggests the known name that the user may have meant."""

def drives() -> list[str]:
    """The names in the catalogue, in alphabetical order."""

def policies() -> list[dict[str, Any]]:
    """The policies of the table, as printed by diskarm policies --json: a list of dicts."""

def check_trace(trace: Trace) -> None:
    """Raises an Error if the fields of a Trace are invalid."""

def simulate(
    drive: Drive, policies: Sequence[str | Policy], options: Options
) -> list[tuple[dict[str, Any], bool, Batch | None]]:
    """Simulates under each policy; returns for each its figures, whether it is saturated, and its
    requests if requested.
    """

def validate(
    drive: Drive, file: str, reading: Reading, rows: str, locked: bool
) -> dict[str, Any]:
    """Replays the trace in file and compares; or, if locked, predicts each response from those
    before it.
    """

def calibrate(
    drive: Drive, file: str, reading: Reading, rows: str, name: str
) -> tuple[Drive, dict[str, Any], list[str]]:
    """Fits drive to the trace in file; returns the fitted drive, called name, the figures, and
    warnings.
    """

def main(arguments: Sequence[str | PathLike[str]]) -> int:
    """Runs the program diskarm with these arguments, the first of which is the program's name;
    returns its exit code.
    """
