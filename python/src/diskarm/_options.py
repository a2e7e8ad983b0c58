"""The options of a simulation, besides drive and policies. An option has its type in `Options`,
its default in `DEFAULTS`, and its field in the compiled part, in `Options` of
crates/python/src/runs.rs; tests check that the three have the same names. The signatures that users
see, the checks, and the values passed to the compiled part follow from the first two.
"""

# No postponed annotations here, so that signatures show them as types.

import inspect
import numbers
import os
import typing
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

from ._diskarm import nearest
from ._error import Error, wrong_type
from ._trace import Trace
from ._workload import Workload


class Options(TypedDict, total=False):
    """The options of `simulate`, which documents them, and of `compare`."""

    workload: str | Workload | None
    trace: str | os.PathLike[str] | Trace | None
    requests: int | None
    warm_up: int
    seed: int
    replications: int | None
    outstanding: int | None
    think_ms: float
    merge: str | None
    window_ms: float | None
    max_waiting: int | None
    per_request: bool


DEFAULTS: Options = {
    "workload": None,
    "trace": None,
    "requests": None,
    "warm_up": 0,
    "seed": 1,
    "replications": None,
    "outstanding": None,
    "think_ms": 0.0,
    "merge": None,
    "window_ms": None,
    "max_waiting": None,
    "per_request": False,
}
"""The default of each option."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_options(function: _Function) -> _Function:
    """Lists the options in the signature of a function that takes them as its last argument,
    `**options: Unpack[Options]`, for help() and for completion."""
    signature = inspect.signature(function)
    own = list(signature.parameters.values())[:-1]
    kinds = Options.__annotations__
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(name, keyword, default=value, annotation=kinds[name])
        for name, value in DEFAULTS.items()
    ]
    written = signature.replace(parameters=[*own, *options])
    function.__signature__ = written  # type: ignore[attr-defined]
    of = {one.name: one.annotation for one in written.parameters.values()}
    function.__annotations__ = {**of, "return": signature.return_annotation}
    return function


def settled(options: Options) -> Options:
    """Every option, as given or by default.

    Raises:
        TypeError: If there is no option of that name, or if it has another type.
        Error: If a number is out of range.
    """
    for name, value in options.items():
        if name not in DEFAULTS:
            near = nearest(name, list(DEFAULTS))
            hint = "" if near is None else f", perhaps {near}"
            raise TypeError(f"unexpected keyword argument {name}{hint}")
        _check(name, value)
    return {**DEFAULTS, **options}


_KINDS: dict[type, tuple[type, str]] = {
    str: (str, "text"),
    os.PathLike: (os.PathLike, "a path"),
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    bool: (bool, "True or False"),
    Trace: (Trace, "a Trace"),
    Workload: (Workload, "a Workload"),
    type(None): (type(None), "None"),
}
"""For each type that an option may have, the values that are accepted, and what to call it."""


def _check(name: str, value: object) -> None:
    """Checks the type of an option, and that whole numbers are not negative."""
    declared = Options.__annotations__[name]
    kinds = [typing.get_origin(one) or one for one in typing.get_args(declared) or (declared,)]
    accepted = tuple(_KINDS[kind][0] for kind in kinds)
    # True and False are whole numbers in Python.
    if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in kinds):
        raise wrong_type(name, value, " or ".join(_KINDS[kind][1] for kind in kinds))
    if int in kinds and value is not None and not 0 <= typing.cast(int, value) < 2**64:
        expected = "a whole number from 0 to 2**64 - 1"
        raise Error(f'{name}: found "{value}", expected {expected}', field=name)
