"""What is left of many changes: the last row of each key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows


def last_rows(rows: Rows, names: Sequence[str], places: Sequence[int], table: str) -> Rows:
    """The last row of each key, in the order of the keys: so two tasks never wait for each other. All rows, if there
    is no key.

    :param names: of the key columns.
    :param places: of the key columns.
    :raises ValueError: a key is NULL.
    """
    if not places or not len(rows):
        return rows
    keys = [rows.columns[place] for place in places]
    for name, key in zip(names, keys):
        if key.null_count:
            raise ValueError(f"table {table}: the key column '{name}' must not be NULL")
    if len(keys) == 1 and pa.types.is_integer(keys[0].type):
        return rows.take(_last_numbers(keys[0]))
    labels = [f"k{place}" for place in range(len(keys))]
    columns = pa.table([*keys, pa.array(np.arange(len(rows)))], [*labels, "at"])
    last = columns.group_by(labels, use_threads=False).aggregate([("at", "max")])
    ordered = last.sort_by([(name, "ascending") for name in labels])
    return rows.take(ordered["at_max"].combine_chunks())


def _last_numbers(key: pa.Array) -> pa.Array:
    """The places of the last of equal numbers, by number: half of the time that groups take."""
    numbers = key.to_numpy()
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    return pa.array(order[np.append(ordered[1:] != ordered[:-1], True)])
