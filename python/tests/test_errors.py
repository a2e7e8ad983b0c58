"""Invalid input raises an Error with its location."""

import pytest

import diskarm

SOUND = {"workload": "poisson(rate=40/s)", "requests": 100}


def raised(**arguments):
    arguments = {"drive": "hp-c2247", **SOUND, **arguments}
    with pytest.raises(diskarm.Error) as caught:
        diskarm.simulate(arguments.pop("drive"), **arguments)
    return caught.value


@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        ({"drive": "hp-c2274"}, "drive", 'drive: found "hp-c2274", expected a drive in the'),
        ({"policy": "spft"}, "policy", 'policy: found "spft", expected "sptf" or one of'),
        ({"policy": "vscan(r=2)"}, "vscan.r", "policy: vscan.r: found"),
        ({"workload": "poison(rate=9/s)"}, "arrivals", "workload: arrivals: found"),
        ({"warm_up": 100}, "warm_up", 'warm_up: found "100", expected less than the 100 of `r'),
        ({"requests": 2**63}, "requests", "requests: found"),
        ({"merge": "much"}, "merge", 'merge: found "much", expected 1 to'),
        ({"window_ms": 0}, "window_ms", 'window_ms: found "0", expected milliseconds from'),
        ({"replications": 0}, "replications", 'replications: found "0", expected a whole number'),
    ],
)
def test_arguments_are_called_as_in_python(arguments, field, message):
    error = raised(**arguments)
    assert str(error).startswith(message), error
    assert (error.file, error.line, error.field) == (None, None, field)
    assert isinstance(error, ValueError) and "--" not in str(error)


def test_errors_in_files_have_line_and_field(tmp_path):
    path = tmp_path / "broken.spc"
    path.write_text("0,1,512,R,0.1\n0,x,512,R,0.2\n")
    error = raised(workload=None, requests=None, trace=path)
    assert (error.file, error.line, error.field) == (str(path), 2, "lba")
    toml = diskarm.Drive("hp-c2247").toml
    with pytest.raises(diskarm.Error, match="^mine.toml:17: geometry.surfaces: found 0") as caught:
        diskarm.Drive.from_toml(toml.replace("surfaces = 13", "surfaces = 0"), "mine.toml")
    assert (caught.value.file, caught.value.line) == ("mine.toml", 17)
    with pytest.raises(diskarm.Error, match="cannot read"):
        diskarm.simulate(tmp_path / "absent.toml", **SOUND)
    workload = diskarm.Workload.from_toml('\narrivals = "poison(rate=9/s)"')
    error = raised(workload=workload)
    assert (error.file, error.line) == ("workload.toml", 2)


@pytest.mark.parametrize(
    "options",
    [
        {"fit": "bend"},
        {"fit": "fold", "disks": 2},
        {"fit": "spread"},
        {"from_": "90"},
        {"faster": 0.0},
        {"replay": "fast"},
        {"on_error": "cry"},
        {"arrival": "late"},
    ],
)
def test_a_trace_is_checked_when_it_is_made(options):
    with pytest.raises(diskarm.Error) as caught:
        diskarm.Trace("absent.spc", **options)
    assert caught.value.field in options


def test_arguments_that_exclude_one_another_are_a_type_error(two_devices):
    for wrong in [
        {},
        {"workload": "poisson(rate=9/s)", "trace": two_devices},
        {"trace": two_devices, "requests": 5},
        {"workload": "poisson(rate=9/s)", "outstanding": 5},
        {"workload": "poisson(rate=9/s)", "replications": 2, "per_request": True},
        {"workload": "poisson(rate=9/s)", "policy": 5},
    ]:
        with pytest.raises((TypeError, AttributeError)):
            diskarm.simulate("hp-c2247", **wrong)


def test_rows_that_are_no_range_are_refused(measured):
    with pytest.raises(diskarm.Error, match='^rows: found "5..2", expected rows A..B') as caught:
        diskarm.validate("hp-c2247", measured, rows="5..2")
    assert caught.value.field == "rows"
