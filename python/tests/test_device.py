"""Devices that are stepped: the same times as in a simulation, to the bit."""

import doctest
import math
import re
from pathlib import Path

import pytest

import diskarm
from diskarm import Device, Policy

OPEN = "poisson(rate=50/s) uniform size=8KiB reads=67%"
COLUMNS = (
    *("id", "op", "lbn", "sectors", "outcome", "arrived_us", "completed_us", "response_us"),
    *("queue_us", "overhead_us", "seek_us", "rotation_us", "transfer_us", "bus_us"),
)


class Shortest(Policy):
    def choose(self, now_us, waiting):
        return min(range(len(waiting)), key=lambda n: waiting[n].positioning_us)


def finished(device):
    """What it completes without further requests."""
    while (at := device.next_event()) is not None:
        yield from device.advance(at)


@pytest.mark.parametrize("policy", ["fcfs", "sptf", Shortest()])
@pytest.mark.parametrize("drive", ["hp-c2247", "mirror(drive=hp-c2247)"])
def test_stepping_gives_the_times_of_a_simulation(drive, policy):
    if drive != "hp-c2247" and policy != "fcfs":
        pytest.skip("the mirror's queue has no positions")
    run = diskarm.simulate(drive, workload=OPEN, policy=policy, requests=400, per_request=True)
    expected = {row[0]: row for row in zip(*(run.per_request[name] for name in COLUMNS))}
    device, found = Device(drive, policy), []
    for number in sorted(expected):
        _, op, lbn, sectors, _, arrived_us, *_ = expected[number]
        while (at := device.next_event()) is not None and at <= arrived_us:
            found += device.advance(at)
        assert device.submit(float(arrived_us), str(op), int(lbn), int(sectors)) == number
    found += finished(device)
    assert [one.id for one in found] == run.per_request["id"].tolist()
    assert device.outstanding == 0 and device.next_event() is None
    for one in found:
        assert tuple(getattr(one, name) for name in COLUMNS) == tuple(expected[one.id])
        parts = ("queue", "owed", "overhead", "seek", "settle", "rotation", "transfer", "bus")
        total = sum(getattr(one, f"{part}_us") for part in parts)
        assert math.isclose(total, one.response_us, abs_tol=1e-6)


def test_the_stub_shows_what_happens():
    stub = Path(diskarm.__file__).with_name("_diskarm.pyi").read_text(encoding="utf-8")
    text = re.search(r'class Device:\n    """(.*?)"""', stub, re.DOTALL)[1]
    example = doctest.DocTestParser().get_doctest(text, {"Device": Device}, "Device", None, 0)
    assert doctest.DocTestRunner().run(example) == (0, 3)


def test_nothing_is_lost_if_a_loop_oversleeps():
    """What is completed by the time of a submission is returned by the next advance."""
    device = Device("hp-c2247")
    device.submit(0, "R", 5_000, 8)
    device.submit(1e6, "W", 900_000, 8)
    assert device.outstanding == 2 and device.next_event() == device.now_us == 1e6
    (first,) = device.advance(1e6)
    assert (first.id, first.op) == (0, "R") and first.completed_us < 1e6
    (second,) = finished(device)
    assert (second.id, second.op) == (1, "W") and second.arrived_us == 1e6
    device.submit(device.now_us, "F")
    (flush,) = finished(device)
    assert flush.op == "F" and (flush.lbn, flush.sectors) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        ((5, "R", 0, 1), "now_us", "microseconds from 10 to"),
        ((math.nan, "R", 0, 1), "now_us", "microseconds from 10 to"),
        ((20, "read", 0, 1), "op", "R, W or F"),
        ((20, "F", 0, 1), "op", "a flush without lbn and sectors"),
        ((20, "R", 0, 0), "sectors", "at least 1"),
        ((20, "R", 0, -1), "sectors", "a whole number from 0"),
        ((20, "R", 2**64, 1), "lbn", "a whole number from 0"),
        ((20, "R", 0, 70_000), "sectors", "at most 65536"),
        ((20, "R", 2_054_863, 2), "lbn", "a range within the 2054864 sectors"),
    ],
)
def test_what_a_device_does_not_take_is_an_error(arguments, field, expected):
    device = Device("hp-c2247")
    assert device.advance(10) == []
    with pytest.raises(diskarm.Error, match=f"^{field}: found .*, expected {expected}") as caught:
        device.submit(*arguments)
    assert caught.value.field == field and device.outstanding == 0
    # It continues as before.
    assert device.submit(10, "R", 0, 1) == 0
    with pytest.raises(diskarm.Error, match="^now_us"):
        device.advance(9)


def test_unknown_names_are_errors():
    with pytest.raises(diskarm.Error, match='^drive: found "hp-c2274"'):
        Device("hp-c2274")
    with pytest.raises(diskarm.Error, match='^policy: found "spft"'):
        Device("hp-c2247", "spft")


def test_an_exception_of_a_policy_is_raised():
    class Broken(Policy):
        def choose(self, now_us, waiting):
            raise LookupError("no order")

    device = Device(diskarm.Drive("hp-c2247"), Broken())
    numbers = [device.submit(0, "R", lbn, 1) for lbn in range(3)]
    for _ in range(2):
        with pytest.raises(LookupError, match="no order"):
            list(finished(device))
    with pytest.raises(LookupError, match="no order"):
        device.submit(1e6, "R", 0, 1)
    assert numbers == [0, 1, 2] and device.outstanding == 3
