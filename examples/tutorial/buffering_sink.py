"""Operator state: a sink that writes ten elements at a time, and loses none when its worker changes or fails."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fixture import Click, clicks

from millrace.common import Types
from millrace.datastream import CheckpointedFunction, SinkFunction, StreamExecutionEnvironment
from millrace.datastream.functions import FunctionInitializationContext, FunctionSnapshotContext
from millrace.datastream.state import ListStateDescriptor

THRESHOLD = 10


class BufferingSink(SinkFunction[Click], CheckpointedFunction):
    """Appends a line to a file for every batch: the users of its clicks."""

    def __init__(self, path: str, threshold: int) -> None:
        self.path = path
        self.threshold = threshold
        self.buffer: list[Click] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("buffered-elements", Types.PICKLED_BYTE_ARRAY())
        self.checkpointed_state = context.get_operator_state_store().get_list_state(descriptor)
        if context.is_restored():
            self.buffer.extend(self.checkpointed_state.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.checkpointed_state.clear()
        for click in self.buffer:
            self.checkpointed_state.add(click)

    def invoke(self, value: Click, context: SinkFunction.Context) -> None:
        self.buffer.append(value)
        if len(self.buffer) == self.threshold:
            self.write()

    def finish(self) -> None:
        if self.buffer:
            self.write()

    def write(self) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{len(self.buffer)}: {' '.join(click.user for click in self.buffer)}\n")
        self.buffer.clear()


def build(env: StreamExecutionEnvironment, path: str) -> None:
    clicks(env).add_sink(BufferingSink(path, THRESHOLD)).set_parallelism(1)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "batches.txt")
        env = StreamExecutionEnvironment.get_execution_environment()
        build(env, str(path))
        env.execute("buffering sink")
        print(path.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
