"""Validation and calibration: the same values as the program's."""

import pytest

import diskarm


@pytest.mark.parametrize(("locked", "flags"), [(False, ()), (True, ("--locked",))])
def test_validation_is_that_of_the_program(cli_json, measured, locked, flags):
    printed = cli_json("validate", "--drive", "hp-c2247", measured, "--rows", "50..400", *flags)
    figures = diskarm.validate("hp-c2247", measured, rows="50..400", locked=locked)
    assert dict(figures._values) == printed
    assert figures.requests == figures["requests"] == 350
    assert figures.reads.requests + figures.writes.requests == 350
    with pytest.raises(AttributeError):
        figures.latency


def test_calibration_is_that_of_the_program(cli_json, measured, tmp_path):
    path = tmp_path / "fitted.toml"
    flags = ("--rows", "0..120", "-o", str(path))
    printed = cli_json("calibrate", "--drive", "hp-c2247", measured, *flags)
    fitted = diskarm.calibrate("hp-c2247", measured, rows="0..120")
    assert printed.pop("output") == str(path)
    assert {k: v for k, v in fitted.figures._values.items() if k != "output"} == printed
    assert fitted.drive.name == "fitted" and fitted.drive.toml == path.read_text()
    assert any("120 rows" in warning for warning in fitted.warnings)
