"""WriteAheadSink: nothing is sent before its checkpoint, and nothing twice if the store keeps account."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs
from tests.connectors.exactly_once import ExactlyOnce, test_case

from millrace.common.files.file_systems import locate
from millrace.common.typeinfo import Types
from millrace.connectors import write_ahead
from millrace.connectors.sink_base import owner_of
from millrace.connectors.write_ahead import Batch, BatchSender, LogFolder, Marks, WriteAheadSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_locally
from millrace.testing.connectors.runtime import SinkRun
from millrace.testing.connectors.sinks import Driver, Point


@dataclass
class Store:
    records: list[Any] = field(default_factory=list)
    batches: list[str] = field(default_factory=list)
    breaks_after: int | None = None
    """fails once when it has so many more batches, before anybody can note it"""


STORES: dict[str, Store] = {}


class Sender(BatchSender[Any]):
    """A store that knows nothing of batches."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def send(self, values: Iterator[Any], batch: Batch) -> None:
        sent = list(values)
        assert len(sent) == batch.count
        self.store.records += sent
        self.store.batches.append(batch.name)
        if self.store.breaks_after is not None:
            self.store.breaks_after -= 1
            if self.store.breaks_after == 0:
                self.store.breaks_after = None
                raise ConnectionError("the store is gone")


class Remembering(Sender):
    remembers = True

    def is_sent(self, batch: Batch) -> bool:
        return batch.name in self.store.batches


class ToStore(WriteAheadSink[Any]):
    def __init__(self, store: str, log_directory: str | None, remembers: bool = False, **settings: Any) -> None:
        super().__init__(log_directory, **settings)
        self.store = store
        self.remembers = remembers

    def create_sender(self) -> BatchSender[Any]:
        store = STORES.setdefault(self.store, Store())
        return Remembering(store) if self.remembers else Sender(store)


def log_files(uri: str, ending: str = ".log") -> list[str]:
    place = locate(uri)
    found = place.file_system().get_file_info(fs.FileSelector(place.path, allow_not_found=True, recursive=True))
    return [info.base_name for info in found if info.base_name.endswith(ending)]


class Logged:
    """A store behind a log."""

    def __init__(self, uri: str | None, remembers: bool, inline_bytes: int) -> None:
        self.name = uuid.uuid4().hex
        self.uri = uri
        self.settings: dict[str, Any] = {"remembers": remembers, "inline_bytes": inline_bytes}

    def sink(self) -> ToStore:
        return ToStore(self.name, self.uri, **self.settings)

    def committed(self) -> list[int]:
        return STORES.setdefault(self.name, Store()).records

    def left_over(self) -> list[str]:
        return [] if self.uri is None else log_files(self.uri)

    def killed(self, writer: Any, flushed: bool) -> None: ...

    def close(self) -> None:
        STORES.pop(self.name, None)
        if self.uri is not None and self.uri.startswith("memory"):
            place = locate(self.uri)
            place.file_system().create_dir(place.path)
            place.file_system().delete_dir(place.path)


class WithMarks(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Logged:
        return Logged(str(directory), remembers=False, inline_bytes=60)


class WithMarksInMemory(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Logged:
        pytest.importorskip("fsspec")
        return Logged(f"memory://logs/{uuid.uuid4().hex}", remembers=False, inline_bytes=0)


class Remembered(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Logged:
        return Logged(str(directory), remembers=True, inline_bytes=60)


class RememberedInline(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Logged:
        return Logged(None, remembers=True, inline_bytes=0)


TestWithMarks = test_case(WithMarks)
TestWithMarksInMemory = test_case(WithMarksInMemory)
TestRemembered = test_case(Remembered)
TestRememberedInline = test_case(RememberedInline)


# -- batches ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers() | st.text()), max_size=4), st.sampled_from([0, 40, 10_000]))
def test_any_elements_go_through_in_order(epochs: list[list[Any]], inline_bytes: int) -> None:
    name = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as directory:
        patch.setattr(write_ahead, "BLOCK", 3)
        run = SinkRun(ToStore(name, directory, inline_bytes=inline_bytes))
        for elements in epochs:
            run.epoch(elements)
        assert STORES.pop(name, Store()).records == [element for elements in epochs for element in elements]
        batches = run.committed
        assert len(batches) == sum(bool(elements) for elements in epochs)
        assert all((batch.data is None) == (batch.size > inline_bytes) for batch in batches)
        assert not log_files(directory)


def test_a_log_file_that_changed_is_refused(tmp_path: Path) -> None:
    STORES["changed"] = Store()
    run = Driver(ToStore("changed", str(tmp_path), inline_bytes=0), list(range(100)))
    run.epoch(5)
    (batch,) = run.pending
    path = Path(batch.place)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(OSError, match=rf"has {batch.size - 1} bytes, but {batch.size} were written"):
        run.checkpoint()
    path.write_bytes(content[:-2] + b"xx")
    with pytest.raises(OSError, match="is corrupt: a block is not what was written"):
        run.commit()
    path.unlink()
    with pytest.raises(FileNotFoundError, match="is to be sent, but it is gone: 5 elements are lost"):
        run.commit()
    path.write_bytes(content)
    run.commit()
    assert STORES["changed"].records == [0, 1, 2, 3, 4]
    assert not path.exists()


def test_a_failed_epoch_leaves_no_file(tmp_path: Path) -> None:
    run = SinkRun(ToStore("failed", str(tmp_path), inline_bytes=0))
    for crash in ("write", "abort"):
        run.epoch(list(range(2500)), crash=crash)
        assert not log_files(str(tmp_path))


# -- what is promised -------------------------------------------------------------------------------------------------


def broken(name: str, log_directory: str | None, remembers: bool) -> list[Any]:
    """What a store has after it broke between a batch and its mark, and the job recovered."""
    STORES[name] = Store(breaks_after=2)
    run = Driver(ToStore(name, log_directory, remembers), list(range(100)))
    for _ in range(3):
        run.epoch(1)
    with pytest.raises(ConnectionError):
        run.checkpoint()
    run.recover()
    Driver(ToStore(name, log_directory, remembers), list(range(100)), checkpointed=run.checkpointed)
    return STORES[name].records


def test_without_a_memory_a_recovery_sends_all_again() -> None:
    assert broken("nothing", None, remembers=False) == [0, 1, 0, 1, 2, 0, 1, 2]


def test_with_marks_only_what_was_not_marked(tmp_path: Path) -> None:
    assert broken("marks", str(tmp_path), remembers=False) == [0, 1, 1, 2]


def test_in_one_transaction_nothing(tmp_path: Path) -> None:
    assert broken("transaction", str(tmp_path), remembers=True) == [0, 1, 2]
    assert not log_files(str(tmp_path), ".sent"), "no marks for a store that remembers"
    with pytest.raises(TypeError, match=r"Sender\.remembers is set, but it has no is_sent"):
        Sender(Store()).is_sent(None)  # type: ignore[arg-type]


def test_an_old_checkpoint_sends_nothing_again(tmp_path: Path) -> None:
    STORES["old"] = Store()
    sink = ToStore("old", str(tmp_path), inline_bytes=0)
    run = Driver(sink, list(range(100)))
    run.epoch(2)
    run.checkpoint()
    old = run.checkpointed
    run.epoch(2)
    run.checkpoint()
    again = Driver(sink, list(range(100)), checkpointed=old, job_id="another")
    again.epoch(4)
    again.checkpoint()
    # 2 and 3 are of the run that was given up after they were sent; epoch numbers that come again hold up nothing.
    assert STORES["old"].records == [0, 1, 2, 3, 2, 3, 4, 5]


def test_marks_are_forgotten_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    STORES["forgotten"] = Store()
    sink = ToStore("forgotten", str(tmp_path), inline_bytes=0, keep_marks_ms=60_000)
    run = Driver(sink, list(range(100)))
    run.epoch(2)
    run.checkpoint()
    now = time.time()
    for later, marks in ((59, 1), (61, 0)):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        Driver(sink, list(range(100)), checkpointed=run.checkpointed)
        assert len(log_files(str(tmp_path), ".sent")) == marks
    assert STORES["forgotten"].records == [0, 1]
    assert "it was sent so long ago that this is forgotten" in caplog.text


@pytest.mark.parametrize("subtasks", [1, 3])
def test_marks_do_not_grow_with_the_epochs(tmp_path: Path, subtasks: int) -> None:
    STORES["many"] = Store()
    sink = ToStore("many", str(tmp_path))
    run = Driver(sink, list(range(100)), parallelism=subtasks, route=lambda element, count: element % count)
    old = []
    for _ in range(8):
        run.epoch(3)
        run.epoch(3)
        run.checkpoint()
        old.append(run.checkpointed)
        assert len(log_files(str(tmp_path), ".sent")) <= 2 * subtasks + 1
    assert sorted(STORES["many"].records) == list(range(48))
    for checkpointed in old:  # another driver finds all of it marked
        Driver(sink, list(range(100)), parallelism=subtasks, checkpointed=checkpointed)
    assert sorted(STORES["many"].records) == list(range(48))
    marks = Marks(LogFolder(locate(str(tmp_path))), 60_000)
    (name,) = {file.partition(".")[0] for file in log_files(str(tmp_path), ".sent") if "below" in file}
    assert name.endswith("below-16")
    owner = owner_of("job", "")
    assert marks.has(f"{owner}-15-0-0") and not marks.has(f"{owner}-16-0-0")


def test_a_recovery_deletes_only_what_is_its_own(tmp_path: Path) -> None:
    STORES["own"] = Store()
    sink = ToStore("own", str(tmp_path), inline_bytes=0)
    runs = [
        Driver(sink.for_operator(uid), list(range(100)), job_id=job_id)
        for uid, job_id in (("a", "1"), ("b", "1"), ("a", "2"))
    ]
    for run in runs:
        run.epoch(2)
        run.epoch(2, fail=(Point.KILLED_AFTER_PREPARE, 0))
    assert len(log_files(str(tmp_path))) == 6
    for left, run in zip((5, 4, 3), runs):
        run.recover()
        assert len(log_files(str(tmp_path))) == left
    for run in runs:
        run.checkpoint()
    assert sorted(STORES["own"].records) == [0, 0, 0, 1, 1, 1]


def test_in_a_program(tmp_path: Path) -> None:
    STORES["program"] = Store()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection(list(range(50)), Types.INT())
    stream.sink_to(ToStore("program", str(tmp_path), inline_bytes=0))
    stream.sink_to(ToStore("program", str(tmp_path), inline_bytes=0))
    run_locally(env, epoch_records=6, workers=3, seed=3)
    assert sorted(STORES["program"].records) == sorted([*range(50)] * 2)
    assert not log_files(str(tmp_path))
