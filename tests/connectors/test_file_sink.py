"""FileSink: what is visible when, and exactly once whatever fails."""

from __future__ import annotations

import gc
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.files.file_systems import locate
from millrace.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.connectors.file_system import (
    BucketAssigner,
    FileSink,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
    StreamingFileSink,
    part_files,
)
from millrace.connectors.file_system.file_committer import FileCommitter
from millrace.connectors.file_system.part_files import PendingFile
from millrace.testing.connectors.runtime import Clock, ElementContext, SinkRun, WriterContext

LINES = Encoder.simple_string_encoder()


def row_builder(base: Path, **policy: int) -> Any:
    return (
        FileSink.for_row_format(str(base), LINES)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(**policy))
    )


def visible(base: Path) -> list[Path]:
    return sorted(path for path in base.rglob("*") if path.is_file() and not path.name.startswith("."))


def hidden(base: Path) -> list[Path]:
    return sorted(path for path in base.rglob(".*") if path.is_file())


def content(base: Path) -> list[str]:
    return sorted(line for path in visible(base) for line in path.read_text().splitlines())


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


class ByLength(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        assert (context.timestamp(), context.current_watermark()) == (7, 5)
        return f"len={len(str(element))}"


epochs = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2000), max_size=8),
        st.sampled_from([None, None, None, "write", "abort", "commit"]),
        st.integers(0, 90_000),
    ),
    max_size=8,
)


@pytest.mark.parametrize("kind", ["row", "row on checkpoint", "bulk", "row without append"])
def test_every_element_of_a_recorded_epoch_once(
    kind: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "row without append":
        monkeypatch.setattr(part_files.RowPart, "resumable", False)

    @given(epochs, st.integers(1, 3), st.integers(1, 40))
    def check(plan: list[tuple[list[int], str | None, int]], parallelism: int, part_size: int) -> None:
        base = tmp_path_factory.mktemp("sink")
        builder = row_builder(base, part_size=part_size)
        if kind == "row on checkpoint":
            builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        elif kind == "bulk":
            builder = FileSink.for_bulk_format(str(base), LinesFactory())
        clock = Clock()
        run = SinkRun(builder.with_bucket_assigner(ByLength()).build(), parallelism, clock)
        expected: list[str] = []
        for elements, crash, pause in plan:
            run.epoch(elements, crash=crash)
            clock.now += pause
            if crash in ("write", "abort"):
                before = content(base)
                run.epoch(elements)  # the replay
                assert set(before) <= set(content(base))
            expected += map(str, elements)
            assert not [line for line in content(base) if line not in expected]
            if kind != "row":
                assert content(base) == sorted(expected)
        run.epoch([9999], end=True)
        assert content(base) == sorted([*expected, "9999"])
        run.recover()  # an aborted epoch does not tell the committer about its unfinished parts
        assert hidden(base) == []
        assert all(path.parent.name == f"len={len(path.read_text().split()[0])}" for path in visible(base))

    check()


def test_names_and_states_of_a_part(tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("out").with_part_suffix(".txt").build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("out", ".txt")
    run = SinkRun(row_builder(tmp_path).with_output_file_config(config).build())
    run.epoch(["a"])
    (part,) = hidden(tmp_path)
    uid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(rf"\.out-{uid}-0-0\.txt\.inprogress\.[0-9a-f]{{16}}-1-[0-9a-f]{{12}}", part.name)
    assert visible(tmp_path) == []
    run.epoch(["b"])
    assert hidden(tmp_path) == [part]
    run.epoch([], end=True)
    assert hidden(tmp_path) == []
    (finished,) = visible(tmp_path)
    assert re.fullmatch(rf"out-{uid}-0-0\.txt", finished.name)
    assert finished.read_text() == "a\nb\n"


def test_rolling_by_size_age_and_inactivity(tmp_path: Path) -> None:
    clock = Clock()
    builder = row_builder(tmp_path, part_size=10, rollover_interval=5000, inactivity_interval=2000)
    run = SinkRun(builder.with_bucket_check_interval(1000).build(), clock=clock)
    run.epoch(["0123456789", "next"])  # 11 bytes are more than 10
    assert content(tmp_path) == ["0123456789"]
    clock.now += 1999
    run.epoch([])
    assert len(visible(tmp_path)) == 1
    clock.now += 1000
    run.epoch([])  # nothing written for 2999 ms
    assert content(tmp_path) == ["0123456789", "next"]
    for _ in range(5):
        run.epoch(["x"])
        clock.now += 1000
    assert len(visible(tmp_path)) == 2
    run.epoch(["x"])  # 5000 ms old
    assert len(visible(tmp_path)) == 3
    assert len({path.name.rpartition("-")[0] for path in visible(tmp_path)}) == 1, "one writer, one uid"
    with pytest.raises(ValueError, match="part_size must be positive, got 0"):
        RollingPolicy.default_rolling_policy(part_size=0)


class RollOnMarker(RollingPolicy):
    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return False

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        assert part.get_size() > 0
        assert part.get_bucket_id() == ""
        assert part.get_creation_time() <= part.get_last_update_time()
        return bool(element == "new")

    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        return False


def test_a_policy_of_the_user(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path).with_rolling_policy(RollOnMarker()).build())
    run.epoch(["a", "b", "new", "c"])
    run.epoch(["new"], end=True)
    assert sorted(path.read_text() for path in visible(tmp_path)) == ["a\nb\n", "new\n", "new\nc\n"]


@pytest.mark.parametrize("elements", [["then"], []])
def test_what_a_killed_task_appended_is_left_behind(tmp_path: Path, elements: list[str]) -> None:
    """Spark runs the task again in the same epoch."""
    run = SinkRun(row_builder(tmp_path).build())
    run.epoch(["kept"])
    (part,) = hidden(tmp_path)
    with part.open("a") as file:
        file.write("much longer than what comes then\n")
    run.move()
    run.epoch(elements)
    assert len(hidden(tmp_path)) == 1 + len(elements), "it is copied when there is something to add"
    with part.open("a") as file:
        file.write("and the task is still alive\n")
    run.epoch([], end=True)
    assert content(tmp_path) == ["kept", *elements]
    assert not hidden(tmp_path)


def test_a_writer_that_is_forgotten_writes_nothing(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path).build())
    run.epoch(["kept"])
    (part,) = hidden(tmp_path)
    writer = run.sink.restore_writer(WriterContext(0, 1, 2, run.clock), run.states[0])
    writer.write("lost", ElementContext())
    del writer
    gc.collect()
    assert part.read_text() == "kept\n"


def test_after_a_failed_epoch_a_part_goes_on_in_a_file_of_its_own(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path).build())
    run.epoch(["kept"])
    (old,) = hidden(tmp_path)
    for lost, crash in ((["lost"], "write"), (["lost"], "write"), ([], "write"), (["lost"], "abort")):
        run.epoch(lost, end=crash == "abort", crash=crash)
        assert hidden(tmp_path) == [old]
    run.epoch(["then"])
    (new,) = set(hidden(tmp_path)) - {old}
    assert (old.read_text(), new.read_text()) == ("kept\n", "kept\nthen\n")
    run.recover()
    assert set(hidden(tmp_path)) == {old, new}, "the last checkpoint may need the old one"
    run.epoch(["more"])
    (newer,) = set(hidden(tmp_path)) - {old, new}
    run.epoch(["and more"])
    assert set(hidden(tmp_path)) == {old, new, newer}, "nothing has failed since"
    run.epoch([], end=True)
    run.recover()
    assert hidden(tmp_path) == []
    assert content(tmp_path) == ["and more", "kept", "more", "then"]


def test_an_abort_spares_the_bytes_of_earlier_epochs(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path).build())
    run.epoch(["kept"])
    run.epoch(["lost"], end=True, crash="abort")
    assert visible(tmp_path) == []
    run.epoch(["then"], end=True)
    assert content(tmp_path) == ["kept", "then"]


def test_a_failed_epoch_leaves_nothing_behind(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path).build())
    run.epoch(["a"], crash="write")
    run.epoch(["a"], end=True, crash="abort")
    assert hidden(tmp_path) == visible(tmp_path) == []


def test_going_on_with_a_missing_or_short_part_is_an_error(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path).build())
    run.epoch(["content"])
    (part,) = hidden(tmp_path)
    part.write_text("x")
    with pytest.raises(OSError, match=r"has 1 bytes, but its only writer has written 8"):
        run.epoch(["more"])
    with pytest.raises(OSError, match=r"has 1 bytes, but the checkpoint says that 8 were written"):
        run.epoch(["more"])
    part.unlink()
    with pytest.raises(FileNotFoundError, match="as which a later run would have finished it"):
        run.epoch([], end=True)


def test_the_committer_is_idempotent(tmp_path: Path) -> None:
    source, target = tmp_path / ".a.inprogress.1", tmp_path / "a"
    source.write_text("x")
    pending = PendingFile("", str(source), str(target))
    committer = FileCommitter(locate(tmp_path), "")
    committer.commit([pending])
    committer.commit([pending])
    assert target.read_text() == "x"
    target.unlink()
    with pytest.raises(FileNotFoundError, match=r"can't commit .*/a: it does not exist"):
        committer.commit([pending])
    committer.abort([pending])


def test_rescaling_down_finishes_what_collides(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path).build(), 3)
    run.epoch(["a", "b", "c"])
    assert len(hidden(tmp_path)) == 3
    run.rescale(1, lambda states, parallelism: [states])
    run.epoch(["d"])
    assert content(tmp_path) == ["b", "c"]
    run.epoch([], end=True)
    assert content(tmp_path) == ["a", "b", "c", "d"]


def test_date_time_buckets(tmp_path: Path) -> None:
    clock = Clock(1_709_210_096_789)  # 2024-02-29 12:34:56.789 UTC
    builder = FileSink.for_row_format(str(tmp_path), LINES)
    assigner = BucketAssigner.date_time_bucket_assigner("'day='yyyy-MM-dd/HH-mm-ss.SSS", "GMT-08:00")
    SinkRun(builder.with_bucket_assigner(assigner).build(), clock=clock).epoch(["x"], end=True)
    assert [path.parent.relative_to(tmp_path).as_posix() for path in visible(tmp_path)] == [
        "day=2024-02-29/04-34-56.789"
    ]
    default = BucketAssigner.date_time_bucket_assigner(timezone_id="Asia/Tokyo")
    run = SinkRun(builder.with_bucket_assigner(default).build(), clock=clock)
    run.epoch(["x"])
    clock.now += 3_600_000
    run.epoch(["y"], end=True)
    assert {path.parent.name for path in visible(tmp_path)} == {"2024-02-29--21", "2024-02-29--22", "04-34-56.789"}
    with pytest.raises(ValueError, match="unknown time zone id 'Nowhere'"):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Nowhere")


class Escaping(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        return str(element)


@pytest.mark.parametrize("bucket", ["../x", "/etc", "a/../b"])
def test_buckets_stay_below_the_base_path(tmp_path: Path, bucket: str) -> None:
    run = SinkRun(row_builder(tmp_path).with_bucket_assigner(Escaping()).build())
    with pytest.raises(ValueError, match="a bucket id is a path below the base path"):
        run.epoch([bucket])


def test_bulk_formats_take_only_checkpoint_policies(tmp_path: Path) -> None:
    builder = FileSink.for_bulk_format(str(tmp_path), LinesFactory())
    builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    with pytest.raises(ValueError, match="rolling_policy must be OnCheckpointRollingPolicy for bulk format"):
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())


def test_an_encoder_learns_the_type(tmp_path: Path) -> None:
    sink = row_builder(tmp_path).build().for_input_type(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]))
    SinkRun(sink).epoch([Row(a=1, b="x")], end=True)
    assert content(tmp_path) == ["+I[1, x]"]
    bulk = FileSink.for_bulk_format(str(tmp_path), LinesFactory()).build()
    assert bulk.for_input_type(Types.INT()) is bulk


def test_the_old_name(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sink = StreamingFileSink.for_row_format(str(tmp_path), LINES).build()
        assert isinstance(StreamingFileSink.for_bulk_format(str(tmp_path), LinesFactory()).build(), StreamingFileSink)
    assert {str(warning.message) for warning in caught} == {"Deprecated in 1.15. Use FileSink instead."}
    assert isinstance(sink, FileSink) and repr(sink) == f"StreamingFileSink({tmp_path})"
    SinkRun(sink).epoch(["x"], end=True)
    assert content(tmp_path) == ["x"]
    assert sink.get_transformer() is None


def test_a_slice_finishes_parts_by_the_clock_and_shows_nothing(tmp_path: Path) -> None:
    run = SinkRun(row_builder(tmp_path, rollover_interval=5_000).with_bucket_check_interval(1_000).build())
    writer = run.sink.create_writer(WriterContext(0, 1, 1, run.clock))
    writer.write("old", ElementContext())
    for passed in (999, 1_000, 4_999, 5_000):
        writer.end_slice(run.clock.now + passed)
    run.clock.now += 6_000
    writer.end_slice(run.clock.now)
    writer.write("new", ElementContext())
    assert content(tmp_path) == []
    writer.flush(False)
    assert len(writer.prepare_commit()) == 1, "the old part alone is finished"
    writer.snapshot_state(1)
    assert sorted(path.read_text() for path in hidden(tmp_path)) == ["new\n", "old\n"]
    writer.close()
