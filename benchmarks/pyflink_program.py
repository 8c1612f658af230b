"""The program of ``benchmarks.against_pyflink``: plain PyFlink, run unchanged by both.

python pyflink_program.py DIRECTORY process|thread
"""

import sys

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.state import ValueStateDescriptor


class CountAndSum(KeyedProcessFunction):
    """Running count and sum per key: one read, one update and one result an event."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + value[1]
        self.count.update(count)
        yield value[0], count


def parse(line):
    key, value = line.split(",")
    return int(key), int(value)


def main():
    configuration = Configuration()
    configuration.set_string("python.execution-mode", sys.argv[2])
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_parallelism(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[1]).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    events = lines.map(parse, output_type=Types.TUPLE([Types.LONG(), Types.LONG()]))
    totals = events.key_by(lambda event: event[0]).process(
        CountAndSum(), output_type=Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    totals.filter(lambda total: False).print()
    result = env.execute("count and sum")
    print(f"net runtime {result.get_net_runtime()} ms")


if __name__ == "__main__":
    main()
