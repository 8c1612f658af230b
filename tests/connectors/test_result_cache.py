"""The files behind ``DataStream.cache``: written by epochs, read by epochs, deleted when nobody has them."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.sink import SinkWriterContext, WriterInitContext
from millrace.common.source import InputStatus, ReaderOutput, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.result_cache import CachePart, CacheSink, CacheSource, ResultCache


class Init(WriterInitContext):
    def __init__(self, subtask: int, subtasks: int) -> None:
        self.subtask, self.subtasks = subtask, subtasks

    def get_index_of_subtask(self) -> int:
        return self.subtask

    def get_number_of_parallel_subtasks(self) -> int:
        return self.subtasks

    def get_job_id(self) -> str:
        return "job"

    def get_checkpoint_id(self) -> int:
        return 1

    def current_processing_time(self) -> int:
        return 0


class At(SinkWriterContext):
    def __init__(self, timestamp: int | None) -> None:
        self._timestamp = timestamp

    def timestamp(self) -> int | None:
        return self._timestamp

    def current_watermark(self) -> int:
        return 0


class Reading(SourceReaderContext):
    def get_index_of_subtask(self) -> int:
        return 0

    def current_parallelism(self) -> int:
        return 1

    def current_processing_time(self) -> int:
        return 0


class Collected(ReaderOutput[Any]):
    def __init__(self) -> None:
        self.elements: list[tuple[Any, int | None]] = []

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self.elements.append((record, timestamp))

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self.elements += zip(records, timestamps or [None] * len(records))

    def emit_watermark(self, timestamp: int) -> None:
        raise AssertionError("a cache has no watermarks")

    def mark_idle(self) -> None:
        raise AssertionError("a cache is never idle")


def write(sink: CacheSink, subtask: int, subtasks: int, blocks: list[list[Any]], last: bool) -> list[CachePart]:
    """One epoch of one subtask; elements are (value, timestamp)."""
    writer = pickle.loads(pickle.dumps(sink)).create_writer(Init(subtask, subtasks))
    for block in blocks:
        for value, timestamp in block:
            writer.write(value, At(timestamp))
        writer.flush(False)
    writer.flush(last)
    parts = writer.prepare_commit()
    writer.close()
    return list(parts)


def read(source: CacheSource, subtask: int, polls: int = 10**6) -> list[Any]:
    """What one subtask reads, with a new reader after every so many polls."""
    assert source._contents is not None
    splits = [source._contents.splits()[subtask]]
    output = Collected()
    status = InputStatus.MORE_AVAILABLE
    while status is not InputStatus.END_OF_INPUT:
        reader = pickle.loads(pickle.dumps(source)).create_reader(Reading())
        reader.add_splits(splits)
        reader.notify_no_more_splits()
        for _ in range(polls):
            status = reader.poll_next(output)
            if status is InputStatus.END_OF_INPUT:
                break
        splits = reader.snapshot_state(1)
    return output.elements


BLOCKS = st.lists(st.lists(st.tuples(st.integers(), st.none() | st.integers(0, 9)), max_size=5), max_size=3)


@given(
    st.lists(st.lists(BLOCKS, min_size=1, max_size=3), min_size=1, max_size=3),
    st.integers(1, 3),
)
def test_every_subtask_reads_what_it_wrote(written: list[list[list[list[Any]]]], polls: int) -> None:
    """``written`` is, per epoch and subtask, the blocks; all epochs get as many subtasks as the first."""
    subtasks = len(written[0])
    cache = ResultCache()
    sink = cache.sink()
    committer = sink.create_committer()
    expected: list[list[Any]] = [[] for _ in range(subtasks)]
    for epoch, blocks in enumerate(written):
        assert cache.source() is None
        parts = []
        for subtask in range(subtasks):
            own = blocks[subtask] if subtask < len(blocks) else []
            parts += write(sink, subtask, subtasks, own, epoch == len(written) - 1)
            expected[subtask] += [element for block in own for element in block]
        committer.commit(parts)
    source = cache.source()
    assert source is not None and source.parallelism == subtasks
    assert [read(source, subtask, polls) for subtask in range(subtasks)] == expected


def test_subtasks_may_end_in_different_epochs() -> None:
    cache = ResultCache()
    sink = cache.sink()
    committer = sink.create_committer()
    committer.commit([*write(sink, 0, 2, [[("a", None)]], True), *write(sink, 1, 2, [], False)])
    assert cache.source() is None
    committer.commit(write(sink, 1, 2, [[("b", 7)]], True))
    source = cache.source()
    assert source is not None
    assert (read(source, 0), read(source, 1)) == ([("a", None)], [("b", 7)])


def files(directory: Path) -> int:
    return sum(path.is_file() for path in directory.rglob("*"))


class Planning(SplitEnumeratorContext[Any]):
    def current_parallelism(self) -> int:
        return 1

    def assign_split(self, split: Any, subtask_id: int) -> None:
        raise AssertionError("not asked for")

    def signal_no_more_splits(self, subtask_id: int) -> None:
        raise AssertionError("not asked for")

    def current_processing_time(self) -> int:
        return 0


def filled(cache: ResultCache) -> CacheSource:
    sink = cache.sink()
    committer = sink.create_committer()
    committer.commit(write(sink, 0, 1, [[("a", None)]], True))
    committer.close()
    source = cache.source()
    assert source is not None
    return source


def test_files_go_with_their_last_reader(tmp_path: Path) -> None:
    cache = ResultCache(str(tmp_path))
    source = filled(cache)
    readers = [source.create_enumerator(Planning()) for _ in range(2)]
    cache.invalidate()
    assert cache.source() is None
    for reader in readers:
        assert read(source, 0) == [("a", None)]
        reader.close()
    assert list(tmp_path.iterdir()) == []
    cache.invalidate()


def test_files_go_at_once_if_nobody_reads_them(tmp_path: Path) -> None:
    cache = ResultCache(str(tmp_path))
    filled(cache)
    cache.invalidate()
    assert list(tmp_path.iterdir()) == []


def test_files_go_when_the_cache_is_garbage(tmp_path: Path) -> None:
    filled(ResultCache(str(tmp_path)))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_of_two_results_the_first_counts(tmp_path: Path) -> None:
    cache = ResultCache(str(tmp_path))
    first, second = filled(cache), filled(cache)
    assert first._contents is second._contents
    assert len(list(tmp_path.iterdir())) == 1


def test_a_job_that_does_not_end_leaves_nothing(tmp_path: Path) -> None:
    cache = ResultCache(str(tmp_path))
    sink = cache.sink()
    committer = sink.create_committer()
    committer.commit(write(sink, 0, 1, [[("a", None)]], False))
    assert files(tmp_path) == 1
    committer.close()
    assert list(tmp_path.iterdir()) == []


def test_an_aborted_epoch_leaves_nothing(tmp_path: Path) -> None:
    cache = ResultCache(str(tmp_path))
    sink = cache.sink()
    committer = sink.create_committer()
    committer.abort([*write(sink, 0, 2, [[("a", None)]], True), *write(sink, 1, 2, [], True)])
    assert files(tmp_path) == 0
    assert cache.source() is None


def test_values_that_cannot_be_pickled_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        write(ResultCache(str(tmp_path)).sink(), 0, 1, [[((n for n in range(3)), None)]], True)
