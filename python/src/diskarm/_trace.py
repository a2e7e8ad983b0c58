"""Requests of block traces."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import _diskarm

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Reading:
    """How to read traces."""

    format: str | None = None
    """Their format, if it is not to be detected; `diskarm simulate --help` lists all formats."""

    on_error: str = "stop"
    """What to do at an invalid row: "stop", or "skip", which counts it."""

    arrival: str = "issue"
    """Which event is the arrival in a trace of Linux's block layer: "issue" or "queue"."""


@dataclass(frozen=True, init=False)
class Trace:
    """Requests from block traces of any known format; several files are merged.

    Each device of each trace is simulated as a separate drive. Changes to a trace are listed in the
    notes of a result.

    >>> Trace("t.csv", faster=2, from_="90 s", until="1.5 h")  # doctest: +SKIP
    """

    files: list[str]
    """The files, as the caller named them."""

    reading: Reading
    """How they are read."""

    device: list[int]
    """The devices whose requests are used; if empty, all of them."""

    from_: str | None
    """Use only requests that arrive at or after this time, which becomes 0: "90 s", "1.5 h"."""

    until: str | None
    """Use only requests that arrive before this time."""

    faster: float | None
    """Divide the times between requests by this."""

    fit: str
    """How to map blocks to the drive: "refuse", "scale", "fold" or "spread"."""

    disks: int | None
    """The number of disks over which "spread" distributes each device."""

    replay: str
    """When to issue requests: "traced", or "pauses" for one at a time with the measured pauses."""

    def __init__(
        self,
        *files: Path,
        format: str | None = None,
        on_error: str = "stop",
        arrival: str = "issue",
        device: int | Iterable[int] = (),
        from_: str | None = None,
        until: str | None = None,
        faster: float | None = None,
        fit: str = "refuse",
        disks: int | None = None,
        replay: str = "traced",
    ) -> None:
        if not files:
            raise TypeError("Trace() takes at least one file")
        reading = Reading(format=format, on_error=on_error, arrival=arrival)
        fields = {
            "files": [os.fspath(file) for file in files],
            "reading": reading,
            "device": [device] if isinstance(device, int) else list(device),
            "from_": from_,
            "until": until,
            "faster": faster,
            "fit": fit,
            "disks": disks,
            "replay": replay,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        _diskarm.check_trace(self)

    @classmethod
    def from_arrow(cls, table: Any, **options: Any) -> Trace:
        """Requests from a table: a DataFrame of pandas or polars, a table of pyarrow, or anything
        else with the Arrow PyCapsule interface. Needs pyarrow.

        Columns: op (R or W), lbn and sectors in blocks of 512 bytes; and arrived_us, or the
        measured response_us and think_us; disk if there are several. Other columns are ignored,
        so the requests of a result can be used too.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv as csv

        from ._error import Error

        table = pa.table(table)
        names = set(table.column_names)
        measured = {"op", "lbn", "sectors", "response_us", "think_us"}
        arrived = {"op", "lbn", "sectors", "arrived_us"}
        if measured <= names:
            format = "measured"
            table = table.select(["op", "lbn", "sectors", "response_us", "think_us"])
        elif arrived <= names:
            format, table = "spc", _spc(table, pa, pc)
        else:
            expected = ", ".join(sorted(arrived)) + "; or response_us and think_us"
            found = ", ".join(table.column_names)
            raise Error(f'columns: found "{found}", expected {expected}', field="columns")
        number, path = tempfile.mkstemp(prefix="diskarm-", suffix=".csv")
        with os.fdopen(number, "wb") as file:
            if format == "measured":
                # Written here, because pyarrow quotes names.
                file.write(",".join(table.column_names).encode() + b"\n")
            plain = csv.WriteOptions(include_header=False, quoting_style="none")
            csv.write_csv(table, file, write_options=plain)
        trace = cls(path, **{"format": format, **options})
        weakref.finalize(trace, os.unlink, path)
        return trace

    @classmethod
    def from_parquet(cls, path: Path, **options: Any) -> Trace:
        """Requests from a Parquet file with the columns of `from_arrow`. Needs pyarrow."""
        import pyarrow.parquet as pq

        return cls.from_arrow(pq.read_table(path), **options)


def _spc(table: Any, pa: Any, pc: Any) -> Any:
    """Converts the table to the columns of the format spc, in order of arrival."""
    # To the nanosecond, which float seconds would lose after some days.
    ns = pc.cast(pc.round(pc.multiply(table["arrived_us"], 1e3)), pa.int64())
    # Strings of polars are views, which cannot be sorted.
    op = pc.cast(table["op"], pa.string())
    table = table.drop_columns(["op"]).append_column("op", op).append_column("ns", ns)
    table = table.sort_by("ns")
    seconds = pc.divide(table["ns"], 1_000_000_000)
    rest = pc.subtract(table["ns"], pc.multiply(seconds, 1_000_000_000))
    digits = pc.utf8_lpad(pc.cast(rest, pa.string()), 9, "0")
    sectors = pc.cast(table["sectors"], pa.uint64())
    return pa.table(
        {
            "asu": table["disk"] if "disk" in table.column_names else [0] * len(table),
            "lba": table["lbn"],
            "size": pc.multiply(sectors, 512),
            "opcode": table["op"],
            "timestamp": pc.binary_join_element_wise(pc.cast(seconds, pa.string()), digits, "."),
        }
    )
