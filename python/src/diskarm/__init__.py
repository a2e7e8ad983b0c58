"""Simulates mechanical disk drives: what a request takes, under which order of service.

>>> import diskarm
>>> run = diskarm.simulate(
...     "hp-c2247",
...     workload="poisson(rate=60/s) uniform size=8KiB reads=67%",
...     policy="sptf",
...     requests=10_000,
... )
>>> round(run.utilisation, 2)
0.98

`drives()` and `policies()` list what there is; `plot` draws results with matplotlib. A `Device` is
stepped by a loop of your own.
"""

from ._diskarm import VERSION as __version__
from ._diskarm import Completion, Device, Drive, Pending, drives, policies
from ._error import Error
from ._measured import Calibration, Figures, calibrate, validate
from ._policy import Policy
from ._requests import Requests
from ._result import Result, Results
from ._simulate import compare, simulate
from ._study import Claim, Outcome, Study, studies
from ._trace import Reading, Trace
from ._workload import Workload

__all__ = [
    "Calibration",
    "Claim",
    "Completion",
    "Device",
    "Drive",
    "Error",
    "Figures",
    "Outcome",
    "Pending",
    "Policy",
    "Reading",
    "Requests",
    "Result",
    "Results",
    "Study",
    "Trace",
    "Workload",
    "__version__",
    "calibrate",
    "compare",
    "drives",
    "policies",
    "simulate",
    "studies",
    "validate",
]
