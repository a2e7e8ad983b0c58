"""Policies written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._diskarm import Pending


class Policy:
    """An order of service in the host's queue, in front of the drive: a subclass chooses which
    request to serve next.

    >>> class Nearest(Policy):
    ...     def choose(self, now_us, waiting):
    ...         return min(range(len(waiting)), key=lambda i: abs(waiting[i].lbn - self.last_lbn))

    Every drive and every run has its own deep copy, so an object may keep any state.
    Requests that find the drive idle are served at once, without calling `choose`. An exception
    ends the simulation, which raises it.

    Cost: each decision creates an object for every waiting request. Measured with 64 waiting
    (`make python-bench`): 5 us per request for `return 0` and 10 us for the shortest
    `positioning_us`, each about 23 times the cost of the built-in `fcfs` and `sptf`. Parallel runs
    (replications, `compare`) take turns, because Python runs one thread at a time, and cost 8 us
    more per decision.
    """

    last_lbn: int = 0
    """The block after the end of the request that was served last, at each decision."""

    def choose(self, now_us: float, waiting: Sequence[Pending]) -> int:
        """The index in `waiting`, which is in order of arrival, of the request to serve next.

        `now_us` is the time of the decision in microseconds since the start of the run.
        """
        raise NotImplementedError
