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
    "Completion",
    "Device",
    "Drive",
    "Keeper",
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
    """A drive's model: a name in the catalogue, or the path of a specification that ends in .toml;
    or a drive with devices in front of it, such as throttle(rate=100/s, drive=hp-c2247).
    """

    def __new__(cls, name: str, /) -> Drive: ...
    @staticmethod
    def from_toml(text: str, name: str = "drive.toml") -> Drive:
        """The drive that the text of a specification describes. Errors call it `name`."""

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
        """A drive from the values of its data sheet, as `diskarm drives new` makes it: sizes such
        as "8TB", times such as "8.5ms", transfer rates such as "250MB/s". `seek` is the mean time
        of a seek before a read, over all pairs of cylinders, `outer` the sustained rate of the
        outermost tracks, `sectors` one of "512n", "512e" and "4Kn". What is None is assumed, and
        `toml` marks it as assumed.
        """

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
class Device:
    """A drive, or devices in front of one, with a host queue, in virtual time: a loop of your
    own submits requests and advances it. It reads no clock and waits for nothing.

        >>> device = Device("hp-c2247", policy="sptf")
        >>> numbers = [device.submit(0, "R", lbn, 16) for lbn in (1_000_000, 2_000, 1_000_016)]
        >>> while (at := device.next_event()) is not None:
        ...     for done in device.advance(at):
        ...         print(done.id, done.op, round(done.response_us / 1e3, 1), "ms")
        0 R 22.4 ms
        2 R 26.2 ms
        1 R 44.4 ms

    Times are microseconds since its start, rounded to nanoseconds, and never decrease. The
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
        force_unit_access it uses the media, not the buffer.
        """

    def next_event(self) -> float | None:
        """Returns the time of the next event, in microseconds, which may be now; None if nothing
        happens without further requests.
        """

    def advance(self, now_us: float) -> list[Completion]:
        """Advances it to now_us; returns the requests completed by then and not returned before, in
        the order of their completion.
        """

    @property
    def now_us(self) -> float:
        """The time to which it has been advanced, in microseconds."""

    @property
    def outstanding(self) -> int:
        """The number of requests submitted and not yet returned by advance."""

    @property
    def sectors(self) -> int:
        """Its number of sectors."""

    @property
    def sector_bytes(self) -> int:
        """The size of a sector in bytes."""

@final
class Completion:
    """A completed request of a Device. The parts of its response add up to it."""

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
        """"miss", "hit", "partial", "absorbed"; if it failed "medium-error", "not-ready",
        "aborted".
        """

    @property
    def arrived_us(self) -> float:
        """Time of submission."""

    @property
    def completed_us(self) -> float:
        """Time of completion."""

    @property
    def response_us(self) -> float:
        """Time from submission to completion."""

    @property
    def queue_us(self) -> float:
        """The part of the response that it waited in queues."""

    @property
    def owed_us(self) -> float:
        """The part that the drive spent on work that it had left over."""

    @property
    def overhead_us(self) -> float:
        """The part of the drive's command overheads."""

    @property
    def seek_us(self) -> float:
        """The part of the seek."""

    @property
    def settle_us(self) -> float:
        """The part of settling after the seek; may be negative."""

    @property
    def rotation_us(self) -> float:
        """The part of the wait for the first sector."""

    @property
    def transfer_us(self) -> float:
        """The part of the transfer from or to the media."""

    @property
    def bus_us(self) -> float:
        """The part of the transfer over the bus that overlaps no other."""

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
        """True for a read, False for a write."""

    @property
    def arrived_us(self) -> float:
        """Time of arrival in the queue, in microseconds."""

    @property
    def cylinder(self) -> int:
        """The cylinder of its first block."""

    @property
    def positioning_us(self) -> float:
        """Time until its media transfer would begin, in microseconds."""

    @property
    def is_buffered(self) -> bool:
        """True if the drive's buffer holds the start of its data, or is reading it."""

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
    """A column of a `Batch`."""

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
        """Unlocks the folder, so that another process can write to it."""

def study_texts() -> list[tuple[str, str]]:
    """The studies that come with the module, as names and texts."""

def nearest(written: str, known: Sequence[str]) -> str | None:
    """Suggests the known name that the user may have meant."""

def rounded(mean: float, half_width: float | None = None) -> str:
    """A number with the digits that half the width of its interval leaves certain, and that
    interval; without one, with four digits.
    """

def drives() -> list[str]:
    """The names in the catalogue, in alphabetical order."""

def policies() -> list[dict[str, Any]]:
    """The policies of the table, as printed by diskarm policies --json: a list of dicts."""

def check_trace(trace: Trace) -> None:
    """Raises an Error if the fields of a Trace are invalid."""

def simulate(
    drive: Drive, policies: Sequence[str | Policy], options: Options
) -> list[tuple[dict[str, Any], bool, list[float], Batch | None]]:
    """Simulates each policy; returns its metrics, true if it is saturated, the quantiles of its
    responses, and its requests if requested.
    """

def distributions(title: str, note: str, curves: Sequence[tuple[str, Sequence[float]]]) -> str:
    """The cumulative distributions of response times as SVG: of each curve its label, and the
    quantiles 0, 0.001 and so on in milliseconds.
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
    """Fits drive to the trace in file; returns the fitted drive, called name, the metrics, and
    warnings.
    """

def main(arguments: Sequence[str | PathLike[str]]) -> int:
    """Runs the program diskarm with these arguments, the first of which is the program's name;
    returns its exit code.
    """
