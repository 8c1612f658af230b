"""Two runs of one task at the same time, of which one counts: a speculative copy, a task on an executor that was taken
for lost, a process that was stopped and goes on. Whatever the other one does and when, every record is there once."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem
from tests.connectors.test_file_sink_recovery import LINES, LinesFactory

from millrace.common.sink import Committer, Sink, SinkWriter
from millrace.connectors.file_system import BucketAssigner, FileSink, RollingPolicy, file_writer
from millrace.connectors.file_system.part_files import LocalPartStore, PartState, RowPart
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext

RECORDS = 1_000


def rows(base: str, part_size: int = 5_000) -> Sink[Any]:
    policy = RollingPolicy.default_rolling_policy(part_size=part_size)
    builder = FileSink.for_row_format(base, LINES).with_rolling_policy(policy)
    return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


def small_rows(base: str) -> Sink[Any]:
    return rows(base, 300)


def bulk(base: str) -> Sink[Any]:
    builder = FileSink.for_bulk_format(base, LinesFactory())
    return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


class Runs:
    """A sink with parallelism 1, whose task now and then runs twice."""

    def __init__(self, sink: Sink[Any], seed: int) -> None:
        self.random = random.Random(seed)
        self.sink = sink
        self.clock = Clock()
        self.epoch = 0
        self.states: list[Any] = []
        self.pending: list[Any] = []
        self.ghosts: list[SinkWriter[Any]] = []
        committer = sink.create_committer()
        assert committer is not None
        self.committer: Committer[Any] = committer
        self.live: tuple[SinkWriter[Any], WriterContext] | None = None

    def run(self) -> None:
        at = 0
        while at < RECORDS:
            count = self.random.randint(1, 60)
            self._epoch(range(at, min(at + count, RECORDS)), at + count >= RECORDS)
            at += count
        self._commit()
        self._haunt(50)

    def _epoch(self, records: range, end: bool) -> None:
        self.epoch += 1
        first, second = self.live or self._new(), self._new() if self.random.random() < 0.4 else None
        if second is not None and self.random.random() < 0.5:
            first, second = second, first
        first[1].begin_epoch(self.epoch)
        for record in records:
            first[0].write(record, ElementContext())
            if second is not None and self.random.random() < 0.7:
                second[0].write(f"{record} again", ElementContext())  # torn lines would be seen, too
            self._haunt(1)
        first[0].flush(end)
        if second is not None:
            self.ghosts.append(second[0])
        self._haunt(2)
        self.pending += first[0].prepare_commit()
        self._haunt(2)
        self.states = first[0].snapshot_state(self.epoch)
        self.live = first
        if self.random.random() < 0.3:
            self._commit()
        if self.random.random() < 0.1:  # the task goes on elsewhere, and this process does not know it
            self.ghosts.append(first[0])
            self.live = None

    def _new(self) -> tuple[SinkWriter[Any], WriterContext]:
        context = WriterContext(0, 1, self.epoch, self.clock)
        if self.states:
            return self.sink.restore_writer(context, self.states), context
        return self.sink.create_writer(context), context

    def _haunt(self, most: int) -> None:
        """Those of whom nobody hears go on a little."""
        for _ in range(self.random.randint(0, most)):
            if not self.ghosts or self.random.random() < 0.5:
                continue
            with contextlib.suppress(OSError):  # nobody hears of that either
                self._go_on(self.random.choice(self.ghosts), self.random.random())

    def _go_on(self, ghost: SinkWriter[Any], dice: float) -> None:
        if dice < 0.7:
            ghost.write("ghost" * self.random.randint(1, 40), ElementContext())
        elif dice < 0.9:
            ghost.flush(False)
            ghost.prepare_commit()
            ghost.snapshot_state(self.epoch)
        else:
            self.ghosts.remove(ghost)
            ghost.close()

    def _commit(self) -> None:
        self.committer.commit(self.pending)
        self.pending = []
        if self.random.random() < 0.5:
            self.committer.sweep("job", self.epoch, (), self.states)

    def close(self) -> None:
        for ghost in self.ghosts:
            ghost.close()
        self.committer.recover("job", (), ())


def lines_in(directory: Path) -> Iterator[bytes]:
    for path in directory.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            yield from path.read_bytes().splitlines(keepends=True)


def play(make: Callable[[str], Sink[Any]], directory: Path, seed: int) -> list[bytes]:
    """The lines that everybody can see in the end, in order."""
    runs = Runs(make(str(directory)), seed)
    runs.run()
    lines = sorted(lines_in(directory))
    runs.close()
    assert not [path for path in directory.rglob(".*") if path.is_file()], "nothing hidden is left"
    return lines


EXPECTED = sorted(f"{number}\n".encode() for number in range(RECORDS))


@pytest.mark.parametrize("limit", [0, 200, 4 << 20])
@pytest.mark.parametrize("make", [rows, small_rows, bulk])
def test_every_record_is_there_once(
    make: Callable[[str], Sink[Any]], limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "COPY_LIMIT", limit)
    for seed in range(8):
        assert play(make, tmp_path / str(seed), seed) == EXPECTED, f"seed {seed}"


class InPlace(RowPart):
    """How parts were gone on with once: in the same file, after what counts for nothing was cut off."""

    def __init__(self, state: PartState, encode: Any, own: str | None = None) -> None:
        super().__init__(state, encode)
        self._written = state.size

    def _open(self) -> Any:
        if not self._written:
            return super()._open()
        file = open(self._state.in_progress, "r+b", 0)  # noqa: SIM115
        file.truncate(self._written)
        file.seek(self._written)
        return file


def test_going_on_in_the_same_file_would_lose_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.connectors.file_system.file_sink.RowPart", InPlace)
    wrong = 0
    for seed in range(8):
        try:
            runs = Runs(rows(str(tmp_path / str(seed))), seed)
            runs.run()
            wrong += sorted(lines_in(tmp_path / str(seed))) != EXPECTED
        except OSError:
            wrong += 1
    assert wrong > 4


def test_copies_have_the_first_bytes_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalPartStore(LocalFileSystem())
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)) * 2_000)
    for size in (0, 1, 300_000, 512_000):
        target = tmp_path / f"copy of {size}"
        with store.copy(str(source), size, str(target)) as copy:
            copy.write(b"more")
        assert target.read_bytes() == source.read_bytes()[:size] + b"more"
    monkeypatch.delattr("os.copy_file_range")
    with store.copy(str(source), 300_000, str(tmp_path / "by hand")) as copy:
        copy.write(b"more")
    assert (tmp_path / "by hand").read_bytes() == source.read_bytes()[:300_000] + b"more"
    with pytest.raises(OSError, match="the file ends after 512000 of 512001 bytes"):
        store.copy(str(source), 512_001, str(tmp_path / "short"))
    assert not (tmp_path / "short").exists()
    with pytest.raises(FileExistsError):
        store.copy(str(source), 1, str(tmp_path / "by hand"))
