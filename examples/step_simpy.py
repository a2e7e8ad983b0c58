# %% [markdown]
# # A disk in a SimPy model
# Customers of a shop look up their order on the disk and are then served by one of two clerks. The
# disk is a resource like any other: `disk.read(...)` is an event that a process waits for. Times
# are in microseconds.

# %%
import random

import simpy

import diskarm


class Disk:
    """A drive in a SimPy environment."""

    def __init__(self, env: simpy.Environment, drive: str, policy: str) -> None:
        self.env = env
        self.device = diskarm.Device(drive, policy)
        self.waiting: dict[int, simpy.Event] = {}
        self.alarm = float("inf")

    def read(self, lbn: int, sectors: int) -> simpy.Event:
        """Succeeds, with the completion as its value, when the read is complete."""
        done = self.env.event()
        self.waiting[self.device.submit(self.env.now, "R", lbn, sectors)] = done
        self._watch()
        return done

    def _watch(self) -> None:
        """Sets an alarm for the next event of the drive, unless one rings by then."""
        at = self.device.next_event()
        if at is not None and at < self.alarm:
            self.alarm = at
            self.env.process(self._ring(at))

    def _ring(self, at: float):
        yield self.env.timeout(max(0.0, at - self.env.now))
        if at == self.alarm:
            self.alarm = float("inf")
        for done in self.device.advance(self.env.now):
            self.waiting.pop(done.id).succeed(done)
        self._watch()


# %%
def customer(env, disk, clerks, times_ms):
    arrived = env.now
    yield disk.read(random.randrange(2_000_000), 16)
    with clerks.request() as clerk:
        yield clerk
        yield env.timeout(random.expovariate(1 / 20e3))
    times_ms.append((env.now - arrived) / 1e3)


def shop(policy: str) -> float:
    """The mean time of a customer in the shop, in milliseconds."""
    random.seed(1)
    env = simpy.Environment()
    disk, clerks = Disk(env, "hp-c2247", policy), simpy.Resource(env, 2)
    times_ms: list[float] = []

    def door():
        for _ in range(5_000):
            yield env.timeout(random.expovariate(1 / 25e3))
            env.process(customer(env, disk, clerks, times_ms))

    env.process(door())
    env.run()
    return sum(times_ms) / len(times_ms)


# %%
for policy in ("fcfs", "sptf"):
    print(f"{policy}: {shop(policy):.1f} ms")
