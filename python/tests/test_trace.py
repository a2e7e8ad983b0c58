"""Traces from tables."""

import os

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import diskarm


def figures(trace, **arguments):
    run = diskarm.simulate("hp-c2247", trace=trace, policy="sptf", **arguments)
    return run.response_ms, run.service_ms, run.requests


def test_a_table_of_arrivals_is_the_trace_that_it_was_read_from(two_devices, tmp_path):
    names = ["disk", "lbn", "bytes", "op", "arrived_s"]
    read = pyarrow.csv.ReadOptions(column_names=names)
    table = pyarrow.csv.read_csv(two_devices, read_options=read)
    columns = {
        "disk": table["disk"],
        "op": table["op"],
        "lbn": table["lbn"],
        "sectors": np.asarray(table["bytes"]) // 512,
        "arrived_us": np.asarray(table["arrived_s"]) * 1e6,
    }
    expected = figures(two_devices)
    assert figures(diskarm.Trace.from_arrow(pa.table(columns))) == expected
    assert figures(diskarm.Trace.from_arrow(pl.DataFrame(columns))) == expected
    path = tmp_path / "two.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    assert figures(diskarm.Trace.from_parquet(path)) == expected
    shuffled = pl.DataFrame(columns).sample(fraction=1, shuffle=True, seed=1)
    sorted_anew = diskarm.Trace.from_arrow(shuffled)
    assert figures(sorted_anew) == expected
    # The reader would sort rows only within limits, and would add a note.
    assert diskarm.simulate("hp-c2247", trace=sorted_anew).notes == []


def test_a_table_of_measurements_is_replayed_with_its_pauses(measured):
    table = pyarrow.csv.read_csv(measured)
    assert figures(diskarm.Trace.from_arrow(table)) == figures(measured)


def test_the_requests_of_a_run_are_a_trace(tmp_path):
    workload = "poisson(rate=40/s) uniform size=8KiB reads=67%"
    run = diskarm.simulate(
        "hp-c2247", workload=workload, policy="sptf", requests=2000, per_request=True
    )
    path = tmp_path / "requests.parquet"
    run.per_request.to_parquet(path)
    for trace in (
        diskarm.Trace.from_arrow(run.per_request),
        diskarm.Trace.from_parquet(path),
    ):
        assert figures(trace) == (run.response_ms, run.service_ms, run.requests)


def test_the_file_of_a_table_goes_with_it(measured):
    trace = diskarm.Trace.from_arrow(pyarrow.csv.read_csv(measured))
    (path,) = trace.files
    assert os.path.exists(path)
    del trace
    assert not os.path.exists(path)


def test_missing_columns_are_an_error():
    with pytest.raises(diskarm.Error, match='^columns: found "op, lbn", expected') as caught:
        diskarm.Trace.from_arrow(pa.table({"op": ["R"], "lbn": [5]}))
    assert caught.value.field == "columns"
