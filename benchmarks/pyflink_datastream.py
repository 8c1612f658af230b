"""The programs of ``benchmarks.datastream``: plain PyFlink, run unchanged by both.

    python pyflink_datastream.py JOB INPUT OUTPUT process|thread

INPUT has two files of lines ``time in ms,key,value`` (for joins two of each side, in ``left`` and ``right``).
"""

import sys

from pyflink.common import Configuration, Duration, Encoder, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

EVENT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
OUT_OF_ORDER_MS = 1000
JOIN_MS = 1000

WINDOWS = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.seconds(10)),
    "tumbling-reduce": lambda: TumblingEventTimeWindows.of(Time.seconds(10)),
    "tumbling-process": lambda: TumblingEventTimeWindows.of(Time.seconds(10)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(2)),
    "session": lambda: EventTimeSessionWindows.with_gap(Time.seconds(2)),
}


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]


class CountSumMax(AggregateFunction):
    def create_accumulator(self):
        return 0, 0, 0

    def add(self, value, accumulator):
        count, total, largest = accumulator
        number = value[2]
        return count + 1, total + number, number if number > largest else largest

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1], max(acc_a[2], acc_b[2])


class Line(ProcessWindowFunction):
    """One line for each key and window."""

    def process(self, key, context, elements):
        window = context.window()
        for count, total, largest in elements:
            yield f"{key},{window.start},{window.end},{count},{total},{largest}"


class LineOfAll(ProcessWindowFunction):
    """The same, of a window that keeps its elements."""

    def process(self, key, context, elements):
        window = context.window()
        values = [value for _, _, value in elements]
        yield f"{key},{window.start},{window.end},{len(values)},{sum(values)},{max(values)}"


class RunningCount(KeyedProcessFunction):
    """One read, one update and one result an event."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value[1]},{count}"


class JoinByHand(KeyedCoProcessFunction):
    """What a PyFlink user writes in place of the interval join, which PyFlink lacks: two buffers and a timer."""

    def open(self, runtime_context):
        def buffer(name):
            return runtime_context.get_map_state(MapStateDescriptor(name, Types.LONG(), Types.PICKLED_BYTE_ARRAY()))

        self.left, self.right = buffer("left"), buffer("right")

    def process_element1(self, value, ctx):
        for other in self.meet(value, self.left, self.right, ctx):
            yield f"{value[1]},{value[0]},{value[2]},{other[0]},{other[2]}"

    def process_element2(self, value, ctx):
        for other in self.meet(value, self.right, self.left, ctx):
            yield f"{value[1]},{other[0]},{other[2]},{value[0]},{value[2]}"

    def meet(self, value, own, others, ctx):
        time = value[0]
        own.put(time, [*(own.get(time) or []), value])
        ctx.timer_service().register_event_time_timer(time + JOIN_MS)
        for at, elements in others.items():
            if abs(at - time) <= JOIN_MS:
                yield from elements

    def on_timer(self, timestamp, ctx):
        for buffer in (self.left, self.right):
            buffer.remove(timestamp - JOIN_MS)
        return ()


def parse(line):
    time, key, value = line.split(",")
    return int(time), int(key), int(value)


def key_of(event):
    return event[1]


def events_of(env, path):
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(OUT_OF_ORDER_MS))
    events = lines.map(parse, output_type=EVENT)
    return events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))


def joined(left, right, by_hand):
    left, right = left.key_by(key_of), right.key_by(key_of)
    if by_hand or not hasattr(left, "interval_join"):
        return left.connect(right).process(JoinByHand(), output_type=Types.STRING())
    from pyflink.datastream.functions import ProcessJoinFunction

    class Join(ProcessJoinFunction):
        def process_element(self, left, right, ctx):
            yield f"{left[1]},{left[0]},{left[2]},{right[0]},{right[2]}"

    bounds = Time.milliseconds(-JOIN_MS), Time.milliseconds(JOIN_MS)
    return left.interval_join(right).between(*bounds).process(Join(), Types.STRING())


def results_of(name, events):
    keyed = events.key_by(key_of)
    if name == "process":
        return keyed.process(RunningCount(), output_type=Types.STRING())
    if name == "reduce":
        pairs = events.map(lambda event: (event[1], 1), output_type=Types.TUPLE([Types.LONG(), Types.LONG()]))
        counts = pairs.key_by(lambda pair: pair[0]).reduce(lambda one, other: (one[0], one[1] + other[1]))
        return counts.map(lambda pair: f"{pair[0]},{pair[1]}", output_type=Types.STRING())
    windows = keyed.window(WINDOWS[name]())
    if name == "tumbling-reduce":
        sums = windows.reduce(lambda one, other: (max(one[0], other[0]), one[1], one[2] + other[2]))
        return sums.map(lambda event: f"{event[0]},{event[1]},{event[2]}", output_type=Types.STRING())
    if name == "tumbling-process":
        return windows.process(LineOfAll(), output_type=Types.STRING())
    return windows.aggregate(CountSumMax(), Line(), output_type=Types.STRING())


def main():
    name, source, target, mode = sys.argv[1:]
    configuration = Configuration()
    configuration.set_string("python.execution-mode", mode)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_parallelism(2)
    if name.startswith("join"):
        sides = events_of(env, f"{source}/left"), events_of(env, f"{source}/right")
        results = joined(*sides, by_hand=name == "join-by-hand")
    else:
        results = results_of(name, events_of(env, source))
    results.sink_to(FileSink.for_row_format(target, Encoder.simple_string_encoder()).build())
    result = env.execute(name)
    print(f"net runtime {result.get_net_runtime()} ms")


if __name__ == "__main__":
    main()
