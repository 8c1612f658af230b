"""Which checkpoint a function goes on from: the one that it has seen itself when its state was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting

from millrace.common import Types
from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.datastream import DataStream, MapFunction, SourceFunction, StreamExecutionEnvironment
from millrace.datastream.functions import CheckpointedFunction
from millrace.datastream.state import ListStateDescriptor

SEEN = ListStateDescriptor("seen", Types.LONG())


class Seen(CheckpointedFunction):
    """Stores the numbers of its checkpoints, and knows which one it was restored from, by its state and by itself."""

    told: tuple[int | None, int | None] = (None, None)

    def initialize_state(self, context: Any) -> None:
        self.seen = context.get_operator_state_store().get_list_state(SEEN)
        self.told = max(self.seen, default=None), context.get_restored_checkpoint_id()

    def snapshot_state(self, context: Any) -> None:
        self.seen.update([context.get_checkpoint_id()])


class Mapped(Seen, MapFunction):
    def map(self, value: int) -> Any:
        return value, self.told


def mapped(uid: str = "mapped", parallelism: int = 2) -> Any:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        values = env.from_sequence(0, 59).uid("values").set_parallelism(1)
        return values.map(Mapped()).set_parallelism(parallelism).uid(uid)

    return collecting(build, 2)


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("parallelism", [2, 3])
def test_a_function_knows_its_checkpoint(source: str, parallelism: int, tmp_path: Path) -> None:
    first = SavedJob(mapped(), tmp_path / "first", 1)
    for _ in range(3):
        first.epoch()
    checkpoint = first.epoch(tmp_path / "saved").checkpoint
    assert {told for value, told in first.collected if value < 5} == {(None, None)}
    assert all(by_state == by_context for _, (by_state, by_context) in first.collected)
    second = SavedJob(mapped(parallelism=parallelism), tmp_path / "second")
    second.restore(str(tmp_path / "saved") if source == "savepoint" else str(checkpoint))
    second.epoch()
    # Where it lives elsewhere by now it goes on from the epoch in which its state was taken over.
    found = {told for _, told in second.collected}
    assert found and {by_context for _, by_context in found} <= {4, 5}
    assert all(by_state in (None, by_context) for by_state, by_context in found)
    assert parallelism > 2 or all(by_state is not None for by_state, _ in found)


def test_it_is_the_savepoints_where_the_state_is_taken_over(tmp_path: Path) -> None:
    class Told(Mapped):
        def initialize_state(self, context: Any) -> None:
            super().initialize_state(context)
            (tmp_path / f"told-{self.told[1]}").touch()

    def build(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_sequence(0, 59).uid("values").set_parallelism(1).map(Told()).uid("mapped")

    first = SavedJob(mapped(), tmp_path / "first")
    first.epoch()
    first.epoch(tmp_path / "saved")
    SavedJob(collecting(build, 2), tmp_path / "second").restore(str(tmp_path / "saved"))
    assert [path.name for path in tmp_path.glob("told-*")] == ["told-2"]


def test_a_new_function_begins(tmp_path: Path) -> None:
    first = SavedJob(mapped("other"), tmp_path / "first")
    first.epoch(tmp_path / "saved")
    second = SavedJob(mapped("mapped"), tmp_path / "second", workers=1)
    second.restore(str(tmp_path / "saved"), allow_non_restored=True)
    second.epoch()
    assert {told for _, told in second.collected} == {(None, None)}


def test_a_driver_that_goes_on(tmp_path: Path) -> None:
    first = SavedJob(mapped(), tmp_path, 1)
    first.epoch()
    first.epoch()
    second = SavedJob(first.job, tmp_path, 1)
    second.go_on()
    second.epoch()
    assert {told for _, told in second.collected} == {(2, 2)}


class Counting(Seen, SourceFunction[Any]):
    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: Any) -> None:
        for _ in range(200):
            with ctx.get_checkpoint_lock():
                ctx.collect(self.told)

    def cancel(self) -> None:
        self.running = False


def test_a_source_function_knows_it_too(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return env.add_source(Counting()).uid("counting")

    first = SavedJob(collecting(build, 1), tmp_path / "first")
    for _ in range(2):
        first.epoch()
    first.epoch(tmp_path / "saved")
    second = SavedJob(collecting(build, 1), tmp_path / "second")
    second.restore(str(tmp_path / "saved"))
    for _ in range(30):  # at first comes what the one before has made ahead
        second.epoch()
    assert any(by_context is not None for _, by_context in second.collected)
    assert all(by_state == by_context for by_state, by_context in second.collected)


class Noting(SinkWriter[Any]):
    def __init__(self, note: Path) -> None:
        note.touch()

    def write(self, element: Any, context: SinkWriterContext) -> None:
        """Nothing is written."""


class Notes(Sink[Any]):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return Noting(self.folder / f"writer-{context.get_restored_checkpoint_id()}")


def test_a_writer_knows_it_too(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        values = env.from_sequence(0, 29).uid("values").set_parallelism(1)
        values.sink_to(Notes(tmp_path)).uid("notes")
        return values.map(lambda value: value).uid("values again")

    first = SavedJob(collecting(build, 1), tmp_path / "first")
    first.epoch()
    assert [path.name for path in tmp_path.glob("writer-*")] == ["writer-None"]
    first.epoch(tmp_path / "saved")
    second = SavedJob(collecting(build, 1), tmp_path / "second")
    second.restore(str(tmp_path / "saved"))
    second.epoch()
    assert {path.name for path in tmp_path.glob("writer-*")} & {"writer-2", "writer-3"}
