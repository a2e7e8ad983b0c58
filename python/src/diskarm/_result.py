"""The results of a simulation, with the names and numbers of `diskarm simulate --json`."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from html import escape
from typing import Any

from . import _diskarm
from ._requests import Requests


@dataclass(frozen=True)
class ResponseMs:
    """Times from arrival to completion, in milliseconds; None if nothing was counted."""

    mean: float | None
    ci95: float | None
    """Half the width of the 95 % confidence interval of the mean: by batch means, or for several
    replications by Student's t over their means."""
    std: float | None
    cv2: float | None
    """The squared coefficient of variation, which has no unit."""
    p50: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    max: float | None


@dataclass(frozen=True)
class ServiceMs:
    """Responses without queue wait, in milliseconds, and the parts that add up to them."""

    mean: float | None
    owed: float | None
    overhead: float | None
    seek: float | None
    settle: float | None
    rotation: float | None
    transfer: float | None
    bus: float | None


@dataclass(frozen=True)
class Queue:
    """Outstanding requests, without the one in service."""

    mean: float | None
    max: int


@dataclass(frozen=True)
class Kind:
    """Requests of one kind."""

    requests: int
    response_ms: ResponseMs
    service_ms: ServiceMs


@dataclass(frozen=True)
class Disk(Kind):
    """One of several drives."""

    disk: int
    trace: int
    device: int
    part: int
    cache_hit_rate: float | None
    utilisation: float | None
    queue: Queue
    throughput_per_s: float | None


@dataclass(frozen=True)
class Window:
    """A window of time: requests that arrived in it, responses of those completed."""

    start_s: float
    requests: int
    response_ms: ResponseMs
    utilisation: float
    queue_mean: float


@dataclass(frozen=True)
class Replication(Kind):
    """One of several runs that differ only in their seeds."""

    seed: int
    cache_hit_rate: float | None
    utilisation: float | None
    queue: Queue
    throughput_per_s: float | None


@dataclass(frozen=True)
class Ci95:
    """Half the widths of 95 % confidence intervals, over replications."""

    service_ms: float | None
    cache_hit_rate: float | None
    utilisation: float | None
    queue: float | None
    throughput_per_s: float | None


@dataclass(frozen=True, repr=False)
class Result:
    """The metrics of a simulation."""

    drive: str
    policy: str
    merge_max_sectors: int | None
    workload: dict[str, Any]
    """The workload, or the traces, as given."""
    seed: int | None
    version: str
    requests: int
    """The number of counted requests: those after the warm-up, over all replications."""
    simulated_s: float
    wall_s: float
    requests_per_wall_s: float | None
    response_ms: ResponseMs
    service_ms: ServiceMs
    cache_hit_rate: float | None
    """The share of reads served entirely from the drive's buffer, 0 to 1."""
    utilisation: float | None
    """The share of time with a request outstanding, 0 to 1."""
    queue: Queue
    throughput_per_s: float | None
    reads: Kind
    writes: Kind
    streams: list[Kind] | None
    disks: list[Disk] | None
    parts: list[dict[str, Any]] | None
    """What each disk and cache of a device has done, if it has several, and what failures of disks
    did: `part` is its place, `kind` "disk", "cache" or "redundancy". Counts and shares cover the
    whole run, warm-up included: of a disk until the last request was completed, of the others until
    the end of all that the device did afterwards, such as a rebuild."""
    windows: list[Window] | None
    replications: list[Replication] | None
    ci95: Ci95 | None
    notes: list[str]
    """Doubts about the drive or a trace, failures of disks after the last request, losses of data,
    and requested changes to the trace."""

    flushes: int = field(kw_only=True)
    """The number of flushes served."""
    recovered: int = field(kw_only=True)
    """The number of reads and writes that succeeded after retries."""
    failed: int = field(kw_only=True)
    """The number of failed requests. Only utilisation and queue include them."""
    is_saturated: bool = field(kw_only=True)
    """Requests arrived faster than they were served: the means grow with the length of the run."""
    response_ms_quantiles: Sequence[float] = field(kw_only=True)
    """The quantiles 0, 0.001 up to 0.999 of the responses in milliseconds, each within 0.1 %; empty
    if nothing was counted."""
    per_request: Requests | None = field(kw_only=True, compare=False)
    """The individual requests, if requested."""

    @classmethod
    def of(
        cls,
        metrics: dict[str, Any],
        is_saturated: bool,
        response_ms_quantiles: Sequence[float],
        requests: Requests | None,
    ) -> Result:
        """The result for the output of `diskarm simulate --json`."""
        absent = {"flushes": 0, "recovered": 0, "failed": 0}
        extra = {
            "is_saturated": is_saturated,
            "response_ms_quantiles": response_ms_quantiles,
            "per_request": requests,
        }
        return typing.cast(Result, _object(cls, {**absent, **metrics, **extra}))

    def to_dict(self) -> dict[str, Any]:
        """Its metrics as plain dicts and lists, without the requests and the quantiles."""
        metrics = asdict(replace(self, response_ms_quantiles=(), per_request=None))
        del metrics["response_ms_quantiles"], metrics["per_request"]
        return metrics

    def to_frame(self) -> Any:
        """Its metrics as one row of a `pandas.DataFrame`: see `Results.to_frame`."""
        return Results([self]).to_frame()

    def __repr__(self) -> str:
        return f"<Result {self.drive}, {_summary(self)}>"

    def _repr_html_(self) -> str:
        return Results([self])._repr_html_()


class Results(list[Result]):
    """The results of a comparison, in the order of its policies."""

    def to_frame(self) -> Any:
        """A `pandas.DataFrame` with a row per policy and a column per metric: `policy`,
        `response_ms_mean`, `reads_response_ms_p99` and so on. Metrics of parts of a run, such as
        its windows and disks, and notes are left out."""
        import pandas as pd

        return pd.DataFrame([_flat(result.to_dict()) for result in self])

    def __repr__(self) -> str:
        if not self:
            return "<Results: none>"
        lines = (f"\n  {_summary(result)}" for result in self)
        return f"<Results of {self[0].drive}:{''.join(lines)}>"

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no results</p>"
        rows = "".join(_row(result) for result in self)
        heads = "".join(f"<th>{escape(head)}</th>" for head in _HEADS)
        curves = [(result.policy, result.response_ms_quantiles) for result in self]
        chart = _diskarm.distributions(
            f"Response times of {self[0].drive}", _workload(self[0]), curves
        )
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{chart}"


_PARTS = ("streams", "disks", "parts", "windows", "replications", "notes", "files")
"""Metrics that are lists."""

_HEADS = ("policy", "mean, ms", "95 %, ms", "99 %, ms", "max, ms", "requests/s", "busy, %")


def _row(result: Result) -> str:
    """Its row in a table of HTML."""
    times = result.response_ms
    busy = None if result.utilisation is None else 100 * result.utilisation
    cells = [escape(result.policy), _mean(result)]
    numbers = (times.p95, times.p99, times.max, result.throughput_per_s, busy)
    cells += ["" if number is None else _diskarm.rounded(number) for number in numbers]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _summary(result: Result) -> str:
    """Its main metrics in a few words."""
    rate = result.throughput_per_s
    served = "" if rate is None else f", {_diskarm.rounded(rate)} requests/s"
    return f"{result.policy}: {_mean(result)} ms{served}"


def _mean(result: Result) -> str:
    """The mean response, with the digits that its interval leaves certain."""
    mean, half = result.response_ms.mean, result.response_ms.ci95
    if mean is None:
        return "no response"
    if result.is_saturated:
        return f"saturated, {_diskarm.rounded(mean)}"
    return _diskarm.rounded(mean, half)


def _workload(result: Result) -> str:
    """The workload, or the names of the traces."""
    workload = result.workload
    files = (one["file"] for one in workload.get("files", ()))
    return workload.get("text") or ", ".join(files)


def _flat(metrics: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flattens nested metrics, except the metrics of parts of a run."""
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}_")
        elif name not in _PARTS:
            flat[prefix + name] = value
    return flat


def _object(kind: Any, value: Any) -> Any:
    """Converts the value to the declared type of its field."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if value is None:
        return None
    if origin in (types.UnionType, typing.Union):
        return _object(next(one for one in inner if one is not type(None)), value)
    if origin is list:
        return [_object(inner[0], one) for one in value]
    if not is_dataclass(kind):
        return value
    kinds = _fields(typing.cast(type, kind))
    given = {name: _object(of, value[name]) for name, of in kinds.items()}
    return typing.cast(Any, kind)(**given)


_KNOWN: dict[type, dict[str, Any]] = {}


def _fields(kind: type) -> dict[str, Any]:
    """The fields of a dataclass and their types, cached because finding them takes a
    millisecond."""
    if kind not in _KNOWN:
        kinds = typing.get_type_hints(kind)
        _KNOWN[kind] = {one.name: kinds[one.name] for one in fields(kind)}
    return _KNOWN[kind]
