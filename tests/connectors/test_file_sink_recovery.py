"""FileSink in jobs that fail anywhere: every line once, nothing of others touched, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.exactly_once import ExactlyOnce, test_case

from millrace.common.files.file_systems import locate
from millrace.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from millrace.common.sink import Sink
from millrace.common.typeinfo import Types
from millrace.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.connectors.file_system.part_files import RowPart, part_store
from millrace.connectors.sink_base import owner_of
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.operators import specs
from millrace.testing import run_locally
from millrace.testing.connectors.runtime import Clock, ElementContext
from millrace.testing.connectors.sinks import Driver, Point

LINES = Encoder.simple_string_encoder()


class LinesFactory(BulkWriterFactory):
    def create(self, stream: Any) -> BulkWriter:
        return LinesWriter(stream)


class LinesWriter(BulkWriter):
    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def add_element(self, element: Any) -> None:
        self.stream.write(f"{element}\n".encode())

    def flush(self) -> None: ...

    def finish(self) -> None: ...


class LastDigit(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        return f"odd//{element % 2}" if element % 3 else ""


def rows(base: str, part_size: int = 20) -> Sink[Any]:
    policy = RollingPolicy.default_rolling_policy(part_size=part_size)
    return FileSink.for_row_format(base, LINES).with_bucket_assigner(LastDigit()).with_rolling_policy(policy).build()


def rows_on_checkpoint(base: str) -> Sink[Any]:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    return FileSink.for_row_format(base, LINES).with_bucket_assigner(LastDigit()).with_rolling_policy(policy).build()


def bulk(base: str) -> Sink[Any]:
    return FileSink.for_bulk_format(base, LinesFactory()).with_bucket_assigner(LastDigit()).build()


class Files:
    """A directory of files, by its path or URI."""

    def __init__(self, uri: str, make: Any) -> None:
        self.uri = uri
        self._make = make

    def sink(self) -> Sink[Any]:
        sink: Sink[Any] = self._make(self.uri)
        return sink

    def _paths(self, hidden: bool) -> list[str]:
        base = locate(self.uri)
        found = part_store(base.root).files(base.path)
        return [path for path in found if path.rpartition("/")[2].startswith(".") == hidden]

    def committed(self) -> list[int]:
        system = locate(self.uri).file_system()
        found: list[int] = []
        for path in self._paths(hidden=False):
            with system.open_input_file(path) as file:
                found += map(int, file.read().split())
        return found

    def left_over(self) -> list[str]:
        return self._paths(hidden=True)

    def killed(self, writer: Any, flushed: bool) -> None:
        for part in writer._parts.values():
            if flushed and isinstance(part, RowPart) and part._buffer:
                part._flush()

    def close(self) -> None:
        location = locate(self.uri)
        if location.root.startswith("memory"):
            location.file_system().delete_dir(location.path)


class LocalRows(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        return Files(str(directory), rows)

    def check(self) -> None:
        # Elements may wait in unfinished parts; the end shows whether any are lost.
        seen = self.place.committed()
        assert len(seen) == len(set(seen))
        assert set(seen) <= set(range(self.covered))


class LocalRowsOnCheckpoint(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        return Files(str(directory), rows_on_checkpoint)


class LocalBulk(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        return Files(str(directory), bulk)


class RowsInMemory(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        pytest.importorskip("fsspec")
        place = Files(f"memory://sinks/{uuid.uuid4().hex}/", rows)
        locate(place.uri).file_system().create_dir(locate(place.uri).path)
        return place


class DiskBehindFsspec(ExactlyOnce):
    """The local disk, as a file system that only fsspec knows."""

    @staticmethod
    def place_in(directory: Path) -> Files:
        fsspec = pytest.importorskip("fsspec")
        local = fsspec.get_filesystem_class("file")

        class Disk(local):  # type: ignore[misc,valid-type]
            protocol = "disk"

            @classmethod
            def _strip_protocol(cls, path: str) -> str:
                stripped: str = local._strip_protocol(path.removeprefix("disk://"))
                return stripped

        fsspec.register_implementation("disk", Disk, clobber=True)
        return Files(f"disk://{directory}/out", rows)


TestLocalRows = test_case(LocalRows)
TestLocalRowsOnCheckpoint = test_case(LocalRowsOnCheckpoint)
TestLocalBulk = test_case(LocalBulk)
TestRowsInMemory = test_case(RowsInMemory)
TestDiskBehindFsspec = test_case(DiskBehindFsspec)


# -- what belongs to whom ---------------------------------------------------------------------------------------------


def driver(sink: Sink[Any], uid: str = "the sink", **settings: Any) -> Driver:
    return Driver(sink.for_operator(uid), list(range(100)), clock=Clock(), **settings)


def test_a_recovery_deletes_only_what_is_its_own(tmp_path: Path) -> None:
    sink = bulk(str(tmp_path))
    other_sink, other_job, mine = driver(sink, "other"), driver(sink, job_id="other"), driver(sink)
    for run in (other_sink, other_job, mine):
        run.epoch(5)
        run.epoch(5, fail=(Point.KILLED_AFTER_PREPARE, 0))
    (tmp_path / ".user.inprogress.file").write_text("x")
    place = Files(str(tmp_path), bulk)
    before = set(place.left_over())
    mine.recover()
    lost = before - set(place.left_over())
    assert lost and all(f".inprogress.{owner_of('job', 'the sink')}-" in path for path in lost)
    other_sink.recover()
    other_job.recover()
    for run in (other_sink, other_job, mine):
        run.epoch(0, end=True)
        run.checkpoint()
    assert sorted(place.committed()) == sorted([*range(5)] * 3)
    assert [os.path.basename(path) for path in place.left_over()] == [".user.inprogress.file"]


def test_two_sinks_of_a_program_may_share_a_folder(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection(list(range(40)), Types.INT())
    for uid in ("one", "two"):
        stream.sink_to(rows(str(tmp_path), part_size=1)).uid(uid)
    owners = {info.spec.committer()._uid for info in env.job_graph().operators if isinstance(info.spec, specs.Sink)}
    assert owners == {"one", "two"}
    run_locally(env, epoch_records=7, workers=3, seed=1)
    place = Files(str(tmp_path), rows)
    assert sorted(place.committed()) == sorted([*range(40)] * 2)
    assert not place.left_over()


def test_files_that_were_taken_away_do_not_stop_a_recovery(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = driver(rows_on_checkpoint(str(tmp_path)))
    run.epoch(3)
    run.checkpoint()
    place = Files(str(tmp_path), rows)
    taken = place.committed()
    for path in place._paths(hidden=False):
        os.unlink(path)
    again = driver(rows_on_checkpoint(str(tmp_path)), checkpointed=run.checkpointed)
    assert "was finished before the recovery; it is gone" in caplog.text
    again.epoch(2)
    again.checkpoint()
    assert sorted(taken + place.committed()) == [0, 1, 2, 3, 4]


def test_a_move_that_broke_off_is_repeated(tmp_path: Path) -> None:
    """File systems that can't rename copy, then delete."""
    pytest.importorskip("fsspec")
    uri = f"memory://{tmp_path}"
    run = driver(bulk(uri))
    run.epoch(3)
    system = locate(uri).file_system()
    for pending in run.pending:
        system.copy_file(pending.in_progress, pending.target)
    with system.open_output_stream(run.pending[0].target) as file:
        file.write(b"broken off")
    run.checkpoint()
    place = Files(uri, bulk)
    assert sorted(place.committed()) == [0, 1, 2]
    assert not place.left_over()
    place.close()


@pytest.mark.parametrize("job_id", ["job", "another job"])
@pytest.mark.parametrize("made", [rows, rows_on_checkpoint, bulk])
def test_going_on_from_an_old_checkpoint_overwrites_nothing(tmp_path: Path, job_id: str, made: Any) -> None:
    run = driver(made(str(tmp_path)))
    run.epoch(3)
    run.checkpoint()
    old = run.checkpointed
    run.epoch(3, end=True)
    run.checkpoint()
    again = driver(made(str(tmp_path)), checkpointed=old, job_id=job_id)
    again.epoch(4, end=True)
    again.checkpoint()
    # Nobody takes back what the later checkpoint committed, so 3, 4 and 5 are there twice; but nothing is gone.
    assert sorted(Files(str(tmp_path), made).committed()) == [0, 1, 2, 3, 3, 4, 4, 5, 5, 6]


def test_a_program_whose_sink_has_another_format_by_now(tmp_path: Path) -> None:
    run = driver(rows(str(tmp_path)))
    run.epoch(5)
    run.checkpoint()
    run.epoch(5)
    place = Files(str(tmp_path), rows)
    assert not place.committed()
    again = driver(bulk(str(tmp_path)), checkpointed=run.checkpointed)
    again.epoch(1)
    again.checkpoint()
    again.close()
    assert sorted(place.committed()) == [0, 1, 2, 3, 4, 5]
    assert not place.left_over()


@pytest.mark.parametrize("made", [rows, rows_on_checkpoint, bulk])
def test_tasks_that_do_not_know_that_their_epoch_has_failed(tmp_path: Path, made: Any) -> None:
    """They go on writing while the next attempt runs, and after it has committed."""
    sink = made(str(tmp_path), 50) if made is rows else made(str(tmp_path))
    run = driver(sink)
    run.epoch(4)
    run.checkpoint()
    Driver.killed.clear()
    run.epoch(4, fail=(Point.KILLED_WRITING, 0))
    (late,) = Driver.killed
    run.recover()
    for element in range(20, 40):
        late.write(element, ElementContext())
    late.snapshot_state(run.epochs) if made is rows else late.prepare_commit()
    run.epoch(4)
    for element in range(40, 60):
        late.write(element, ElementContext())
    run.epoch(4, end=True)
    run.checkpoint()
    late.flush(True)
    with contextlib.suppress(FileNotFoundError):  # its file was deleted with the others that nobody needs
        late.prepare_commit()
    run.close()
    place = Files(str(tmp_path), made)
    assert sorted(place.committed()) == list(range(12))
    assert not place.left_over()


def test_two_jobs_that_begin_with_the_same_savepoint(tmp_path: Path) -> None:
    """Each has all of its elements, those of the unfinished parts too."""
    first = driver(rows(str(tmp_path), 50), job_id="first")
    first.epoch(6)
    first.checkpoint()
    second = driver(rows(str(tmp_path), 50), job_id="second", checkpointed=first.checkpointed, other_goes_on=True)
    for _ in range(3):
        first.epoch(3)
        second.epoch(2)
    first.epoch(1, end=True)
    second.epoch(1, end=True)
    for run in (second, first):
        run.checkpoint()
        run.close()
    assert sorted(Files(str(tmp_path), rows).committed()) == sorted([*range(16), *range(13)])
