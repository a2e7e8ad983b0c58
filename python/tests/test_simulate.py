"""Simulations: the same numbers as the program's, to the bit, and a closed form."""

import csv
import math
import threading
from typing import Any

import numpy as np
import pytest

import diskarm

OPEN = "poisson(rate=40/s) uniform size=8KiB reads=67%"
WALL = {"wall_s", "requests_per_wall_s"}


def plain(result: diskarm.Result) -> dict[str, Any]:
    """The result as in JSON."""
    return {name: value for name, value in result.to_dict().items() if name not in WALL}


def same(result: diskarm.Result, printed: dict[str, Any], *, is_saturated: bool = False) -> None:
    """Compares a result with the program's output: names, numbers and types."""
    expected = {name: value for name, value in printed.items() if name not in WALL}
    metrics = {"is_saturated": is_saturated}
    # Printed only where there are any.
    absent = {"flushes": 0, "recovered": 0, "failed": 0}
    assert plain(result) == {**absent, **expected, **metrics}


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        ({}, ()),
        ({"seed": 2**64 - 1, "warm_up": 300}, ("--seed", str(2**64 - 1), "--warmup", "300")),
        ({"replications": 3}, ("--replications", "3")),
        ({"window_ms": 5000}, ("--window", "5000 ms")),
        ({"merge": "64 KiB"}, ("--merge", "64 KiB")),
    ],
)
def test_figures_are_those_of_the_program(cli_json, arguments, flags):
    asked = ("simulate", "--drive", "hp-c2247", "--workload", OPEN, "--policy", "vscan(r=0.2)")
    printed = cli_json(*asked, "--requests", "3000", *flags)
    result = diskarm.simulate(
        "hp-c2247", workload=OPEN, policy="vscan(r=0.2)", requests=3000, **arguments
    )
    same(result, printed)


def test_streams_and_saturation_are_reported(cli_json):
    both = "poisson(rate=300/s) sequential + closed(clients=3)"
    asked = ("--drive", "hp-c2247", "--workload", both, "--requests", "4000")
    (printed,) = cli_json("compare", *asked, "--policies", "fcfs")
    assert printed.pop("is_saturated")
    # Counted by comparisons alone.
    assert printed.pop("choices") > 0
    result = diskarm.simulate("hp-c2247", workload=diskarm.Workload(both), requests=4000)
    same(result, printed, is_saturated=True)
    assert len(result.streams) == 2
    cut = diskarm.simulate("hp-c2247", workload=both, requests=10**9, max_waiting=500)
    assert cut.is_saturated and cut.requests < 10_000


@pytest.mark.parametrize(
    ("arguments", "outstanding", "flags"),
    [
        ({}, None, ()),
        ({"faster": 1.5, "from_": "2 s"}, None, ("--faster", "1.5", "--from", "2 s")),
        ({"device": 1, "fit": "fold"}, None, ("--device", "1", "--fit", "fold")),
        ({"fit": "spread", "disks": 2}, None, ("--fit", "spread", "--disks", "2")),
        ({}, 8, ("--outstanding", "8", "--think", "2 ms")),
    ],
)
def test_traces_are_those_of_the_program(cli_json, two_devices, arguments, outstanding, flags):
    asked = ("--drive", "hp-c2247", "--trace", two_devices, *flags)
    (printed,) = cli_json("compare", *asked, "--policies", "sptf")
    is_saturated = printed.pop("is_saturated")
    printed.pop("choices")
    trace = diskarm.Trace(two_devices, **arguments)
    result = diskarm.simulate(
        "hp-c2247", trace=trace, policy="sptf", outstanding=outstanding, think_ms=2
    )
    same(result, printed, is_saturated=is_saturated)


def test_requests_are_those_of_the_program(cli, two_devices, tmp_path):
    path = tmp_path / "rows.csv"
    cli(
        *("simulate", "--drive", "hp-c2247", "--trace", two_devices, "--policy", "sptf"),
        *("--per-request", str(path)),
    )
    with path.open() as file:
        rows = list(csv.DictReader(file))
    run = diskarm.simulate("hp-c2247", trace=two_devices, policy="sptf", per_request=True)
    requests = run.per_request
    assert requests.names == list(rows[0]) and len(requests) == len(rows) == 2000
    for name in requests.names:
        column = requests[name]
        kind = str if column.dtype.kind == "U" else column.dtype.type
        assert column.tolist() == [kind(row[name]) for row in rows], name


def test_comparison_equals_separate_simulations():
    policies = ["fcfs", "clook", "sptf"]
    setting = {"workload": "closed(clients=20)", "requests": 2000, "replications": 2}
    together = diskarm.compare("hp-c2247", policies, **setting)
    alone = [diskarm.simulate("hp-c2247", policy=policy, **setting) for policy in policies]
    assert [plain(result) for result in together] == [plain(result) for result in alone]


def test_the_mean_wait_is_pollaczek_and_khinchines():
    """M/G/1: the mean wait is rate * E[S^2] / (2 (1 - load)). Under FCFS and uniform placement the
    services of a disk are independent except for the arm's position, which successive seeks
    share."""
    rate = 25.0
    run = diskarm.simulate(
        "hp-c2247",
        workload=f"poisson(rate={rate}/s) uniform size=8KiB reads=100%",
        requests=400_000,
        per_request=True,
    )
    wait_s = run.per_request["queue_us"] / 1e6
    service_s = run.per_request["response_us"] / 1e6 - wait_s
    load = rate * service_s.mean()
    assert 0.45 < load < 0.65
    expected_s = rate * np.square(service_s).mean() / (2 * (1 - load))
    assert math.isclose(wait_s.mean(), expected_s, rel_tol=0.03)
    assert math.isclose(run.utilisation, load, rel_tol=0.01)


def test_other_threads_go_on():
    is_over, turns = threading.Event(), 0

    def run() -> None:
        diskarm.simulate("hp-c2247", workload="closed(clients=64)", policy="sptf", requests=400_000)
        is_over.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not is_over.wait(0.001):
        turns += 1
    thread.join()
    # With the GIL held there would be at most one turn.
    assert turns > 20


def test_drives_are_found_read_and_described(cli_json, tmp_path):
    drive = diskarm.Drive("hp-c2247")
    assert "hp-c2247" in diskarm.drives() and drive.sector_bytes == 512
    assert drive.describe() == cli_json("drives", "show", "hp-c2247")
    assert diskarm.policies() == cli_json("policies")
    path = tmp_path / "mine.toml"
    path.write_text(drive.toml)
    runs = [
        diskarm.simulate(one, workload=OPEN, requests=500)
        for one in (drive, path, diskarm.Drive.from_toml(drive.toml))
    ]
    assert len({run.response_ms.mean for run in runs}) == 1


def test_a_drive_can_be_edited(tmp_path):
    drive = diskarm.Drive("hp-c2247")
    lines = drive.toml.splitlines()
    (segments,) = [line for line in lines if line.startswith("segments")]
    other = drive.edit({"buffer.segments": 7, "mechanics.head_switch": "1.5 ms"}, name="other")
    assert other.name == "other" and drive.edit({}).name == "hp-c2247, edited"
    assert "segments = 7" in other.toml and segments not in other.toml
    # Everything else is unchanged.
    changed = [line for line in other.toml.splitlines() if line not in lines]
    assert [line.split()[0] for line in changed] == ["head_switch", "segments"]
    runs = [
        diskarm.simulate(one, workload=OPEN, requests=2000)
        for one in (other, diskarm.Drive.from_toml(other.toml), drive)
    ]
    assert runs[0].response_ms == runs[1].response_ms != runs[2].response_ms
    with pytest.raises(diskarm.Error, match="^hp-c2247, edited:.*found -1") as caught:
        drive.edit({"buffer.segments": -1})
    assert caught.value.field == "buffer.segments"
    with pytest.raises(diskarm.Error, match="segment"):
        drive.edit({"buffer.segment": 3})
    with pytest.raises(diskarm.Error):
        drive.edit({"geometry": True})


def test_a_workload_in_toml_is_that_in_words(tmp_path):
    toml = 'arrivals = "poisson(rate=40/s)"\nsize = "8 KiB"\nreads = "67 %"\n'
    path = tmp_path / "mine.toml"
    path.write_text(toml)
    asked = [OPEN, str(path), diskarm.Workload.from_toml(toml)]
    runs = [diskarm.simulate("hp-c2247", workload=one, requests=500) for one in asked]
    assert len({run.response_ms.mean for run in runs}) == 1


def test_devices_stand_in_front_of_a_drive(cli_json):
    tower = "faults(recovered=\"20% after 2 retries\", drive=hp-c2247)"
    result = diskarm.simulate(tower, workload=OPEN, requests=2000)
    flags = ("--drive", tower, "--policy", "fcfs", "--workload", OPEN, "--requests", "2000")
    same(result, cli_json("simulate", *flags))
    assert result.recovered > 0 and result.failed == 0

    with pytest.raises(diskarm.Error, match="policy sptf needs positioning times, which host"):
        diskarm.simulate("host(drive=hp-c2247)", workload=OPEN, policy="sptf")
    with pytest.raises(diskarm.Error, match="without devices in front of it"):
        diskarm.validate(tower, "trace.csv")
