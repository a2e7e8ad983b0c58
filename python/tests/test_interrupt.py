"""Ctrl-C ends what runs, promptly."""

import signal
import subprocess
import sys
import time

import pytest

AROUND = """
import diskarm, sys, time
print("begun", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print(time.monotonic())
"""
ENDLESS = "workload='closed(clients=64)', requests=10**12"
OWN = "type('Own', (diskarm.Policy,), {'choose': lambda self, now_us, waiting: 0})()"
TRIES = 5


@pytest.mark.parametrize(
    "work",
    [
        f"diskarm.simulate('hp-c2247', {ENDLESS}, policy='sptf')",
        f"diskarm.simulate('hp-c2247', {ENDLESS}, policy='oat-window(n=9)')",
        f"diskarm.simulate('hp-c2247', {ENDLESS}, replications=8)",
        f"diskarm.compare('hp-c2247', ['fcfs', 'clook', 'sptf'], {ENDLESS})",
        f"diskarm.simulate('hp-c2247', {ENDLESS}, policy={OWN})",
        "diskarm.calibrate('hp-c2247', sys.argv[1])",
    ],
    ids=["sptf", "oat-window", "replications", "compare", "own", "calibrate"],
)
def test_an_interrupt_is_raised_within_100_ms(work, measured):
    # Where other programs share the processors one try may take longer.
    tries = (interrupted(work, measured) for _ in range(TRIES))
    assert any(took < 0.1 for took in tries)


def interrupted(work: str, trace: str) -> float:
    """Seconds between the signal and the exception."""
    command = [sys.executable, "-c", AROUND.format(work=work), trace]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as running:
        assert running.stdout.readline() == "begun\n"
        time.sleep(0.3)
        told = "" if running.poll() is None else running.stderr.read()
        assert running.returncode is None, told
        sent = time.monotonic()
        running.send_signal(signal.SIGINT)
        caught, told = running.communicate(timeout=10)
    assert caught, told
    return float(caught) - sent


def test_ctrl_c_ends_the_command():
    flags = ("--random", "--outstanding", "64", "--policy", "sptf", "--requests", "100000000000")
    command = [sys.executable, "-m", "diskarm", "simulate", "--drive", "hp-c2247", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        time.sleep(1)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=10)
    assert running.returncode == -signal.SIGINT
