"""Every program of examples/tutorial/ gives its stated result, without Spark."""

from __future__ import annotations

import datetime
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.examples.conftest import EXAMPLES
from tests.examples.results import ANY_MODE, BATCH, BATCHES, PACED_PAGE_VIEWS, STREAMING

from millrace.common import Time
from millrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.window import EventTimeSessionWindows
from millrace.testing import OperatorHarness, run_locally

LONG = {"stateful_flat_map", "aggregating_state"}
"""Programs with hundreds of elements."""

STREAM, BATCH_MODE = RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH


def program(name: str, mode: RuntimeExecutionMode = STREAM, parallelism: int = 1) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism).set_runtime_mode(mode)
    stream: DataStream = import_module(name).build(env)
    return stream


def same(found: list[Any], expected: list[Any]) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, expected))


def test_every_program_has_a_stated_result() -> None:
    names = {path.stem for path in (EXAMPLES / "tutorial").glob("*.py")} - {"fixture"}
    assert names == ANY_MODE.keys() | STREAMING.keys() | {"processing_time_timer", "buffering_sink", "iterate"}


@pytest.mark.draw(6)
@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("epoch_records", [None, 1, 2, 5])
@pytest.mark.parametrize("name", ANY_MODE)
def test_streaming_in_any_epochs(name: str, epoch_records: int | None, parallelism: int) -> None:
    limit = epoch_records and epoch_records * (100 if name in LONG else 1)
    run = run_locally(program(name, STREAM, parallelism), epoch_records=limit, workers=2, seed=7)
    assert same(run.collected, ANY_MODE[name]), run.collected
    assert limit is not None or len(run.epochs) == 1
    assert limit != 1 or len(run.epochs) > 2


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("name", ANY_MODE)
def test_batch(name: str, parallelism: int) -> None:
    run = run_locally(program(name, BATCH_MODE, parallelism))
    assert same(run.collected, ANY_MODE[name]), run.collected
    assert len(run.epochs) == 1


@pytest.mark.parametrize("name", STREAMING)
def test_streaming_in_one_epoch(name: str) -> None:
    assert same(run_locally(program(name)).collected, STREAMING[name])


@pytest.mark.parametrize("name", BATCH)
def test_batch_where_it_differs(name: str) -> None:
    assert same(run_locally(program(name, BATCH_MODE)).collected, BATCH[name])


@pytest.mark.parametrize("name", ["bill_check", "top_n", "all_window_top_n", "hot_items", "async_enrichment"])
def test_results_come_in_the_order_of_time(name: str) -> None:
    assert run_locally(program(name)).collected == ANY_MODE[name]
    assert run_locally(program(name), epoch_records=1).collected == ANY_MODE[name]


def test_timer_probe_in_order_also_with_an_epoch_per_element() -> None:
    assert run_locally(program("timer_probe")).collected == STREAMING["timer_probe"]
    assert run_locally(program("timer_probe"), epoch_records=1).collected == STREAMING["timer_probe"]


def test_side_output_has_its_own_stream() -> None:
    module = import_module("side_output")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    side = module.build(env).get_side_output(module.SIDE)
    assert run_locally(side).collected == ["side-output: 1", "side-output: 2", "side-output: 3"]


def test_throttled_page_views_with_a_watermark_after_every_click() -> None:
    from fixture import PACED

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    assert run_locally(import_module("throttled_page_views").build(env, PACED)).collected == PACED_PAGE_VIEWS


@pytest.mark.parametrize("epoch_records", [None, 1, 2])
def test_interval_join_drops_what_is_behind_a_watermark_after_every_element(epoch_records: int | None) -> None:
    from fixture import PACED

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    run = run_locally(import_module("interval_join").build(env, PACED), epoch_records=epoch_records)
    on_time = [pair for pair in STREAMING["interval_join"] if "660000" not in pair]
    if epoch_records == 1:
        assert same(run.collected, on_time)
    else:  # Page views that come first, in the same epoch, wait for the watermark of the orders.
        assert same([pair for pair in run.collected if "=>" in pair], [pair for pair in on_time if "=>" in pair])


def test_union_watermark_when_both_inputs_come_by_turns() -> None:
    run = run_locally(program("union_watermark"), epoch_records=1)
    lowest = -(2**63)
    assert run.collected == [f"当前水位线是:{mark}" for mark in (lowest, lowest, 999, 1999, 2999, 2999)]


@pytest.mark.parametrize(("mode", "lines"), [(STREAM, 3), (BATCH_MODE, 4)])
def test_processing_time_timer(mode: RuntimeExecutionMode, lines: int) -> None:
    times = iter(range(1_000_000, 10**9, 20))
    run = run_locally(program("processing_time_timer", mode), clock=lambda: next(times))
    check_processing_time_timer(run.collected, lines, delay=2_000)


def check_processing_time_timer(found: list[str], lines: int, delay: int) -> None:
    """Every timer is as late as it shall be; in streaming mode the last one is dropped at the end of the input."""
    arrived = [at(line) for line in found if line.startswith("数据到达")]
    fired = [at(line) for line in found if line.startswith("定时器触发")]
    assert len(arrived) == 2
    due = [element + datetime.timedelta(milliseconds=delay) for element in arrived]
    assert fired == sorted(set(due[: lines - 2])), found  # one timer, if both came in the same millisecond


def at(line: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(line.partition(":")[2].ljust(30, "0")[:30].split(".")[0]) + (
        datetime.timedelta(seconds=float("0." + line.rpartition(".")[2]))
    )


@pytest.mark.parametrize(("patterns", "found"), [([0], ["Alice"]), ([1], ["Bob"]), ([1, 0], ["Alice"]), ([], [])])
def test_the_newest_pattern_counts(patterns: list[int], found: list[str]) -> None:
    module = import_module("broadcast_pattern")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    chosen = [module.PATTERNS[index] for index in patterns]
    assert run_locally(module.build(env, chosen)).collected == [(user, chosen[-1]) for user in found]


@pytest.mark.parametrize("epoch_records", [None, 1, 2, 5])
@pytest.mark.parametrize("mode", [STREAM, BATCH_MODE])
def test_buffering_sink(tmp_path: Path, mode: RuntimeExecutionMode, epoch_records: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(mode)
    import_module("buffering_sink").build(env, str(tmp_path / "batches"))
    run_locally(env, epoch_records=epoch_records, workers=3, seed=epoch_records)
    assert (tmp_path / "batches").read_text().splitlines() == BATCHES


@pytest.mark.parametrize(("read_at", "seen"), [(9, "after a"), (10, "begins a visit"), (11, "begins a visit")])
def test_state_ttl_by_the_clock(read_at: int, seen: str) -> None:
    module = import_module("state_ttl")
    click = import_module("fixture").Click
    function = module.PageBefore(module.BY_CLOCK)
    with OperatorHarness.for_function(function, key_selector=lambda value: value.user) as harness:
        harness.process_element(click("Mary", "a", 0))
        harness.set_processing_time(read_at * 1_000)
        harness.process_element(click("Mary", "b", 0))
    assert harness.values == ["Mary: a begins a visit", f"Mary: b {seen}"]


@pytest.mark.parametrize("epoch_records", [None, 1, 4])
@pytest.mark.parametrize("mode", [STREAM, BATCH_MODE])
def test_iterate(mode: RuntimeExecutionMode, epoch_records: int | None) -> None:
    run = run_locally(program("iterate", mode, parallelism=2), epoch_records=epoch_records, workers=2, seed=1)
    belongs = dict.fromkeys(("Alice", "Bob", "Eve", "Mary"), "Alice") | dict.fromkeys(("Cary", "Dave", "Frank"), "Cary")
    assert dict(run.collected) == belongs, "the last word on everybody"
    assert len(run.collected) == len(belongs) or mode is STREAM


def test_keyed_states_needs_no_order_of_epochs() -> None:
    runs = [run_locally(program("keyed_states", parallelism=2), epoch_records=n).collected for n in (1, 4, None)]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("epoch_records", [1, 2, 3, None])
def test_what_is_late_does_not_depend_on_epochs(epoch_records: int | None) -> None:
    run = run_locally(program("late_data"), epoch_records=epoch_records, workers=2, seed=3)
    assert run.collected == STREAMING["late_data"]


def test_hot_items_by_looking_at_every_window() -> None:
    clicks = import_module("fixture").CLICKS
    for end, ranked in ANY_MODE["hot_items"]:
        urls = Counter(click.url for click in clicks if end - 60_000 <= click.timestamp < end)
        assert ranked == sorted(urls.items(), key=lambda item: (-item[1], item[0]))[:3]
    assert [end for end, _ in ANY_MODE["hot_items"]] == list(range(5_000, 75_001, 5_000))


def test_the_trigger_of_early_results_also_merges_and_takes_late_elements() -> None:
    module = import_module("early_results")
    harness = OperatorHarness.for_windows(
        EventTimeSessionWindows.with_gap(Time.seconds(3)),
        module.Views(),
        trigger=module.EveryFew(3),
        allowed_lateness=1_000,
        key_selector=lambda value: "Mary",
    )
    with harness:
        harness.process_elements([("a", 0), ("b", 5_000)])  # two sessions, with one element each
        assert harness.values == []
        harness.process_element("c", 2_500)  # becomes one with both, whose counts add up
        assert harness.values == ["Mary [0, 8000): 3 so far"]
        harness.process_watermark(7_999)
        harness.process_element("d", 4_000)
        harness.process_watermark(8_999)
        assert harness.values[1:] == ["Mary [0, 8000): 3 in all", "Mary [0, 8000): 4 in all"]
        assert harness.num_event_time_timers() == 0
