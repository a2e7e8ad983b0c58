"""Plots show the numbers from which they are made."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import diskarm
from diskarm import plot


@pytest.fixture(scope="module")
def runs() -> list[diskarm.Result]:
    asked = {"workload": "closed(clients=8)", "requests": 2000, "per_request": True}
    return diskarm.compare("hp-c2247", ["fcfs", "sptf"], **asked)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_distribution_climbs_to_one_by_its_median(runs):
    ax = plot.distribution(runs)
    for line, run in zip(ax.lines, runs, strict=True):
        ms, share = line.get_data()
        assert line.get_label() == run.policy and share[-1] == 1
        # The median of the report is known to within 0.1 %.
        assert ms[np.searchsorted(share, 0.5)] == pytest.approx(run.response_ms.p50, rel=2e-3)
    with pytest.raises(ValueError, match="per_request=True"):
        plot.distribution([diskarm.simulate("hp-c2247", workload="closed(clients=1)", requests=9)])


def test_bars_are_as_high_as_the_service_is_long(runs):
    ax = plot.service(runs)
    top = max(patch.get_y() + patch.get_height() for patch in ax.patches)
    assert top == pytest.approx(max(run.service_ms.mean for run in runs), abs=1e-4)


def test_a_line_has_a_gap_where_the_drive_is_saturated():
    rates = [10, 30, 300]
    runs = [
        diskarm.simulate("hp-c2247", workload=f"poisson(rate={rate}/s)", requests=5000)
        for rate in rates
    ]
    ax = plot.against(rates, runs, label="fcfs")
    plot.against(rates, runs, label="again", ax=ax)
    first, second = (container.lines[0] for container in ax.containers)
    assert first.get_marker() != second.get_marker()
    means = first.get_ydata()
    assert means[:2].tolist() == [run.response_ms.mean for run in runs[:2]] and np.isnan(means[2])
