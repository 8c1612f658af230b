"""The rows of a frame as an Arrow table in the driver, also where Spark does not take so many at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

TOO_MANY = "spark.driver.maxResultSize"
"""In the text of Spark's error."""
_PACKED = pa.schema([("payload", pa.binary())])


def fetched(frame: DataFrame) -> pa.Table:
    """All rows, in their order."""
    try:
        return frame.toArrow()
    except Exception as error:
        if TOO_MANY not in str(error):
            raise
    # The limit is of one action: here it is one for each partition. What was shuffled is not computed again.
    rows = frame.mapInArrow(_pack, "payload binary").toLocalIterator()
    found = pa.Table.from_batches([batch for row in rows for batch in _unpack(bytes(row.payload))])
    return found.cast(frame.limit(0).toArrow().schema)  # tasks have the session's name for UTC


def _pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], schema=_PACKED)


def _unpack(payload: bytes) -> list[pa.RecordBatch]:
    with pa.ipc.open_stream(payload) as reader:
        return list(reader)
