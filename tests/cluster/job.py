"""The program that runs on a cluster while processes are killed: numbered records, counted by key, into three kinds of
sinks: rows in files, a two-phase sink that keeps accounts, and a table of CSV files.

    millrace run -p 6 --master spark://... job.py '{"out": DIRECTORY, "splits": 3, "records": 400, "per_epoch": 5}'
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from tests.crash.numbered import Numbered, NumberedSource

from millrace.common import Row, Types, WatermarkStrategy
from millrace.common.serialization import Encoder
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSink, RollingPolicy
from millrace.datastream.state import ValueStateDescriptor
from millrace.table import StreamTableEnvironment
from millrace.testing import LedgerSink

KEYS = 20


class Counting(KeyedProcessFunction):
    """(split, number, how often the key came so far)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Numbered, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value.split, value.number, count


def build(env: StreamExecutionEnvironment, given: dict[str, Any]) -> None:
    source = NumberedSource(given["splits"], given["records"], given["per_epoch"])
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records").uid("records")
    row = Types.ROW_NAMED(["split", "number", "times"], [Types.LONG(), Types.LONG(), Types.LONG()])
    counted = records.key_by(lambda record: (record.split, record.number % KEYS)).process(Counting()).uid("counted")
    files = FileSink.for_row_format(os.path.join(given["out"], "rows"), Encoder.simple_string_encoder())
    files.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=2_000, rollover_interval=60_000))
    counted.map(lambda found: "{},{},{}".format(*found), Types.STRING()).sink_to(files.build()).uid("rows")
    counted.sink_to(LedgerSink(os.path.join(given["out"], "ledger"))).uid("ledger")
    tables = StreamTableEnvironment.create(env)
    table = os.path.join(given["out"], "table")
    tables.execute_sql(
        "CREATE TABLE files (`split` BIGINT, `number` BIGINT, `times` BIGINT) WITH "
        f"('connector' = 'filesystem', 'path' = '{table}', 'format' = 'csv')"
    )
    statements = tables.create_statement_set()
    rows = counted.map(lambda found: Row(*found), row)
    statements.add_insert("files", tables.from_data_stream(rows))
    statements.attach_as_datastream()


def main() -> None:
    given = json.loads(sys.argv[1])
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, given)
    client = env.execute_async("numbers on a cluster")
    print("running", flush=True)
    client.get_job_execution_result().result()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
