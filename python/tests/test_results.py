"""Renderings of results: in a terminal, in a notebook, as a table."""

import math
import re

import pytest

import diskarm

SETTING = {"workload": "closed(clients=8)", "requests": 2000}


@pytest.fixture(scope="module")
def runs() -> diskarm.Results:
    return diskarm.compare("hp-c2247", ["fcfs", "sptf"], **SETTING)


def test_a_result_is_one_line(runs):
    for run in runs:
        shown = re.fullmatch(
            r"<Result hp-c2247, (\w+): ([\d.]+) ± ([\d.]+) ms, ([\d.]+) requests/s>", repr(run)
        )
        policy, mean, half, rate = shown.groups()
        assert policy == run.policy
        # Rounded to two digits of the interval.
        place = 10 ** (math.floor(math.log10(run.response_ms.ci95)) - 1)
        assert abs(float(mean) - run.response_ms.mean) <= place / 2
        assert abs(float(half) - run.response_ms.ci95) <= place / 2
        assert float(rate) == pytest.approx(run.throughput_per_s, rel=1e-3)
    assert len(repr(runs).splitlines()) == 3


def test_saturated_and_empty_results_say_so():
    run = diskarm.simulate("hp-c2247", workload="poisson(rate=300/s)", requests=3000)
    assert run.is_saturated and "saturated" in repr(run)
    none = diskarm.simulate("hp-c2247", workload="closed(clients=1)", requests=9, warm_up=8)
    assert none.response_ms.ci95 is None and "±" not in repr(none)
    assert repr(diskarm.Results()) == "<Results: none>"
    assert diskarm.Results()._repr_html_() == "<p>no results</p>"


def test_a_notebook_shows_a_table_and_a_figure(runs):
    html = runs._repr_html_()
    assert html.count("<tr>") == 3 and html.count("<svg") == 1
    for run in runs:
        assert f"<td>{run.policy}</td>" in html and f"<td>{run.response_ms.p95:.1f}</td>" in html
    assert runs[0]._repr_html_().count("<tr>") == 2


def test_names_from_outside_stay_text(tmp_path):
    path = tmp_path / "a<b>&c.toml"
    path.write_text(diskarm.Drive("hp-c2247").toml)
    html = diskarm.simulate(path, **SETTING)._repr_html_()
    assert "<b>" not in html and "a&lt;b" in html


def test_a_frame_has_a_row_per_policy_and_a_column_per_figure(runs):
    frame = runs.to_frame()
    assert frame["policy"].tolist() == ["fcfs", "sptf"]
    for row, run in zip(frame.to_dict("records"), runs, strict=True):
        assert row["response_ms_mean"] == run.response_ms.mean
        assert row["reads_service_ms_seek"] == run.reads.service_ms.seek
        assert row["queue_max"] == run.queue.max and row["seed"] == 1
    assert not any(isinstance(value, (dict, list)) for value in frame.iloc[0])
    alone = runs[1].to_frame()
    assert alone.equals(frame.iloc[[1]].reset_index(drop=True))


def test_quantiles_are_those_of_the_requests():
    run = diskarm.simulate("hp-c2247", **SETTING, warm_up=100, per_request=True)
    response_ms = sorted(run.per_request["response_us"][100:] / 1e3)
    exact = [response_ms[max(math.ceil(k / 1e3 * len(response_ms)), 1) - 1] for k in range(1000)]
    assert run.response_ms_quantiles == pytest.approx(exact, rel=1e-3)
