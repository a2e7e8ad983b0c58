"""Options have the same names everywhere, and users see all of them."""

import inspect
import pydoc
import re
import typing
from pathlib import Path

import pytest

import diskarm
from diskarm import _options
from diskarm._options import DEFAULTS, Options

SETTING = {"workload": "poisson(rate=40/s)", "requests": 500}


@pytest.mark.parametrize(
    ("function", "own"),
    [(diskarm.simulate, ["drive", "policy"]), (diskarm.compare, ["drive", "policies"])],
)
def test_signatures_tell_every_option_with_its_default(function, own):
    assert list(DEFAULTS) == list(Options.__annotations__)
    parameters = inspect.signature(function).parameters
    assert list(parameters) == [*own, *DEFAULTS]
    kinds = typing.get_type_hints(function)
    for name, default in DEFAULTS.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is default
        assert kinds[name] == Options.__annotations__[name]
    shown = pydoc.plain(pydoc.render_doc(function))
    assert "seed: int = 1" in shown and "workload: str | diskarm._workload.Workload | None" in shown
    kind = "Result" if function is diskarm.simulate else "Results"
    assert f"-> diskarm._result.{kind}\n" in shown


def test_a_type_goes_with_its_name_whatever_the_order(monkeypatch):
    monkeypatch.setattr(_options, "DEFAULTS", dict(reversed(DEFAULTS.items())))

    @_options.takes_options
    def function(drive: str, **options) -> None: ...

    parameters = list(inspect.signature(function).parameters.values())[1:]
    shown = {one.name: (one.annotation, one.default) for one in parameters}
    assert shown == {name: (Options.__annotations__[name], DEFAULTS[name]) for name in DEFAULTS}


def test_the_compiled_part_takes_every_option():
    # An unknown option would be ignored silently.
    rust = (Path(__file__).parents[2] / "crates" / "python" / "src" / "runs.rs").read_text()
    fields = rust.partition("pub struct Options {")[2].partition("}")[0]
    assert re.findall(r"^ +(\w+):", fields, re.MULTILINE) == list(DEFAULTS)


def test_every_option_is_explained():
    arguments = inspect.getdoc(diskarm.simulate).partition("Args:")[2]
    for name in inspect.signature(diskarm.simulate).parameters:
        assert f"\n    {name}: " in arguments, name


def test_defaults_are_what_is_simulated():
    plain, shown = (
        diskarm.simulate("hp-c2247", **{**options, **SETTING}) for options in ({}, DEFAULTS)
    )
    assert plain.response_ms == shown.response_ms and plain.seed == DEFAULTS["seed"]


@pytest.mark.parametrize(
    ("name", "hint"), [("request", ", perhaps requests"), ("latency", "")]
)
def test_an_option_that_there_is_not_is_a_type_error(name, hint):
    with pytest.raises(TypeError, match=f"unexpected keyword argument {name}{hint}$"):
        diskarm.simulate("hp-c2247", **SETTING, **{name: 5})
    with pytest.raises(TypeError, match="unexpected keyword argument policy"):
        diskarm.compare("hp-c2247", ["fcfs"], policy="sptf", **SETTING)


def test_nothing_to_compare_is_an_error():
    for none in ([], iter(())):
        with pytest.raises(diskarm.Error, match="^policies: found none") as caught:
            diskarm.compare("hp-c2247", none, **SETTING)
        assert caught.value.field == "policies"
