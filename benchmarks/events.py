"""Input of the benchmarks: files of random (key, value) events, the same for both sides."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write_events(directory: str, events: int, keys: int, files: int, seed: int = 7) -> list[str]:
    """Parquet files with columns key (long) and value (long), evenly filled; returns their paths."""
    os.makedirs(directory, exist_ok=True)
    random = np.random.default_rng(seed)
    paths = []
    for number, share in enumerate(np.array_split(np.arange(events), files)):
        table = pa.table(
            {
                "key": pa.array(random.integers(0, keys, len(share)), pa.int64()),
                "value": pa.array(random.integers(0, 1000, len(share)), pa.int64()),
            }
        )
        paths.append(os.path.join(directory, f"part-{number:04d}.parquet"))
        pq.write_table(table, paths[-1])
    return paths


def expected_counts(paths: list[str]) -> dict[int, tuple[int, int]]:
    """key -> (count, sum), computed by plain numpy."""
    keys = np.concatenate([pq.read_table(path)["key"].to_numpy() for path in paths])
    values = np.concatenate([pq.read_table(path)["value"].to_numpy() for path in paths])
    distinct, inverse = np.unique(keys, return_inverse=True)
    counts = np.bincount(inverse)
    sums = np.bincount(inverse, weights=values).astype(np.int64)
    return {int(k): (int(c), int(s)) for k, c, s in zip(distinct, counts, sums)}
