"""Ctrl-C ends a run promptly."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc, which reports processor time"
)

START = "import diskarm, sys; print('begun', flush=True)\n"
ENDLESS = "workload='closed(clients=64)', requests=10**12"
OWN = """
class Own(diskarm.Policy):
    def choose(self, now_us, waiting):
        return 0
"""


@pytest.mark.parametrize(
    "work",
    [
        f"diskarm.simulate('hp-c2247', {ENDLESS}, policy='sptf')",
        f"diskarm.simulate('hp-c2247', {ENDLESS}, policy='oat-window(n=9)')",
        f"diskarm.simulate('hp-c2247', {ENDLESS}, replications=8)",
        f"diskarm.compare('hp-c2247', ['fcfs', 'clook', 'sptf'], {ENDLESS})",
        f"{OWN}\ndiskarm.simulate('hp-c2247', {ENDLESS}, policy=Own())",
        "diskarm.calibrate('hp-c2247', sys.argv[1])",
    ],
    ids=["sptf", "oat-window", "replications", "compare", "own", "calibrate"],
)
def test_an_interrupt_is_raised_within_100_ms(work, measured):
    """Seconds of processor time, which do not depend on how busy the machine is."""
    command = [sys.executable, "-c", START + work, measured]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    before = used_by_children()
    with subprocess.Popen(command, text=True, **pipes) as running:
        assert running.stdout.readline() == "begun\n"
        begun = used_by(running)
        while used_by(running) < begun + 0.3:
            assert running.poll() is None, running.stderr.read()
        sent = used_by(running)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=60)
    took = used_by_children() - before - sent
    assert stderr.rstrip().endswith("KeyboardInterrupt"), stderr
    # On all processors, including the exit of the interpreter.
    assert took < 0.1 * os.cpu_count() + 0.15, f"{took:.3f} s"


def used_by(running):
    """Seconds of processor time that a process has used, to a hundredth."""
    fields = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used_by_children():
    """The same for all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_ctrl_c_ends_the_command():
    flags = ("--random", "--outstanding", "64", "--policy", "sptf", "--requests", "100000000000")
    command = [sys.executable, "-m", "diskarm", "simulate", "--drive", "hp-c2247", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        while used_by(running) < 0.3:
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=10)
    assert running.returncode == -signal.SIGINT
