"""What is simulated, as it goes to the compiled part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._diskarm import Drive
from ._policy import Policy
from ._trace import Trace
from ._workload import Workload


@dataclass(frozen=True)
class Setting:
    """A drive, its requests, and the policies that they are simulated under."""

    drive: Drive
    policies: Sequence[str | Policy]
    workload: Workload | None
    trace: Trace | None
    requests: int | None
    warm_up: int
    seed: int
    replications: int | None
    outstanding: int | None
    think_ms: float
    merge: str | None
    window_ms: float | None
    most_waiting: int | None
    per_request: bool
