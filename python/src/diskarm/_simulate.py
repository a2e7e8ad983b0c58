"""Simulations."""

from __future__ import annotations

import os
from collections.abc import Iterable

from . import _diskarm
from ._diskarm import Drive
from ._policy import Policy
from ._requests import Requests
from ._result import Result
from ._setting import Setting
from ._trace import Trace
from ._workload import Workload


def simulate(
    drive: str | os.PathLike[str] | Drive,
    *,
    workload: str | Workload | None = None,
    trace: str | os.PathLike[str] | Trace | None = None,
    policy: str | Policy = "fcfs",
    requests: int | None = None,
    warm_up: int = 0,
    seed: int = 1,
    replications: int | None = None,
    outstanding: int | None = None,
    think_ms: float = 0.0,
    merge: str | None = None,
    window_ms: float | None = None,
    most_waiting: int | None = None,
    per_request: bool = False,
) -> Result:
    """Simulates one drive under one workload, or a trace, and one policy of the host's queue.

    >>> run = simulate("hp-c2247", workload="closed(clients=10)", policy="sptf", requests=5000)
    >>> run.response_ms.mean < 170
    True

    The same inputs give the same figures, to the bit. Other threads go on meanwhile, and Ctrl-C
    ends it.

    Args:
        drive: A name of the catalogue, a path that ends in .toml, or a Drive.
        workload: Requests that are drawn: words such as "poisson(rate=60/s) uniform size=8KiB
            reads=67%", a path that ends in .toml, or a Workload.
        trace: Requests of a trace instead: a path, or a Trace.
        policy: A policy as it is written, "vscan(r=0.2)", or a Policy of your own.
        requests: How many are drawn, the warm-up included; 100,000 unless told otherwise.
        warm_up: The first completions, which are left out of all figures.
        seed: Of all that is random.
        replications: How many runs with seeds of their own, on every processor.
        outstanding: So many requests of a trace at a time, whatever its times.
        think_ms: With outstanding, the pause of a client before it asks again.
        merge: Sequential requests that wait become commands of up to this size, "64 KiB".
        window_ms: Windows of this length are reported as well.
        most_waiting: A run of open arrivals ends, saturated, when more than so many wait.
        per_request: Whether the requests are kept one by one, some 110 bytes each.

    Raises:
        Error: When an argument or a file is not what it should be.
    """
    return _run(
        [policy],
        drive=drive,
        workload=workload,
        trace=trace,
        requests=requests,
        warm_up=warm_up,
        seed=seed,
        replications=replications,
        outstanding=outstanding,
        think_ms=think_ms,
        merge=merge,
        window_ms=window_ms,
        most_waiting=most_waiting,
        per_request=per_request,
    )[0]


def compare(
    drive: str | os.PathLike[str] | Drive,
    policies: Iterable[str | Policy],
    *,
    workload: str | Workload | None = None,
    trace: str | os.PathLike[str] | Trace | None = None,
    requests: int | None = None,
    warm_up: int = 0,
    seed: int = 1,
    replications: int | None = None,
    outstanding: int | None = None,
    think_ms: float = 0.0,
    merge: str | None = None,
    window_ms: float | None = None,
    most_waiting: int | None = None,
    per_request: bool = False,
) -> list[Result]:
    """Simulates the same requests under each policy, side by side on every processor; the results
    come in the order of the policies. The other arguments are those of `simulate`.

    >>> runs = compare("hp-c2247", ["fcfs", "sptf"], workload="closed(clients=10)", requests=2000)
    >>> runs[0].response_ms.mean > runs[1].response_ms.mean
    True
    """
    return _run(
        list(policies),
        drive=drive,
        workload=workload,
        trace=trace,
        requests=requests,
        warm_up=warm_up,
        seed=seed,
        replications=replications,
        outstanding=outstanding,
        think_ms=think_ms,
        merge=merge,
        window_ms=window_ms,
        most_waiting=most_waiting,
        per_request=per_request,
    )


def drive_of(drive: str | os.PathLike[str] | Drive) -> Drive:
    """The drive that an argument means."""
    return drive if isinstance(drive, Drive) else Drive(os.fspath(drive))


def _run(
    policies: list[str | Policy],
    *,
    drive: str | os.PathLike[str] | Drive,
    workload: str | Workload | None,
    trace: str | os.PathLike[str] | Trace | None,
    requests: int | None,
    warm_up: int,
    seed: int,
    replications: int | None,
    outstanding: int | None,
    think_ms: float,
    merge: str | None,
    window_ms: float | None,
    most_waiting: int | None,
    per_request: bool,
) -> list[Result]:
    if (workload is None) == (trace is None):
        raise TypeError("expected a workload or a trace, and not both")
    if trace is not None and (requests is not None or replications is not None):
        raise TypeError("expected requests and replications with a workload, not with a trace")
    if trace is None and outstanding is not None:
        raise TypeError('expected outstanding with a trace; a workload says "closed(clients=8)"')
    if per_request and (replications or 1) > 1:
        raise TypeError("expected per_request of one run, not of several replications")
    outcomes = _diskarm.simulate(
        Setting(
            drive=drive_of(drive),
            policies=policies,
            workload=Workload(workload) if isinstance(workload, str) else workload,
            trace=trace if isinstance(trace, Trace) or trace is None else Trace(trace),
            requests=requests,
            warm_up=warm_up,
            seed=seed,
            replications=replications,
            outstanding=outstanding,
            think_ms=think_ms,
            merge=merge,
            window_ms=window_ms,
            most_waiting=most_waiting,
            per_request=per_request,
        )
    )
    return [
        Result.of(figures, is_saturated, None if batch is None else Requests(batch))
        for figures, is_saturated, batch in outcomes
    ]
