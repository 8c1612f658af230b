"""What a source gave is given again: elements, timestamps, splits, watermarks, and in all variants."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Duration, Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.connectors.generated_sources import DataGeneratorSource
from millrace.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSource, StreamFormat
from millrace.datastream.functions import SourceFunction
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.runtime.operators.job_graph import JobGraph
from millrace.testing import run_locally
from millrace.testing.recording.events import Element, Mark, Place, Sign, read_events
from millrace.testing.recording.playing import ALL_AT_ONCE, Variant, play, record, sources_of, variants

EVERY = [ALL_AT_ONCE, *variants(7)]


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def recorded(job: JobGraph, folder: Path, **limits: Any) -> dict[int, Path]:
    infos = sources_of(job)
    files = {info.id: folder / f"{number}.jsonl" for number, info in enumerate(infos.values())}
    record(job, {files[info.id]: info for info in infos.values()}, **limits)
    return files


def file_source(folder: Path, *texts: str) -> FileSource:
    for number, text in enumerate(texts):
        (folder / f"in{number}").write_text(text)
    paths = [str(folder / f"in{number}") for number in range(len(texts))]
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *paths).build()


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return int(value.split(",")[1])


IN_ORDER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())


def windows(env: StreamExecutionEnvironment, folder: Path, first: str) -> JobGraph:
    """Counts of words in windows of 10 ms, of two files that are 1,000 ms apart."""
    source = file_source(folder, first, "b,1001\na,1015\n")
    lines = env.from_source(source, IN_ORDER, "lines")
    pairs = lines.map(lambda line: (line.split(",")[0], 1), Types.TUPLE([Types.STRING(), Types.INT()]))
    window = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    window.sum(1).print()
    return env.job_graph()


@pytest.mark.parametrize(
    ("first", "parallelism"),
    [
        ("a,1\nb,2\na,12\n", 1),
        ("a,1\nb,2\na,12\n", 2),
        ("a,1\nb,2\na,12\na,3\n", 1),  # the last one is late if there is a watermark before it
    ],
)
def test_splits_have_watermarks_of_their_own_again(tmp_path: Path, first: str, parallelism: int) -> None:
    """Played one split behind the other, or with one watermark for both, all of the first file would be late."""
    job = windows(environment(parallelism), tmp_path, first)
    files = recorded(job, tmp_path)
    found = [play(job, files, variant).results for variant in EVERY]
    assert found[0] == {"Sink: Print to Std. Out": ['{"$tuple": ["a", 1]}'] * 3 + ['{"$tuple": ["b", 1]}'] * 2}
    assert all(each == found[0] for each in found)


class Late(ProcessFunction):
    def process_element(self, value: str, ctx: Any) -> Iterable[Any]:
        yield [value, ctx.timestamp(), ctx.timer_service().current_watermark()]


def test_sources_with_marks_of_their_own(tmp_path: Path) -> None:
    class Marks(SourceFunction[str]):
        def run(self, ctx: Any) -> None:
            ctx.collect_with_timestamp("a", 5)
            ctx.emit_watermark(10)
            ctx.collect_with_timestamp("late", 7)
            ctx.mark_as_temporarily_idle()

        def cancel(self) -> None: ...

    env = environment()
    env.add_source(Marks(), type_info=Types.STRING()).process(Late()).print()
    job = env.job_graph()
    (file,) = recorded(job, tmp_path).values()
    here = Place(0)
    assert [event for event in read_events(file) if not isinstance(event, Sign)] == [
        Element(here, "a", 5), Mark(here, 10), Element(here, "late", 7),
    ]  # fmt: skip
    (results,) = play(job, {job.operators[0].id: file}, Variant("one by one", 1)).results.values()
    assert results == ['["a", 5, -9223372036854775808]', '["late", 7, 10]']


def test_sources_without_end_are_limited(tmp_path: Path) -> None:
    env = environment(2)
    source = DataGeneratorSource(lambda number: number, 10**12, type_info=Types.LONG())
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()
    job = env.job_graph()
    files = recorded(job, tmp_path, records=5)
    (results,) = play(job, files, ALL_AT_ONCE).results.values()
    assert len(results) == 10


def test_a_silent_source_is_left_after_a_while(tmp_path: Path) -> None:
    class Silent(SourceFunction[str]):
        def run(self, ctx: Any) -> None:
            ctx.collect("a")
            while self.running:
                time.sleep(0.01)

        def __init__(self) -> None:
            self.running = True

        def cancel(self) -> None:
            self.running = False

    env = environment()
    env.add_source(Silent(), type_info=Types.STRING()).print()
    job = env.job_graph()
    files = recorded(job, tmp_path, records=100, seconds=0.5)
    (results,) = play(job, files, ALL_AT_ONCE).results.values()
    assert results == ['"a"']


def test_lists_of_the_program_need_no_recording() -> None:
    env = environment()
    env.from_collection([object(), object()]).map(lambda value: 1).print()
    job = env.job_graph()
    assert sources_of(job) == {}
    assert list(play(job, {}, EVERY[1]).results.values()) == [["1", "1"]]


class CountsInAttributes(KeyedProcessFunction):
    def __init__(self) -> None:
        self.count = 0

    def process_element(self, value: Any, ctx: Any) -> Iterable[int]:
        self.count += 1
        yield self.count


def test_moving_tasks_finds_what_is_not_in_state() -> None:
    env = environment()
    env.from_collection(list(range(20))).key_by(lambda value: 0).process(CountsInAttributes()).print()
    job = env.job_graph()
    first, *others = [play(job, {}, variant).results for variant in EVERY]
    different = [variant.name for variant, found in zip(EVERY[1:], others) if found != first]
    assert different == ["moved and restored, seed 7"]


def test_sources_with_one_name_are_told_apart(tmp_path: Path) -> None:
    env = environment()
    no_time = WatermarkStrategy.no_watermarks()
    one = env.from_source(file_source(tmp_path, "a\n"), no_time, "lines")
    one.union(env.from_source(file_source(tmp_path, "b\n"), no_time, "lines")).print()
    assert list(sources_of(env.job_graph())) == ["Source: lines", "Source: lines (2)"]


def test_the_original_and_the_recording_give_the_same(tmp_path: Path) -> None:
    env = environment(2)
    late = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    source = file_source(tmp_path, "a,1\nb,2\na,12\na,3\n", "b,1001\na,1015\n")
    stream = env.from_source(source, late.with_timestamp_assigner(SecondField()), "lines").key_by(lambda line: line[0])
    counted = stream.map(lambda line: line)
    job_results = sorted(run_locally(counted).collected)
    counted.print()
    job = env.job_graph()
    (results,) = play(job, recorded(job, tmp_path), EVERY[1]).results.values()
    assert results == [f'"{line}"' for line in job_results]
