"""The programs that benchmarks run on Millrace: in a module, so that both sides and the profiler find them."""

from __future__ import annotations

from typing import Any

from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSource
from millrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from millrace.datastream.state import ValueStateDescriptor

END = 2**63 - 1


class CountAndSum(KeyedProcessFunction):
    """Count and sum per key in a ValueState: one read and one update an event; the result at the end of input."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count-sum", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> None:
        current = self.state.value()
        if current is None:
            self.state.update((1, value[1]))
            ctx.timer_service().register_event_time_timer(END)
        else:
            count, total = current
            self.state.update((count + 1, total + value[1]))

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        count, total = self.state.value()
        yield ctx.get_current_key(), count, total


class RunningCountAndSum(CountAndSum):
    """The same, and a result for every event."""

    def process_element(self, value: Any, ctx: Any) -> Any:  # type: ignore[override]
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + value[1]))
        yield value[0], count + 1, total + value[1]


def keyed_process(env: StreamExecutionEnvironment, directory: str, function: KeyedProcessFunction) -> DataStream:
    """Parquet files -> key_by(key) -> ``function``."""
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(None), directory).build()
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    return events.key_by(lambda event: event[0]).process(function)
