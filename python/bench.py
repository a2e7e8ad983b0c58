"""What the module costs beside the program, what a policy in Python costs, and how soon Ctrl-C is
heard: `make python-bench`. Printed, never asserted.

What is compared takes turns, and the best of several runs stands for each, for machines are shared.
"""

import json
import os
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
ROUNDS = 15
CASES = {
    "fcfs, open": ("poisson(rate=60/s) uniform size=8KiB reads=67%", "fcfs"),
    "sptf, open": ("poisson(rate=60/s) uniform size=8KiB reads=67%", "sptf"),
    "sptf, 64 waiting": ("closed(clients=64) uniform size=8KiB reads=67%", "sptf"),
}


def best(pieces: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The least of what each gives, over rounds in which they take turns."""
    taken = [{name: piece() for name, piece in pieces.items()} for _ in range(ROUNDS)]
    return {name: min(one[name] for one in taken) for name in pieces}


def seconds(piece: Callable[[], object]) -> float:
    begun = time.perf_counter()
    piece()
    return time.perf_counter() - begun


def overhead(program: str) -> None:
    """A call of `simulate` against the time that the program says its simulation took."""
    print(f"{REQUESTS} requests, best of {ROUNDS}, ms; and beside the program's own simulation")
    drive = diskarm.Drive(DRIVE)
    for name, (workload, policy) in CASES.items():
        asked = ("--workload", workload, "--policy", policy, "--requests", str(REQUESTS))
        command = [program, "simulate", "--drive", DRIVE, *asked, "--json"]
        within: list[float] = []

        def programs() -> float:
            done = subprocess.run(command, check=True, capture_output=True)
            return float(json.loads(done.stdout)["wall_s"])

        def call(of: str | diskarm.Drive, per_request: bool = False) -> float:
            begun = time.perf_counter()
            run = diskarm.simulate(
                of, workload=workload, policy=policy, requests=REQUESTS, per_request=per_request
            )
            took = time.perf_counter() - begun
            if of is drive and not per_request:
                within.append(run.wall_s)
            return took

        took = best(
            {
                "program": programs,
                "simulate(Drive)": lambda: call(drive),
                "simulate(name)": lambda: call(DRIVE),
                "per_request=True": lambda: call(drive, per_request=True),
                "whole program": lambda: seconds(programs),
            }
        )
        took["its wall_s"] = min(within)
        print(f"\n{name}")
        for what in took:
            print(f"  {what:<18} {took[what] * 1e3:8.2f} {took[what] / took['program'] - 1:+8.1%}")


class First(diskarm.Policy):
    def choose(self, now_us, waiting):
        return 0


class Shortest(diskarm.Policy):
    def choose(self, now_us, waiting):
        return min(range(len(waiting)), key=lambda i: waiting[i].positioning_us)


def own_policies() -> None:
    """Policies in Python against those of the table that decide alike."""
    requests = 20_000
    workload = "closed(clients=64) uniform size=8KiB reads=67%"

    def a_request_us(policy: str | diskarm.Policy) -> float:
        run = diskarm.simulate(DRIVE, workload=workload, policy=policy, requests=requests)
        return run.wall_s / requests * 1e6

    print("\na policy in Python, 64 waiting, us a request; and as many times that of the table")
    for own, known in [(First(), "fcfs"), (Shortest(), "sptf")]:
        took = best({"own": lambda: a_request_us(own), "known": lambda: a_request_us(known)})
        name = f"{type(own).__name__}, {known}"
        print(f"  {name:<18} {took['own']:8.2f} {took['own'] / took['known']:7.0f}x")


def interrupts() -> None:
    """From the signal of Ctrl-C to the exception."""
    endless = {"workload": "closed(clients=64)", "requests": 10**12}
    print(f"\nCtrl-C to KeyboardInterrupt, {ROUNDS} times, ms: median, worst")
    for policy in ("sptf", "oat-window(n=9)", First()):
        delays = []
        for number in range(ROUNDS):
            sent: list[float] = []

            def send() -> None:
                sent.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            # At another moment each time, lest all meet the same one of the wait.
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
