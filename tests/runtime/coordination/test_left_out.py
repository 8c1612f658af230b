"""Late records are counted for the whole job, whatever else its functions measure."""

from __future__ import annotations

from millrace.common import Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.runtime.coordination.job_metrics import LeftOut
from millrace.testing import run_locally


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def test_late_records() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    stream = env.from_collection([1, 2, 100, 3, 4, 101], Types.LONG()).assign_timestamps_and_watermarks(strategy)
    sums = stream.key_by(lambda value: 0).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    run = run_locally(sums.reduce(lambda one, other: one + other), epoch_records=1)
    assert run.collected == [3, 201]
    assert run.left_out == LeftOut(skipped=0, late=2)
