"""The individual requests of a run."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from ._diskarm import Batch


class Requests:
    """The requests of a run in columns, in the order of completion, including the warm-up.

    Columns are those of `diskarm simulate --per-request`: id, disk, op (R, W), lbn, sectors,
    outcome (miss, hit, partial, absorbed; of requests that failed medium-error, not-ready,
    aborted), and in microseconds arrived_us, completed_us, response_us and the parts of the
    response that add up to it: queue_us, owed_us, overhead_us, seek_us, settle_us, rotation_us,
    transfer_us, bus_us.

    `requests["response_us"]` is an array of NumPy, and anything that reads Arrow takes the whole,
    both without copying: `polars.DataFrame(requests)` from Polars 1.3 on, `pyarrow.table(requests)`
    from pyarrow 14 on. Pandas gets it by `requests.to_arrow().to_pandas()`.
    """

    __slots__ = ("_batch",)

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._batch.names

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The column of this name, read-only; a copy for text, which is stored as codes."""
        column = self._batch.column(name)
        values: npt.NDArray[Any] = np.asarray(column)
        words = column.words
        return values if words is None else np.array(words)[values]

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` on the same memory."""
        import pyarrow as pa

        return pa.table(self)

    def to_parquet(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Writes a Parquet file; options are passed to `pyarrow.parquet.write_table`."""
        import pyarrow.parquet as pq

        pq.write_table(self.to_arrow(), path, **options)

    def __arrow_c_schema__(self) -> object:
        return self._batch.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._batch.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{len(self)} requests: {', '.join(self.names)}>"
