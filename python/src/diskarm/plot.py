"""Plots of results with matplotlib, which `pip install diskarm[plot]` installs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = ("owed", "overhead", "seek", "settle", "rotation", "transfer", "bus")
"""The parts of a service, from the bottom of a bar to its top."""

MARKERS = "os^Dv<>ph*Xd"
"""Lines differ by marker as well as by colour, so they can be distinguished in grey, too."""

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#1a1a1a", "#cc79a7", "#e69f00"),
    *("#56b4e9", "#882255", "#999933", "#332288", "#885a36", "#7d7d7d"),
)
"""Those of reports, which can be distinguished with colour blindness."""


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    ax = plt.subplots(layout="constrained")[1]
    ax.set_prop_cycle(color=COLOURS)
    return ax


def _listed(results: Result | Sequence[Result]) -> Sequence[Result]:
    return [results] if isinstance(results, Result) else results


def _titled(ax: Axes, what: str, results: Sequence[Result]) -> None:
    """Names the drives, unless the axes have a title."""
    if not ax.get_title():
        drives = dict.fromkeys(result.drive for result in results)
        ax.set_title(f"{what} of {', '.join(drives)}")


def distribution(results: Result | Sequence[Result], *, ax: Axes | None = None) -> Axes:
    """Plots the share of requests completed within a time, up to 99.9 %, one line per result."""
    ax = _axes(ax)
    results = _listed(results)
    for result in results:
        shares = np.arange(len(result.response_ms_quantiles)) / 1e3
        ax.plot(result.response_ms_quantiles, shares, label=result.policy)
    _titled(ax, "Response times", results)
    ax.set(xlabel="Response time, ms", ylabel="Share of requests", ylim=(0, 1))
    ax.set_xlim(left=0)
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def service(results: Result | Sequence[Result], *, ax: Axes | None = None) -> Axes:
    """Plots the parts of the mean service time, one bar per result."""
    ax = _axes(ax)
    results = _listed(results)
    names = [result.policy for result in results]
    bottom = np.zeros(len(results))
    for part in PARTS:
        heights = np.array([getattr(result.service_ms, part) or 0.0 for result in results])
        ax.bar(names, heights, bottom=bottom, label=part)
        bottom += heights
    _titled(ax, "Service times", results)
    ax.set(xlabel="Policy", ylabel="Service time, ms")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)
    return ax


def against(
    x: Sequence[float],
    results: Sequence[Result],
    *,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plots mean responses over a varied quantity, with their 95 % confidence intervals, as a line
    with gaps for saturated results. Another call with the same axes adds another line.

    >>> loads = [20, 30]  # doctest: +SKIP
    >>> runs = [simulate("hp-c2247", workload=f"poisson(rate={load}/s)") for load in loads]
    ...     # doctest: +SKIP
    >>> against(loads, runs, label="fcfs")  # doctest: +SKIP
    """
    ax = _axes(ax)

    def known(result: Result, of: str) -> Any:
        value = None if result.is_saturated else getattr(result.response_ms, of)
        return np.nan if value is None else value

    means = [known(result, "mean") for result in results]
    halves = [known(result, "ci95") for result in results]
    marker = MARKERS[len(ax.containers) % len(MARKERS)]
    ax.errorbar(x, means, yerr=np.nan_to_num(halves), marker=marker, capsize=3, label=label)
    ax.set_ylabel("Mean response time, ms")
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    if label is not None:
        ax.legend()
    return ax
