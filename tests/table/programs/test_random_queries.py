"""Random queries over random changelogs, in random epochs: the final table is DuckDB's result on what is left."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.table.programs.program import Program
from tests.table.programs.random_queries import programs
from tests.table.programs.running import announced, bound, expected, final_table, streamed

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=2 * settings.default.max_examples, suppress_health_check=SLOW)
@given(programs(), st.integers(0, 2**16), st.integers(1, 3))
def test_any_query(program: Program, seed: int, parallelism: int) -> None:
    made = bound(program)
    wanted = Counter(expected(program))
    event(f"{'no' if not wanted else 'some'} rows")
    assert final_table(streamed(made, random.Random(seed), parallelism), announced(made)) == wanted
