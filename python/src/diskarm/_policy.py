"""Policies that are written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._diskarm import Pending


class Policy:
    """An order of service in the host's queue, in front of the drive: a subclass says which request
    is next.

    >>> class Nearest(Policy):
    ...     def choose(self, now_us, waiting):
    ...         return min(range(len(waiting)), key=lambda i: abs(waiting[i].lbn - self.last_lbn))

    Every drive and every run has a deep copy of its own, so that an object may remember what it
    likes. Requests that find the drive free go to it at once; `choose` is not asked. An exception
    ends the simulation and is raised by it.

    Cost: at each decision every request that waits becomes an object. Measured with 64 waiting
    (`make python-bench`): 5 us a request for `return 0` and 10 us for the shortest
    `positioning_us`, each some 23 times what `fcfs` and `sptf` of the table take. Runs side by side
    (replications, `compare`) take turns, as Python does one thing at a time, and 8 us more for each
    decision.
    """

    last_lbn: int = 0
    """The block behind the end of the request that was served last, at each decision."""

    def choose(self, now_us: float, waiting: Sequence[Pending]) -> int:
        """The index in `waiting`, which is in order of arrival, of the request to serve next.

        `now_us` is the time of the decision in microseconds since the start of the run.
        """
        raise NotImplementedError
