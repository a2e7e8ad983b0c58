"""Drives by the figures of data sheets, as the program makes them, byte for byte."""

import re

import pytest

import diskarm
from diskarm import Drive

NEEDED = {"capacity": "8TB", "rpm": 7200, "seek": "8.5ms", "outer": "250MB/s"}
MORE = {
    "inner": "110MB/s",
    "write_seek": "9.5 ms",
    "track_to_track": "900us",
    "full_stroke": "18ms",
    "cache": "256 MiB",
    "platters": 5,
    "queue": 16,
    "interface": "600MB/s",
    "sectors": "512e",
    "name": "mine",
}


def flags(sheet):
    """The options of the program."""
    return [
        word for key, value in sheet.items() for word in (f"--{key.replace('_', '-')}", str(value))
    ]


@pytest.mark.parametrize("sheet", [NEEDED, NEEDED | MORE], ids=["needed", "all"])
def test_a_drive_is_that_of_the_program(cli, sheet):
    drive = Drive.from_data_sheet(**sheet)
    assert drive.toml == cli("drives", "new", *flags(sheet))
    assert drive.name == sheet.get("name", "new-drive")
    # As makers have agreed for 8 TB (IDEMA LBA1-03).
    assert drive.sectors == 15_628_053_168


def test_it_can_be_simulated_at_once():
    drive = Drive.from_data_sheet(**NEEDED)
    # Requests are nearer to each other than random cylinders: more blocks are outside.
    longest = 8.5 + 60e3 / 7200 / 2
    run = diskarm.simulate(
        drive, workload="closed(clients=1) uniform reads=100%", requests=2000
    )
    assert longest - 2 < run.response_ms.mean < longest
    # And no read takes longer than the full stroke, a revolution, and the transfer.
    assert run.response_ms.max < 17 + 60e3 / 7200 + 1


def test_every_option_of_the_program_is_an_argument(cli):
    options = re.findall(r"^ +--([a-z-]+) <", cli("drives", "new", "--help"), re.MULTILINE)
    assert {name.replace("-", "_") for name in options} - {"color"} == {*NEEDED, *MORE}


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ({"capacity": "8"}, 'capacity: found "8", expected a size from 1 B'),
        ({"seek": "8.5"}, 'seek: found "8.5", expected a time from 0'),
        ({"seek": "0 ms"}, 'seek: found "0 ms", expected 0.001 to 100 ms'),
        ({"rpm": -1}, 'rpm: found "-1", expected a whole number'),
        ({"rpm": 5}, 'rpm: found "5", expected 300 to 60000'),
        ({"queue": 0}, 'queue: found "0", expected 1 to 4096'),
        ({"sectors": "4K"}, 'sectors: found "4K", expected 512n, 512e or 4Kn'),
        ({"inner": "300MB/s"}, 'inner: found "300 MB/s", expected at most the value of'),
    ],
)
def test_errors_name_the_argument(argument, expected):
    with pytest.raises(diskarm.Error) as caught:
        Drive.from_data_sheet(**NEEDED | argument)
    assert expected in str(caught.value)
    assert caught.value.field == next(iter(argument))
