"""The document of a running job tells what the job does, at any moment, and stays when it has ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.played import PlayedJob, result_of, wait_for

from millrace.cluster import publishing
from millrace.cluster.control import JobOverError
from millrace.cluster.documents import JobDocument
from millrace.cluster.durable_files import decode, encode
from millrace.cluster.publishing import LocalControl, published_jobs
from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.spark.jobs.requests import CheckpointError

COUNT = 40


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        from millrace.datastream.state import ValueStateDescriptor

        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_int_counter("seen")

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.add(1)
        yield (value % 3, count)


def program(numbers: int = COUNT) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = env.from_sequence(1, numbers).name("numbers")
    kept = source.filter(lambda n: n % 2 == 0).name("even")
    counted = kept.key_by(lambda n: n % 3).process(Counting(), Types.TUPLE([Types.LONG(), Types.LONG()]))
    counted.name("count").uid("count").print()
    return env


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(publishing, "MOST_SECONDS", 0.0)


def test_a_running_job_and_its_end(tmp_path: Path) -> None:
    published_jobs()
    job = PlayedJob(program(), tmp_path)
    job.start()
    job.epochs(2)
    steering = next(each for each in published_jobs() if each.id == job.job.job_id)
    running = steering.document()
    assert decode(encode(running), JobDocument) == running
    assert running.at_work == "epoch 7 runs for 12 s"
    assert (running.name, running.state, running.ended, running.process) == ("played", "RUNNING", -1, os.getpid())
    assert running.timestamps["RUNNING"] >= running.timestamps["CREATED"] == running.started > 0
    assert running.timestamps["FINISHED"] == 0
    first, second = running.vertices
    assert [first.name, second.name] == ["Source: numbers -> even", "count -> Sink: Print to Std. Out"]
    assert (first.inputs, [i.vertex for i in second.inputs]) == ((), [first.id])
    assert second.inputs[0].ship_strategy == "HASH"
    assert all(len(vertex.id) == len(vertex.slot_sharing_group) == 32 for vertex in running.vertices)
    assert [sum(s.records_in for s in v.subtasks) for v in running.vertices] == [0, 20]
    assert [sum(s.records_out for s in v.subtasks) for v in running.vertices] == [20, 0]
    assert all(s.state_bytes > 0 for s in second.subtasks)
    assert {s.state for v in running.vertices for s in v.subtasks} <= {"RUNNING", "FINISHED"}
    counted = {m.name: m.value for m in second.subtasks[0].metrics}
    assert counted["count.numRecordsIn"] == second.subtasks[0].records_in
    assert [(a.name, a.type, a.value) for a in running.accumulators] == [("seen", "IntCounter", "20")]
    assert running.epochs[-1].number == 2
    assert not running.exceptions

    assert job.to_end() is None
    over = next(each for each in published_jobs() if each.id == job.job.job_id).document()
    assert (over.state, over.ended >= over.started) == ("FINISHED", True)
    assert {s.state for v in over.vertices for s in v.subtasks} == {"FINISHED"}
    assert sum(s.records_in for s in over.vertices[1].subtasks) == COUNT // 2
    with pytest.raises(JobOverError, match=r"'played' .* is FINISHED"):
        steering.cancel()
    with pytest.raises(JobOverError):
        result_of(steering.savepoint(str(tmp_path), False))


def test_ids_of_vertices_are_the_same_for_the_same_program() -> None:
    first, second = (program().job_graph().vertices for _ in range(2))
    assert [vertex.id for vertex in first] == [vertex.id for vertex in second]
    assert len({vertex.id for vertex in first}) == 2


def test_a_chain_keeps_its_id_when_something_is_added_at_its_end() -> None:
    def ids(more: bool) -> list[str]:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_sequence(1, 2).uid("numbers").map(lambda n: n).uid("same")
        (stream.map(lambda n: n + 1).uid("more") if more else stream).print()
        return [vertex.id for vertex in env.job_graph().vertices]

    assert ids(False) == ids(True)


def test_checkpoints_on_demand(tmp_path: Path) -> None:
    job = PlayedJob(program(), tmp_path, records=2)
    job.start()
    steering = LocalControl(job.client)
    first_id = job.answer(steering.checkpoint(full=False))
    job.epochs(1)
    assert not list((tmp_path / "checkpoints").rglob("*.full"))
    newest_id = job.answer(steering.checkpoint(full=True))
    known = steering.document().checkpoints
    assert (known.total, known.completed, known.failed, known.in_progress) == (2, 2, 0, 0)
    newest, first = known.history
    assert (newest.id, first.id, newest.status) == (newest_id, first_id, "COMPLETED")
    assert first.discarded
    assert newest.path is not None
    assert Path(newest.path, "_metadata").exists()
    # What each subtask has written is all that was written, and the whole state is what the checkpoint consists of.
    assert [task.vertex for task in newest.tasks] == [vertex.id for vertex in steering.document().vertices]
    assert sum(task.size for task in newest.tasks) == newest.size > newest.full_size > 0
    assert newest.tasks[1].full_size == sum(s.state_bytes for s in steering.document().vertices[1].subtasks)
    assert all(task.acknowledged == task.subtasks == len(task.sizes) == 2 for task in newest.tasks)
    assert list((tmp_path / "checkpoints").rglob("*.full"))
    assert job.to_end() is None


def test_a_savepoint_is_in_the_history_once(tmp_path: Path) -> None:
    job = PlayedJob(program(), tmp_path, records=2)
    job.start()
    steering = LocalControl(job.client)
    path = job.answer(steering.savepoint(None, native=False))
    (entry,) = steering.document().checkpoints.history
    assert (entry.savepoint, entry.path, entry.status) == (True, path, "COMPLETED")
    stored = sum(file.stat().st_size for file in Path(path.removeprefix("file://")).rglob("*.parquet"))
    assert entry.full_size >= stored > 0
    stopped = steering.stop(None, drain=False, native=False)
    assert job.to_end() is None
    assert result_of(stopped) != path


def test_who_has_no_checkpoints_is_told_so(tmp_path: Path) -> None:
    job = PlayedJob(program(), tmp_path, records=2, checkpoints=False)
    job.start()
    steering = LocalControl(job.client)
    with pytest.raises(ValueError, match=r"'played' runs without checkpoints: set execution.checkpointing.interval"):
        result_of(steering.checkpoint(full=False))
    assert steering.document().checkpoints.config.interval == 9223372036854775807
    steering.cancel()
    wait_for(lambda: steering.document().state == "CANCELED")


def test_a_checkpoint_that_waits_when_the_job_ends_fails(tmp_path: Path) -> None:
    job = PlayedJob(program(), tmp_path, records=2)
    job.start()
    job.epochs(1)
    steering = LocalControl(job.client)
    asked = steering.checkpoint(full=False)
    steering.cancel()
    with pytest.raises((CheckpointError, JobOverError)):
        result_of(asked)


class Unlucky(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        if value > 10:
            raise LookupError(f"no {value}")
        yield value


def test_why_a_job_failed_and_restarted(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_sequence(1, 40).key_by(lambda n: n).process(Unlucky(), Types.LONG()).name("unlucky").print()
    job = PlayedJob(env, tmp_path, records=20, restarts=2)
    steering = LocalControl(job.client)
    job.start()
    assert job.to_end() is not None
    document = steering.document()
    assert (document.state, len(document.exceptions)) == ("FAILED", 3)
    newest, *_, oldest = document.exceptions
    assert newest.name == "LookupError"
    assert newest.root
    assert "operator 'unlucky'" in newest.text
    assert "test_job_documents.py" in newest.text
    assert "Traceback" in newest.stacktrace
    assert newest.task is not None
    assert newest.task.startswith("unlucky -> Sink: Print to Std. Out (")
    assert newest.task.endswith(" - execution #2")
    assert oldest.task is not None
    assert oldest.task.endswith(" - execution #0")
    assert [each.root for each in newest.concurrent] == [False]  # the other subtask has failed, too
    assert {s.state for s in document.vertices[1].subtasks} == {"FAILED"}
    assert {s.state for s in document.vertices[0].subtasks} == {"CANCELED"}
    assert document.restart_strategy == "Cluster level default restart strategy"
