"""The rows of a stage's input and output: packets as columns of Arrow batches. Imports nothing of the runtime."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("edge", pa.int32()),
        ("channel", pa.int32()),
        ("number", pa.int32()),
        ("payload", pa.binary()),
        ("run", pa.int32()),
    ]
)
SPARK_SCHEMA = "target int, edge int, channel int, number int, payload binary, run int"
