"""The cost of the module compared with the program, the cost of a policy in Python, and how soon
Ctrl-C takes effect: `make python-bench`. Printed, never asserted.

The compared pieces take turns, and the best of several rounds counts for each, because machines are
shared. Costs are processor time, of which a busy machine gives as much, only later.
"""

import os
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import diskarm

DRIVE = "hp-c2247"
REQUESTS = 250_000
ROUNDS = 25
CASES = {
    "fcfs, open": ("poisson(rate=60/s) uniform size=8KiB reads=67%", "fcfs"),
    "sptf, open": ("poisson(rate=60/s) uniform size=8KiB reads=67%", "sptf"),
    "sptf, 64 waiting": ("closed(clients=64) uniform size=8KiB reads=67%", "sptf"),
}


def used() -> float:
    """Seconds of processor time of this process and of its finished children."""
    of = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in of)


def best(pieces: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The minimum time of each, over rounds in which they take turns."""
    took: dict[str, list[float]] = {name: [] for name in pieces}
    for _ in range(ROUNDS):
        for name, piece in pieces.items():
            before = used()
            piece()
            took[name].append(used() - before)
    return {name: min(all) for name, all in took.items()}


def overhead(program: str) -> None:
    """A call of `simulate` against the program's simulation: without its start and its drive, which
    are what it takes to describe that drive."""
    print(f"{REQUESTS} requests, ms of processor time, best of {ROUNDS}; compared with the program")
    drive = diskarm.Drive(DRIVE)

    def run(*arguments: str) -> None:
        subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)

    for name, (workload, policy) in CASES.items():
        asked = ("--workload", workload, "--policy", policy, "--requests", str(REQUESTS))

        def call(of: str | diskarm.Drive, per_request: bool = False) -> None:
            asked = {"workload": workload, "policy": policy, "requests": REQUESTS}
            diskarm.simulate(of, per_request=per_request, **asked)

        took = best(
            {
                "its start": lambda: run("drives", "show", DRIVE, "--json"),
                "program": lambda: run("simulate", "--drive", DRIVE, *asked, "--json"),
                "simulate(Drive)": lambda: call(drive),
                "simulate(name)": lambda: call(DRIVE),
                "per_request=True": lambda: call(drive, per_request=True),
            }
        )
        took["program"] -= took.pop("its start")
        print(f"\n{name}")
        for what, seconds in took.items():
            print(f"  {what:<18} {seconds * 1e3:8.2f} {seconds / took['program'] - 1:+8.1%}")


class First(diskarm.Policy):
    def choose(self, now_us, waiting):
        return 0


class Shortest(diskarm.Policy):
    def choose(self, now_us, waiting):
        return min(range(len(waiting)), key=lambda i: waiting[i].positioning_us)


def own_policies() -> None:
    """Policies in Python, compared with the built-in ones that make the same decisions."""
    requests = 20_000
    workload = "closed(clients=64) uniform size=8KiB reads=67%"

    def run(policy: str | diskarm.Policy) -> None:
        diskarm.simulate(DRIVE, workload=workload, policy=policy, requests=requests)

    print("\na policy in Python, 64 waiting, us a request, and its ratio to the table")
    for own, known in [(First(), "fcfs"), (Shortest(), "sptf")]:
        took = best({"own": lambda: run(own), "known": lambda: run(known)})
        name, us = f"{type(own).__name__}, {known}", took["own"] / requests * 1e6
        print(f"  {name:<18} {us:8.2f} {took['own'] / took['known']:7.0f}x")


def interrupts() -> None:
    """Wall time from the signal of Ctrl-C to the exception."""
    endless = {"workload": "closed(clients=64)", "requests": 10**12}
    print(f"\nCtrl-C to KeyboardInterrupt, {ROUNDS} times, ms: median, worst")
    for policy in ("sptf", "oat-window(n=9)", First()):
        delays = []
        for number in range(ROUNDS):
            sent: list[float] = []

            def send() -> None:
                sent.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            # At a different moment each time, so that not all meet the same phase of the wait.
            threading.Timer(0.1 + 0.0037 * number, send).start()
            try:
                diskarm.simulate(DRIVE, policy=policy, **endless)
            except KeyboardInterrupt:
                delays.append(time.perf_counter() - sent[0])
        name = policy if isinstance(policy, str) else type(policy).__name__
        median, worst = statistics.median(delays) * 1e3, max(delays) * 1e3
        print(f"  {name:<18} {median:8.1f} {worst:8.1f}")


if __name__ == "__main__":
    overhead(sys.argv[1])
    own_policies()
    interrupts()
