"""State goes with its key to the subtask that gets the key's rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from tests.runtime.tables.table_runs import changes_of, element, harness, run, table_of

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.nodes import Field, WindowSpec
from millrace.relational.rex import AggCall, Frame, Ref, SortKey
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.keys import key_group, subtask_of_group
from millrace.runtime.state.backend import only_keys
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.changelog import ChangelogNormalize
from millrace.runtime.tables.exchange import ByColumns
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.runtime.tables.over.updating_over import UpdatingOver
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.runtime.tables.windows.window_rank import WindowDeduplicate
from millrace.testing import Element, EndInput

TYPES = (t.VarCharType(3), t.TimestampType(3), t.IntType(), t.TimestampType(3))
START = datetime(2024, 1, 1)
GROUPS = 16
CALLS = (
    aggregate_call("SUM", (Ref(TYPES[2], 2),)),
    aggregate_call("COUNT", (Ref(TYPES[2], 2),), distinct=True),
    aggregate_call("ARRAY_AGG", (Ref(TYPES[2], 2),)),
)
COMMON: dict[str, Any] = {"keys": (0,), "types": TYPES}


def aggregate(spec: WindowSpec, calls: Sequence[Any]) -> WindowAggregate:
    return WindowAggregate(window=spec, time=1, zoned=False, keys=(0,), key_types=TYPES[:1], calls=tuple(calls))


CONFIGS: dict[str, TableConfig] = {
    "group": GroupAggregate(keys=(0,), key_types=TYPES[:1], calls=CALLS),
    "hop": aggregate(WindowSpec("HOP", 20_000, 10_000), CALLS[:1]),
    "hop with values": aggregate(WindowSpec("HOP", 20_000, 10_000), CALLS),
    "tumble beside values": aggregate(WindowSpec("TUMBLE", 10_000), CALLS[:2]),
    "hop beside values": aggregate(WindowSpec("HOP", 20_000, 10_000), CALLS[:2]),
    "cumulate beside values": aggregate(WindowSpec("CUMULATE", 20_000, 5_000), CALLS[:2]),
    "session": aggregate(WindowSpec("SESSION", 3_000), CALLS),
    "deduplicate": Deduplicate(**COMMON, last=True, time=1),
    "normalize": ChangelogNormalize(**COMMON),
    "rank": Rank(partition=(0,), order=(SortKey(Ref(TYPES[2], 2)),), types=TYPES, last=2, retracts=True, number=True),
    "over": UpdatingOver(
        input=tuple(Field(f"f{place}", each) for place, each in enumerate(TYPES)),
        partition=(0,),
        order=(SortKey(Ref(TYPES[2], 2)),),
        calls=((CALLS[0], Frame(True, 1, 1)), (AggCall("ROW_NUMBER", (), t.BigIntType()), Frame(True, None))),
    ),
    "window": WindowDeduplicate(**COMMON, last=True, time=1, window_end=3, zoned=False),
}


def rows() -> list[Element]:
    found = []
    for number in range(40):
        seconds = number // 2
        end = START + timedelta(seconds=seconds - seconds % 10 + 10)
        row = (f"k{number % 7}", START + timedelta(seconds=seconds), number % 5, end)
        found.append(element(row, TYPES))
    return found


def lives_in(subtask: int, key: Any) -> bool:
    """Whether one of three tasks has a key."""
    return subtask_of_group(key_group(key, GROUPS), GROUPS, 3) == subtask


@pytest.mark.parametrize("name", CONFIGS)
def test_one_task_becomes_three(name: str) -> None:
    config, elements = CONFIGS[name], rows()
    with harness(config) as whole:
        for each in elements[:20]:
            whole.process_element(each.value)
        whole.end_epoch()
        changes = changes_of(whole.values)
        backend = whole.operator.keyed_state()
        parts = [only_keys(backend.full(), partial(lives_in, subtask)) for subtask in range(3)]
    route = ByColumns((0,), max_parallelism=GROUPS).router(0, 1, 3)
    for subtask, part in enumerate(parts):
        with harness(config) as task:
            task.operator.take_over_keyed([part])
            for each in elements[20:]:
                for target, chunk in route(Chunk([each.value])):
                    if target == subtask:
                        task.process_element(chunk.values[0])
            task.end_input()
            changes += changes_of(task.values)
    expected = table_of(run(config, [*elements, EndInput()]))
    assert table_of(changes) == expected
