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
    "CheckpointWriter",
    "Column",
    "Completion",
    "Device",
    "Drive",
    "Pending",
    "Study",
    "calibrate",
    "check_trace",
    "distributions",
    "drives",
    "main",
    "nearest",
    "policies",
    "rounded",
    "simulate",
    "study_texts",
    "validate",
]

VERSION: Final[str]

@final
class Drive:
    """A drive, given by its name in the catalogue or the path of its specification (.toml); or a
    drive with devices in front of it, such as throttle(rate=100/s, drive=hp-c2247).
    """

    def __new__(cls, name: str, /) -> Drive: ...
    @staticmethod
    def from_toml(text: str, name: str = "drive.toml") -> Drive:
        """Creates a drive from the text of a specification. Errors call it `name`."""

    @staticmethod
    def from_data_sheet(
        *,
        capacity: str,
        rpm: int,
        seek: str,
        outer: str,
        inner: str | None = None,
        write_seek: str | None = None,
        track_to_track: str | None = None,
        full_stroke: str | None = None,
        cache: str | None = None,
        platters: int | None = None,
        queue: int | None = None,
        interface: str | None = None,
        sectors: str | None = None,
        name: str = "new-drive",
    ) -> Drive:
        """Creates a drive from the values of its data sheet, like `diskarm drives new`: sizes such
        as "8TB", times such as "8.5ms", transfer rates such as "250MB/s". `seek` is the mean time
        of a seek before a read, over all pairs of cylinders, `outer` the sustained rate of the
        outermost tracks, `sectors` one of "512n", "512e" and "4Kn". Values that are None are
        replaced by assumptions, which `toml` marks.
        """

    def edit(
        self, changes: Mapping[str, bool | int | float | str], name: str | None = None
    ) -> Drive:
        """Returns the drive with some values of its specification changed. `changes` maps dotted
        keys to values, as in {"buffer.segments": 4}; times, rates and sizes are strings with a
        unit. Comments and everything else remain unchanged.
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
        """Returns the complete specification, as printed by diskarm drives show --json."""

@final
class Device:
    """A drive in virtual time, alone or behind other devices, with a host queue. Your own loop
    submits requests and advances the time; the device reads no clock and never waits.

        >>> device = Device("hp-c2247", policy="sptf")
        >>> numbers = [device.submit(0, "R", lbn, 16) for lbn in (1_000_000, 2_000, 1_000_016)]
        >>> while (at := device.next_event()) is not None:
        ...     for done in device.advance(at):
        ...         print(done.id, done.op, round(done.response_us / 1e3, 1), "ms")
        0 R 22.4 ms
        2 R 26.2 ms
        1 R 44.4 ms

    Times are in microseconds since its start, rounded to nanoseconds, and must not decrease. The
    policy orders the host's queue, FCFS by default; `seed` determines all random choices.
    """

    def __new__(
        cls,
        drive: Drive | str | PathLike[str],
        policy: str | Policy | None = None,
        *,
        seed: int = 1,
    ) -> Device: ...
    def submit(
        self,
        now_us: float,
        op: str,
        lbn: int = 0,
        sectors: int = 0,
        *,
        force_unit_access: bool = False,
    ) -> int:
        """Submits a request at now_us and returns its number, counted from 0. `op` is "R" for a
        read, "W" for a write, or "F" for a flush, which has neither lbn nor sectors. With
        force_unit_access, the request accesses the media, not the buffer.
        """

    def next_event(self) -> float | None:
        """Returns the time of the next event, in microseconds, which may be now; None if nothing
        will happen without further requests.
        """

    def advance(self, now_us: float) -> list[Completion]:
        """Advances the device to now_us; returns the requests completed by then and not yet
        returned, in order of completion.
        """

    @property
    def now_us(self) -> float:
        """The time to which the device has been advanced, in microseconds."""

    @property
    def outstanding(self) -> int:
        """The number of requests submitted but not yet returned by advance."""

    @property
    def sectors(self) -> int:
        """Its number of sectors."""

    @property
    def sector_bytes(self) -> int:
        """The size of a sector in bytes."""

@final
class Completion:
    """A completed request of a Device. The parts of its response time add up to response_us."""

    @property
    def id(self) -> int:
        """The number that submit returned."""

    @property
    def op(self) -> str:
        """"R", "W" or "F"."""

    @property
    def lbn(self) -> int:
        """Its first block."""

    @property
    def sectors(self) -> int:
        """Its number of blocks."""

    @property
    def outcome(self) -> str:
        """"miss", "hit", "partial", "absorbed"; or, if it failed, "medium-error", "not-ready",
        "aborted".
        """

    @property
    def arrived_us(self) -> float:
        """The time of submission."""

    @property
    def completed_us(self) -> float:
        """The time of completion."""

    @property
    def response_us(self) -> float:
        """The time from submission to completion."""

    @property
    def queue_us(self) -> float:
        """The time spent in queues."""

    @property
    def owed_us(self) -> float:
        """The time spent on work deferred from earlier requests."""

    @property
    def overhead_us(self) -> float:
        """The time spent on the drive's command overheads."""

    @property
    def seek_us(self) -> float:
        """The time spent seeking."""

    @property
    def settle_us(self) -> float:
        """The time spent settling after the seek; may be negative."""

    @property
    def rotation_us(self) -> float:
        """The time spent waiting for the first sector."""

    @property
    def transfer_us(self) -> float:
        """The time spent on the transfer from or to the media."""

    @property
    def bus_us(self) -> float:
        """The time spent on bus transfers that do not overlap other parts."""

@final
class Pending:
    """A waiting request at the time of a decision."""

    @property
    def id(self) -> int:
        """The request's number; a workload numbers its requests from 0."""

    @property
    def lbn(self) -> int:
        """Its first block."""

    @property
    def sectors(self) -> int:
        """Its number of blocks."""

    @property
    def is_read(self) -> bool:
        """True for a read, False for a write."""

    @property
    def arrived_us(self) -> float:
        """The time of its arrival in the queue, in microseconds."""

    @property
    def cylinder(self) -> int:
        """The cylinder of its first block."""

    @property
    def positioning_us(self) -> float:
        """The time until its media transfer would begin, in microseconds."""

    @property
    def is_buffered(self) -> bool:
        """True if the start of its data is in the drive's buffer or being read into it."""

@final
class Batch:
    """Requests as named columns."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def column(self, name: str) -> Column:
        """Returns the column with this name."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Column:
    """A column of a `Batch`."""

    @property
    def words(self) -> list[str] | None:
        """The word for each code, if it is a column of codes."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Its memory for NumPy, read-only."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

@final
class Study:
    """A study that has been parsed and validated."""

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
        """Simulates the runs that `folder` lacks, on `jobs` threads, and writes all results to it.
        """

    def compute(self, cell: int) -> list[str]:
        """Computes the runs of one cell, each as a line for a CheckpointWriter."""

@final
class CheckpointWriter:
    """Stores runs of a study that are computed elsewhere. It locks its folder until it is closed.
    """

    def __new__(cls, study: Study, folder: str | PathLike[str]) -> CheckpointWriter: ...
    def missing(self) -> list[int]:
        """The indices of the cells that lack a run."""

    def keep(self, lines: Sequence[str]) -> None:
        """Stores runs, as Study.compute returns them."""

    def finish(self) -> dict[str, Any] | None:
        """Closes the writer and writes all results of the study; None if a run is missing."""

    def close(self) -> None:
        """Unlocks the folder so that another process can write to it."""

def study_texts() -> list[tuple[str, str]]:
    """The names and texts of the built-in studies."""

def nearest(name: str, known: Sequence[str]) -> str | None:
    """Suggests the known name that the user may have meant."""

def rounded(mean: float, half_width: float | None = None) -> str:
    """Formats a number with its confidence interval, to the digits that are certain; without an
    interval, to four digits.
    """

def drives() -> list[str]:
    """Returns the names in the catalogue, in alphabetical order."""

def policies() -> list[dict[str, Any]]:
    """Returns all scheduling policies, as printed by diskarm policies --json."""

def check_trace(trace: Trace) -> None:
    """Raises an Error if the fields of a Trace are invalid."""

def simulate(
    drive: Drive, policies: Sequence[str | Policy], options: Options
) -> list[tuple[dict[str, Any], bool, list[float], Batch | None]]:
    """Simulates each policy; returns its metrics, true if it is saturated, the quantiles of its
    responses, and its requests if requested.
    """

def distributions(title: str, note: str, curves: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Draws cumulative distributions of response times as SVG. Each curve has a label and its
    quantiles 0, 0.001 and so on, in milliseconds.
    """

def validate(
    drive: Drive, file: str, reading: Reading, rows: str, locked: bool
) -> dict[str, Any]:
    """Replays the trace in `file` and compares the responses or, if `locked` is set, predicts
    each response from earlier ones.
    """

def calibrate(
    drive: Drive, file: str, reading: Reading, rows: str, name: str
) -> tuple[Drive, dict[str, Any], list[str]]:
    """Fits `drive` to the trace in `file`; returns the fitted drive, which is called `name`, the
    metrics, and warnings.
    """

def main(arguments: Sequence[str | PathLike[str]]) -> int:
    """Runs the program diskarm with these arguments, of which the first is the program's
    name; returns its exit code.
    """
