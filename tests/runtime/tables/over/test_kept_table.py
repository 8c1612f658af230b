"""Rows of OVER windows in columns as a table of state: copies, and maps of single keys, follow by changes."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from millrace.runtime.state.tables import MapTable
from millrace.runtime.tables.over.retained_columns import ColumnRows, KeptTable
from millrace.runtime.tables.over.retained_rows import Need, Partitions

Model = dict[int | None, list[tuple[int, str]]]


def table() -> KeptTable:
    return KeptTable([pa.int64()], [pa.string()])


def content(entries: dict[tuple[int | None], tuple[bool, dict[int, tuple[int, str]], list[int]]]) -> Model:
    return {key: list(rows.values()) for (key,), (_, rows, _) in entries.items()}


def test_copies_follow_by_changes() -> None:
    draw = random.Random(5)
    leader, copy, plain = table(), table(), MapTable()
    rows = ColumnRows(Need(rows=2, span=-1, everything=False), leader)
    model: Model = {}
    for time in range(200):
        keys = draw.sample([None, 1, 2, 3], draw.randrange(1, 4))
        partitions = Partitions.of([pa.array(keys, pa.int64())], len(keys))
        history = rows.find(partitions)
        # Of each partition the first rows go, and perhaps all.
        gone = np.zeros(len(history.owners), bool)
        for place, key in enumerate(keys):
            own = np.flatnonzero(history.owners == place)
            count = draw.randrange(len(own) + 1)
            gone[own[:count]] = True
            model[key] = model.get(key, [])[count:]
        fresh = sorted(draw.choices(range(len(keys)), k=draw.randrange(4)))
        texts = [draw.choice("xyz") for _ in fresh]
        columns = [pa.array([time] * len(fresh), pa.int64()), pa.array(texts, pa.string())]
        rows.change(partitions, history, gone, np.array(fresh, np.int64), columns)
        for place, text in zip(fresh, texts):
            model[keys[place]].append((time, text))
        assert content(leader.entries()) == {key: each for key, each in model.items() if each}
        if draw.random() < 0.4:
            changes = leader.delta()
            copy.apply(changes)
            plain.apply(changes)
            assert content(copy.entries()) == content(plain.entries()) == content(leader.entries())
