"""Jobs whose state is on disk, shared by the worker processes of the machine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tests.spark.conftest import MakeEnvironment

from millrace.common import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import EmbeddedRocksDBStateBackend, KeyedProcessFunction
from millrace.datastream.connectors.datagen import DataGeneratorSource
from millrace.datastream.state import ValueStateDescriptor

EVENTS, KEYS = 6_000, 700


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def test_workers_take_turns(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(2, **{"millrace.epoch.max-records": 500})
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths(str(tmp_path))
    env.set_state_backend(backend)
    source = DataGeneratorSource(lambda index: index * 7_919 % KEYS, EVENTS)
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    with events.key_by(lambda key: key).process(Count()).execute_and_collect("on disk") as results:
        found = list(results)
    expected = Counter(index * 7_919 % KEYS for index in range(EVENTS))
    assert sorted(found) == sorted((key, n) for key, count in expected.items() for n in range(1, count + 1))
    [jobs] = tmp_path.iterdir()
    assert list(jobs.iterdir()) == [], "deleted with the job"
