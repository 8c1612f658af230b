"""Programs with a key that is never NULL write into tables by this key: the same rows, also without the old ones."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.table.programs.every import PROGRAMS
from tests.table.programs.program import Program
from tests.table.programs.running import announced, bound, draw_for, expected
from tests.table.programs.upserting import upserted

NAMES = [
    "aggregate_4",
    "aggregate_7",
    "aggregate_8",
    "aggregate_14",
    "distinct_3",
    "join_17",
    "subquery_24",
    "over_19",
    "over_20",
    "sort_11",
    "with_3",
    "change_upserts_1",
    "change_aggregate_8",
    "change_aggregate_12",
    "change_semi_1",
    "change_semi_2",
    "change_anti_1",
    "change_set_3",
    "change_set_5",
    "change_top_2",
    "change_top_3",
    "change_top_6",
    "groups_of_nothing",
    "one_bound_of_a_window",
    "top_of_sums",
    "temporal_sum",
    "lookup_aggregated",
    "group_by_row",
    "user_function_on_changes",
    "table_function_on_changes",
]
KEYED = {program.name: program for program in PROGRAMS if program.name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_table_at_the_end(name: str) -> None:
    program: Program = KEYED[name]
    made, draw = bound(program), draw_for(program)
    key = min((each for each in announced(made).keys if each), key=len)
    assert upserted(made, key, draw, draw.randint(1, 3)) == Counter(expected(program))


@pytest.mark.parametrize("number", range(12))
def test_rows_that_move_to_another_task(number: int) -> None:
    """The new row may come before the old one is taken back, which must then be found among the rows of the key."""
    program: Program = KEYED["over_20"]
    draw = random.Random(f"moving {number}")
    assert upserted(bound(program), (0,), draw, 3) == Counter(expected(program))
