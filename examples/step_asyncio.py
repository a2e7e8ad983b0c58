# %% [markdown]
# # A disk under asyncio, in virtual time
# A program that uses `asyncio` runs on a simulated disk, and no one waits: the clock of its event
# loop jumps to the next timer. An hour of work takes seconds, and the times are the same each time.

# %%
import asyncio
import random
import selectors

import diskarm


class Jump(selectors.DefaultSelector):
    """Skips a time instead of waiting for it."""

    now_s = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("everyone waits, and no timer is set")
        self.now_s += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, in seconds from 0."""

    def __init__(self) -> None:
        self.jump = Jump()
        super().__init__(self.jump)

    def time(self) -> float:
        return self.jump.now_s


class Disk:
    """A drive that `await` waits for."""

    def __init__(self, drive: str, policy: str) -> None:
        self.device = diskarm.Device(drive, policy)
        self.waiting: dict[int, asyncio.Future] = {}
        self.alarm: asyncio.TimerHandle | None = None

    async def submit(self, op: str, lbn: int, sectors: int) -> diskarm.Completion:
        """Returns when the request is complete."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self.waiting[self.device.submit(self._now_us(), op, lbn, sectors)] = done
        self._watch()
        return await done

    def _now_us(self) -> float:
        # A timer may ring a nanosecond early.
        return max(asyncio.get_running_loop().time() * 1e6, self.device.now_us)

    def _watch(self) -> None:
        """Sets the alarm to the next event of the drive."""
        if self.alarm is not None:
            self.alarm.cancel()
        at = self.device.next_event()
        loop = asyncio.get_running_loop()
        self.alarm = None if at is None else loop.call_at(at / 1e6, self._ring, at)

    def _ring(self, at: float) -> None:
        for done in self.device.advance(max(at, self._now_us())):
            self.waiting.pop(done.id).set_result(done)
        self._watch()


# %%
async def client(disk: Disk, number: int) -> float:
    """Reads records one after the other; returns the mean time of one in milliseconds."""
    choose, times_ms = random.Random(number), []
    for _ in range(1_000):
        done = await disk.submit("R", choose.randrange(2_000_000), 16)
        times_ms.append(done.response_us / 1e3)
        await asyncio.sleep(choose.expovariate(1 / 0.010))
    return sum(times_ms) / len(times_ms)


async def clients(policy: str) -> str:
    disk = Disk("hp-c2247", policy)
    means_ms = await asyncio.gather(*(client(disk, number) for number in range(8)))
    took_s = asyncio.get_running_loop().time()
    return f"{policy}: {sum(means_ms) / 8:.1f} ms a read, {took_s:.0f} s in all"


# %%
for policy in ("fcfs", "sptf"):
    loop = VirtualLoop()
    try:
        print(loop.run_until_complete(clients(policy)))
    finally:
        loop.close()
