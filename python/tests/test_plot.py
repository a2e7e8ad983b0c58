"""Plots show the numbers from which they are made."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import diskarm
from diskarm import plot


@pytest.fixture(scope="module")
def runs() -> diskarm.Results:
    asked = {"workload": "closed(clients=8)", "requests": 2000, "per_request": True}
    return diskarm.compare("hp-c2247", ["fcfs", "sptf"], **asked)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_distribution_is_that_of_the_requests(runs):
    ax = plot.distribution(runs)
    assert ax.get_title() == "Response times of hp-c2247" and ax.get_xlabel().endswith(", ms")
    for line, run in zip(ax.lines, runs, strict=True):
        ms, share = line.get_data()
        assert line.get_label() == run.policy and share[-1] == 0.999
        exact_ms = np.sort(run.per_request["response_us"]) / 1e3
        ranks = np.maximum(np.ceil(share * len(exact_ms)).astype(int), 1) - 1
        assert ms == pytest.approx(exact_ms[ranks], rel=1e-3)


def test_one_result_is_drawn_as_several_are(runs):
    for draw in (plot.distribution, plot.service):
        assert draw(runs[0]).get_title() == draw(runs[:1]).get_title()


def test_colours_are_those_of_reports(runs):
    used = [line.get_color() for line in plot.distribution(runs).lines]
    assert used == list(plot.COLOURS[:2])
    # The drawing is made by what draws reports.
    drawn = runs._repr_html_()
    assert all(colour in drawn.lower() for colour in used)


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
