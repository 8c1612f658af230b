"""``DataStream.cache`` on Spark: files that the tasks write and later jobs read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.spark.conftest import MakeEnvironment
from tests.spark.test_graphs import Logged


@pytest.mark.parametrize("batch", [False, True])
def test_later_jobs_read_what_the_first_one_kept(environment: MakeEnvironment, tmp_path: Path, batch: bool) -> None:
    calls, kept = tmp_path / "calls", tmp_path / "kept"
    kept.mkdir()
    # Epochs of few records in streaming mode: the files of several epochs make up the result.
    options = {"millrace.epoch.max-records": 7, "millrace.state.directory": str(kept)}
    env = environment(2, batch, **options)
    cached = env.from_sequence(0, 49).map(Logged(str(calls), "call")).rebalance().map(lambda n: n * n).cache()
    squares = [n * n for n in range(50)]
    for number in range(3):
        with cached.map(lambda n: n + 1).execute_and_collect() as found:
            assert sorted(found) == [square + 1 for square in squares]
        if number == 1:
            cached.invalidate()
    assert Counter(calls.read_text().splitlines()) == {f"call {n}": 2 for n in range(50)}
    env.close()
    assert list(kept.iterdir()) == []
