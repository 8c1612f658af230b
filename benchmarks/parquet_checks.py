"""What it costs to look at the pages of Parquet files before they are read: pyarrow alone, and with Millrace's checks.

    python -m benchmarks.parquet_checks --rows 4000000

Both read the same files, one after the other in turns, so that both see the same machine. The table has the time of
each column kind: medians, and the share that the checks add. ``driver`` is what a query in batch mode does before Spark
reads the file.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millrace.connectors.file_system.file_stream import FileSplit
from millrace.formats.parquet import OpenParquet, parquet_file
from millrace.formats.parquet_pages import is_modest

BATCH = 8192
ROUNDS = 7


def columns(rows: int) -> dict[str, dict[str, pa.Array]]:
    """Kind of columns -> columns."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 1 << 60, rows)
    few = pa.array([f"name number {each}" for each in range(1000)]).take(pa.array(rng.integers(0, 1000, rows)))
    some = pa.array([f"name number {each}" for each in range(60_000)]).take(pa.array(rng.integers(0, 60_000, rows)))
    unlike = pa.array(numbers).cast(pa.string())
    prices = pa.array(rng.random(rows))
    return {
        "numbers": {"a": pa.array(numbers), "b": prices, "c": pa.array(np.arange(rows))},
        "few texts": {"a": few},
        "many texts": {"a": some},
        "different texts": {"a": unlike},
        "all": {"a": pa.array(numbers), "b": prices, "c": few, "d": some, "e": unlike},
    }


def plain(path: str) -> int:
    with pa.OSFile(path) as stream:
        file = parquet_file(stream)
        groups = range(file.metadata.num_row_groups)
        return sum(int(batch.num_rows) for group in groups for batch in file.iter_batches(BATCH, row_groups=[group]))


def checked(path: str) -> int:
    file = OpenParquet(FileSplit(path, 0, Path(path).stat().st_size))
    groups = range(file.metadata.num_row_groups)
    rows = sum(batch.num_rows for group in groups for batch in file.batches(group, file.names, BATCH, threads=True))
    file.close()
    return rows


def driver(path: str) -> int:
    with pq.ParquetFile(path) as file:
        names, rows = file.schema_arrow.names, int(file.metadata.num_rows)
    assert is_modest(path, names)
    return rows


def seconds(read: Callable[[str], int], path: str, rows: int) -> float:
    begin = time.perf_counter()
    assert read(path) == rows
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--codec", default="snappy")
    given = parser.parse_args()
    print(f"{'columns':18}{'pyarrow ms':>12}{'checked ms':>12}{'added':>8}{'driver ms':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, made in columns(given.rows).items():
            path = str(Path(folder, f"{kind}.parquet"))
            pq.write_table(pa.table(made), path, compression=given.codec)
            sides: list[Callable[[str], int]] = [plain, checked, driver]
            times = [[seconds(side, path, given.rows) for side in sides] for _ in range(ROUNDS)]
            one, two, head = (1000 * statistics.median(each) for each in zip(*times))
            print(f"{kind:18}{one:12.1f}{two:12.1f}{two / one - 1:8.0%}{head:12.1f}", flush=True)


if __name__ == "__main__":
    main()
