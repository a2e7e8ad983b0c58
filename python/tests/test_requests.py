"""Requests in columns: the memory is shared, not copied."""

import gc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diskarm


@pytest.fixture(scope="module")
def requests() -> diskarm.Requests:
    run = diskarm.simulate(
        "hp-c2247", workload="closed(clients=4)", requests=5000, per_request=True
    )
    return run.per_request


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_numpy_and_arrow_share_memory(requests):
    table = requests.to_arrow()
    assert table.column_names == requests.names
    numbers = [name for name in requests.names if requests[name].dtype.kind != "U"]
    assert len(numbers) == len(requests.names) - 2
    for name in numbers:
        (chunk,) = table[name].chunks
        assert address(requests[name]) == address(requests[name])
        assert chunk.buffers()[1].address == address(requests[name]), name
        assert not requests[name].flags.writeable
        assert np.array_equal(chunk.to_numpy(), requests[name])


def test_polars_shares_memory(requests):
    frame = pl.DataFrame(requests)
    numbers = frame["response_us"].to_numpy()
    assert address(numbers) == address(requests["response_us"])
    assert frame["op"].cast(pl.String).to_list() == requests["op"].tolist()


def test_pandas_takes_the_same_table(requests):
    frame = pd.DataFrame.from_arrow(requests) if hasattr(pd.DataFrame, "from_arrow") else None
    frame = requests.to_arrow().to_pandas() if frame is None else frame
    assert list(frame.columns) == requests.names
    assert frame["outcome"].astype(str).tolist() == requests["outcome"].tolist()
    assert (frame["response_us"] == requests["response_us"]).all()


def test_a_struct_array_and_a_column_are_to_be_had_too(requests):
    struct = pa.array(requests)
    assert struct.type.num_fields == len(requests.names) and len(struct) == len(requests)
    column = pa.array(requests._batch.column("lbn"))
    assert column.buffers()[1].address == address(requests["lbn"])


def test_memory_outlives_the_run():
    run = diskarm.simulate(
        "hp-c2247", workload="closed(clients=4)", requests=2000, per_request=True
    )
    expected = run.per_request["response_us"].copy()
    column, table = run.per_request["response_us"], pa.table(run.per_request)
    del run
    gc.collect()
    [bytearray(10**6) for _ in range(20)]
    assert np.array_equal(column, expected)
    assert np.array_equal(table["response_us"].to_numpy(), expected)


def test_the_parts_add_up_to_the_response(requests):
    names = requests.names[requests.names.index("response_us") + 1 :]
    total = sum(requests[name] for name in names)
    assert np.allclose(total, requests["response_us"], atol=1e-6, rtol=0)
    times = requests["completed_us"] - requests["arrived_us"]
    assert np.allclose(times, requests["response_us"], atol=1e-3, rtol=0)


def test_no_such_column_is_a_key_error(requests):
    with pytest.raises(KeyError):
        requests["latency"]


def test_parquet_holds_all(requests, tmp_path):
    path = tmp_path / "requests.parquet"
    requests.to_parquet(path)
    assert pq.read_table(path).equals(requests.to_arrow())
