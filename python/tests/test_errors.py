"""Invalid input raises an Error with its location."""

import re

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
        ({"warm_up": 100}, "warm_up", 'warm_up: found "100", expected less than 100, the'),
        ({"requests": 2**63}, "requests", "requests: found"),
        ({"merge": "much"}, "merge", 'merge: found "much", expected 1 to'),
        ({"window_ms": 0}, "window_ms", 'window_ms: found "0", expected milliseconds from'),
        ({"replications": 0}, "replications", 'replications: found "0", expected a whole number'),
        ({"requests": -1}, "requests", 'requests: found "-1", expected a whole number from 0'),
        ({"seed": 2**64}, "seed", 'seed: found "18446744073709551616", expected a whole number'),
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: raised(requests="9"), "requests: found '9', expected a whole number or None"),
        (lambda: raised(requests=True), "requests: found True, expected a whole number or None"),
        (lambda: raised(seed=1.5), "seed: found 1.5, expected a whole number"),
        (lambda: raised(merge=64), "merge: found 64, expected text or None"),
        (lambda: raised(think_ms="2"), "think_ms: found '2', expected a number"),
        (lambda: raised(per_request=1), "per_request: found 1, expected True or False"),
        (lambda: raised(workload=5), "workload: found 5, expected text or a Workload or None"),
        (lambda: raised(drive=5), "drive: found 5, expected a name, a path or a Drive"),
        (lambda: raised(policy=5), "policy: found 5, expected a name, or an object with a method"),
        (lambda: diskarm.compare("hp-c2247", "fcfs"), "policies: found 'fcfs', expected a list"),
        (lambda: diskarm.Workload(5), "text: found 5, expected text"),
        (lambda: diskarm.Device(5), "drive: found 5, expected a name, a path or a Drive"),
        (
            lambda: diskarm.Drive("hp-c2247").edit({"buffer.segments": None}),
            "changes: buffer.segments: found None, expected text, a number, True or False",
        ),
    ],
)
def test_arguments_of_another_type_are_named(call, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        call()


def test_rows_that_are_no_range_are_refused(measured):
    with pytest.raises(diskarm.Error, match='^rows: found "5..2", expected rows A..B') as caught:
        diskarm.validate("hp-c2247", measured, rows="5..2")
    assert caught.value.field == "rows"
