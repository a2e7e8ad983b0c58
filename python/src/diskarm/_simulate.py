"""Simulations."""

# No postponed annotations here, so that signatures show them as types.

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from . import _diskarm
from ._diskarm import Drive
from ._error import Error, wrong_type
from ._options import Options, settled, takes_options
from ._policy import Policy
from ._requests import Requests
from ._result import Result, Results
from ._trace import Trace
from ._workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes_options
def simulate(
    drive: str | os.PathLike[str] | Drive,
    *,
    policy: str | Policy = "fcfs",
    **options: "Unpack[Options]",
) -> Result:
    """Simulates one drive under one workload, or a trace, and one policy of the host's queue.

    >>> run = simulate("hp-c2247", workload="closed(clients=10)", policy="sptf", requests=5000)
    >>> run.response_ms.mean < 170
    True

    The same inputs give the same values, to the bit. Other threads continue meanwhile, and Ctrl-C
    ends it.

    Args:
        drive: A name in the catalogue, a path that ends in .toml, or a Drive; or devices in front
            of one, "throttle(rate=100/s, drive=hp-c2247)", which `diskarm devices` lists.
        policy: A policy with its parameters, "vscan(r=0.2)", or your own Policy.
        workload: Generated requests: an expression such as "poisson(rate=60/s) uniform size=8KiB
            reads=67%", a path that ends in .toml, or a Workload.
        trace: Requests from a trace instead: a path, or a Trace.
        requests: The number to generate, including the warm-up; 100,000 by default.
        warm_up: The number of first completions to leave out of all metrics.
        seed: The seed of everything random.
        replications: The number of runs with different seeds, on all processors.
        outstanding: Keep this many requests of a trace outstanding, regardless of its times.
        think_ms: With outstanding, the pause of a client before its next request.
        merge: Merge waiting sequential requests into commands of up to this size, "64 KiB".
        window_ms: Also report windows of this length.
        max_waiting: End a run with open arrivals as saturated when more requests than this wait.
        per_request: Whether to keep the individual requests, about 110 bytes each.

    Raises:
        Error: If an argument or a file is invalid.
    """
    return _run(drive, [policy], options)[0]


@takes_options
def compare(
    drive: str | os.PathLike[str] | Drive,
    policies: Iterable[str | Policy],
    **options: "Unpack[Options]",
) -> Results:
    """Simulates the same requests under each policy, in parallel on all processors; the results
    are a list in the order of the policies, and a table by `.to_frame()`. The other arguments are
    those of `simulate`.

    >>> runs = compare("hp-c2247", ["fcfs", "sptf"], workload="closed(clients=10)", requests=2000)
    >>> runs[0].response_ms.mean > runs[1].response_ms.mean
    True

    Raises:
        Error: If there is no policy, or if an argument or a file is invalid.
    """
    if isinstance(policies, str):
        raise wrong_type("policies", policies, f'a list of them, ["{policies}"]')
    policies = list(policies)
    if not policies:
        raise Error("policies: found none, expected at least one", field="policies")
    return _run(drive, policies, options)


def drive_of(drive: str | os.PathLike[str] | Drive) -> Drive:
    """Converts an argument to a Drive."""
    if not isinstance(drive, str | os.PathLike | Drive):
        raise wrong_type("drive", drive, "a name, a path or a Drive")
    return drive if isinstance(drive, Drive) else Drive(os.fspath(drive))


def _run(
    drive: str | os.PathLike[str] | Drive, policies: Sequence[str | Policy], options: Options
) -> Results:
    values = settled(options)
    workload, trace = values["workload"], values["trace"]
    if (workload is None) == (trace is None):
        raise TypeError("expected a workload or a trace, and not both")
    if trace is not None and (values["requests"] is not None or values["replications"] is not None):
        raise TypeError("expected requests and replications with a workload, not with a trace")
    if trace is None and values["outstanding"] is not None:
        raise TypeError('expected outstanding with a trace; a workload says "closed(clients=8)"')
    if values["per_request"] and (values["replications"] or 1) > 1:
        raise TypeError("expected per_request of one run, not of several replications")
    if isinstance(workload, str):
        values["workload"] = Workload(workload)
    if trace is not None and not isinstance(trace, Trace):
        values["trace"] = Trace(trace)
    outcomes = _diskarm.simulate(drive_of(drive), policies, values)
    return Results(
        Result.of(metrics, saturated, quantiles, None if batch is None else Requests(batch))
        for metrics, saturated, quantiles, batch in outcomes
    )
