"""``FileSink.enable_compact``: fewer files, with the same bytes, whatever fails while they are put together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.dying import killed_at
from tests.connectors.test_file_sink import ByLength, LinesFactory, content, hidden, row_builder, visible

from millrace.connectors.file_system import (
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
    file_committer,
    part_files,
)
from millrace.connectors.file_system.part_files import LocalPartStore
from millrace.testing.connectors.runtime import SinkRun

EACH_CHECKPOINT = FileCompactStrategy.builder().enable_compaction_on_checkpoint(1).build()
CONCAT = FileCompactor.concat_file_compactor()


def compacting(base: Path, strategy: FileCompactStrategy = EACH_CHECKPOINT, compactor: FileCompactor = CONCAT) -> Any:
    builder = row_builder(base).with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    return builder.enable_compact(strategy, compactor)


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 2000), max_size=9), st.sampled_from([None, None, "write", "abort"])),
        max_size=6,
    ),
    st.integers(1, 4),
    st.none() | st.integers(1, 60),
)
def test_the_same_elements_in_fewer_files(
    tmp_path_factory: pytest.TempPathFactory,
    plan: list[tuple[list[int], str | None]],
    parallelism: int,
    size: int | None,
) -> None:
    base = tmp_path_factory.mktemp("sink")
    strategy = EACH_CHECKPOINT
    if size is not None:
        strategy = FileCompactStrategy.builder().set_size_threshold(size).build()
    run = SinkRun(compacting(base, strategy).with_bucket_assigner(ByLength()).build(), parallelism)
    expected: list[str] = []
    for elements, crash in plan:
        before = set(visible(base))
        run.epoch(elements, crash=crash)
        if crash is not None:
            assert set(visible(base)) == before
            run.epoch(elements)
        expected += map(str, elements)
        assert content(base) == sorted(expected)
        new = set(visible(base)) - before
        buckets = {f"len={len(str(each))}" for each in elements}
        assert {path.parent.name for path in new} == buckets
        if size is None:
            assert len(new) == len(buckets)
        else:
            for path in new:
                assert path.stat().st_size <= size or not path.name.startswith("compacted-")
    run.epoch([], end=True)
    run.recover()
    assert hidden(base) == []


def test_one_file_keeps_its_name_and_several_have_that_of_the_first(tmp_path: Path) -> None:
    run = SinkRun(compacting(tmp_path).build(), parallelism=2)
    run.epoch(["a"])
    (alone,) = visible(tmp_path)
    assert alone.name.startswith("part-")
    run.epoch(["b", "c"])
    (together,) = set(visible(tmp_path)) - {alone}
    assert together.name.startswith("compacted-part-")
    assert sorted(together.read_text().split()) == ["b", "c"]


def test_a_delimiter_stands_between_files(tmp_path: Path) -> None:
    run = SinkRun(compacting(tmp_path, compactor=FileCompactor.concat_file_compactor(b"--\n")).build(), parallelism=3)
    run.epoch(["a", "b", "c"])
    (together,) = visible(tmp_path)
    assert together.read_text().count("--\n") == 2
    assert sorted(together.read_text().replace("--\n", "").split()) == ["a", "b", "c"]


@pytest.mark.parametrize("change", ["identical", "disabled"])
def test_files_may_stay_as_they_are(tmp_path: Path, change: str) -> None:
    if change == "identical":
        builder = compacting(tmp_path, compactor=FileCompactor.identical_file_compactor())
    else:
        builder = compacting(tmp_path).disable_compact()
    SinkRun(builder.build(), parallelism=3).epoch(["a", "b", "c"])
    assert len(visible(tmp_path)) == 3
    assert content(tmp_path) == ["a", "b", "c"]


class Stopped(Exception):
    """The driver dies here."""


@pytest.mark.parametrize("moment", range(12))
def test_a_driver_that_dies_at_any_moment_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Each thing that is done to a file fails once, before and after it is done."""
    run = SinkRun(compacting(tmp_path).build(), parallelism=3)
    done = {"calls": 0}

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            number, done["calls"] = done["calls"], done["calls"] + 1
            if number == moment // 2 and moment % 2 == 0:
                raise Stopped
            result = function(*args, **kwargs)
            if number == moment // 2 and moment % 2 == 1:
                raise Stopped
            return result

        return call

    with monkeypatch.context() as patched:
        patched.setattr(
            file_committer.Compaction, "_commit_together", failing(file_committer.Compaction._commit_together)
        )
        patched.setattr(file_committer, "discard_file", failing(part_files.discard_file))
        patched.setattr(LocalPartStore, "move", failing(LocalPartStore.move))
        prepared = [run.task(subtask, [f"{subtask}"], False, False)[0] for subtask in range(3)]
        files = [pending for each in prepared for pending in each]
        with pytest.raises(Stopped) if moment < 10 else contextlib.nullcontext():
            run.sink.create_committer().commit(files)
    committer = run.sink.create_committer()
    assert committer is not None
    committer.recover("job", files, [])
    committer.commit(files)
    assert content(tmp_path) == ["0", "1", "2"]
    assert len(visible(tmp_path)) == 1
    assert hidden(tmp_path) == []


def committed(base: Path, step: int, again: bool) -> bool:
    """A driver commits and is killed at a step, its successor perhaps, too; whether there are so many."""
    run = SinkRun(compacting(base).build(), parallelism=3)
    files = [pending for each in range(3) for pending in run.task(each, [f"{each}"], False, False)[0]]
    committer = run.sink.create_committer()
    assert committer is not None

    def recovers() -> None:
        committer.recover("job", files, [])
        committer.commit(files)

    killed = killed_at(step, lambda: committer.commit(files))
    if again:
        killed_at(step, recovers)
    recovers()
    return killed


@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_driver_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, again: bool) -> None:
    """Before and after each thing that it does to a file."""
    step, killed = 0, True
    while killed:
        base = tmp_path / str(step)
        killed = committed(base, step, again)
        assert content(base) == ["0", "1", "2"]
        assert len(visible(base)) == 1
        assert hidden(base) == []
        step += 1
    assert step > 20


def test_what_was_finished_without_compaction_stays_as_it_is(tmp_path: Path) -> None:
    plain = SinkRun(row_builder(tmp_path).with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build(), 2)
    files = [pending for subtask in (0, 1) for pending in plain.task(subtask, [f"{subtask}"], False, False)[0]]
    committer = compacting(tmp_path).build().create_committer()
    committer.commit(files)
    assert len(visible(tmp_path)) == 2
    assert content(tmp_path) == ["0", "1"]


def test_settings_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs set_size_threshold"):
        FileCompactStrategy.builder().set_num_compact_threads(2).build()
    for call in (
        FileCompactStrategy.builder().set_size_threshold,
        FileCompactStrategy.builder().enable_compaction_on_checkpoint,
        FileCompactStrategy.builder().set_num_compact_threads,
    ):
        with pytest.raises(ValueError, match="must be positive, got 0"):
            call(0)
    bulk = FileSink.for_bulk_format(str(tmp_path), LinesFactory())
    with pytest.raises(ValueError, match=r"no reader of a bulk format understands\. .*'auto-compaction'"):
        bulk.enable_compact(EACH_CHECKPOINT, CONCAT)
    assert bulk.enable_compact(EACH_CHECKPOINT, FileCompactor.identical_file_compactor()).build()
