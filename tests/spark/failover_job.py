"""Batch jobs with a task that fails, as a command: its own session may run a task several times.

    python -m tests.spark.failover_job [[DIRECTORY, STRATEGY, FAILURES], ...]

In DIRECTORY a job leaves ``marks``, a line for each run of a subtask, and ``out``, what its file sink wrote. The last
lines that it prints are JSON, one for each job: what was collected, or the error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from millrace.common import Configuration, Encoder, Types
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSink
from millrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext


def mark(directory: str, text: str) -> int:
    """Note a run; how many of the kind there are now."""
    path = os.path.join(directory, "marks")
    with open(path, "a") as file:
        file.write(text + "\n")
    with open(path) as file:
        return file.read().splitlines().count(text)


class Reads(MapFunction):
    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        mark(self.directory, f"read {runtime_context.get_index_of_this_subtask()}")

    def map(self, value: int) -> int:
        return value


class Fails(KeyedProcessFunction):
    """Its subtask with key 0 fails after it has handed some elements on."""

    def __init__(self, directory: str, failures: int) -> None:
        self.directory = directory
        self.failures = failures
        self.seen = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.runs = mark(self.directory, f"process {self.subtask}")

    def process_element(self, value: int, ctx: Any) -> Iterable[int]:
        self.seen += 1
        if value % 10 == 0 and self.seen > 20 and self.runs <= self.failures:
            raise ValueError(f"not in run {self.runs}")
        yield value


def main(directory: str, strategy: str, failures: int) -> None:
    settings = {
        "millrace.master": "local[2,4]",
        "jobmanager.execution.failover-strategy": strategy,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "2",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    read = env.from_sequence(0, 999).map(Reads(directory), Types.LONG())
    stream = read.key_by(lambda value: value % 10).process(Fails(directory, failures), Types.LONG())
    out = FileSink.for_row_format(os.path.join(directory, "out"), Encoder.simple_string_encoder()).build()
    stream.map(str, Types.STRING()).sink_to(out)
    try:
        print(json.dumps(sorted(stream.execute_and_collect())))
    except Exception as error:
        print(json.dumps(str(error)))


if __name__ == "__main__":
    for job in json.loads(sys.argv[1]):
        main(*job)
