"""``DataStream.iterate``: whole programs with loops, against plain Python."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programs import MAX, ListSource
from tests.runtime.jobs import Engine, numbers

from millrace.common import Time, Types, WatermarkStrategy
from millrace.common.source import Boundedness, SplitEnumeratorContext
from millrace.common.source import SplitEnumerator as Enumerator
from millrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.derived_streams import IterativeStream
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.graph.program import GraphError
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.operators import specs
from millrace.testing import run_locally

STREAMING, BATCH = RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH
LONG, STRING = Types.LONG(), Types.STRING()


def environment(parallelism: int = 2, mode: RuntimeExecutionMode = STREAMING) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.set_parallelism(parallelism).set_runtime_mode(mode)


@pytest.fixture(params=[STREAMING, BATCH], ids=["streaming", "batch"])
def env(request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    return environment(mode=request.param)


RUNS: list[dict[str, Any]] = [{}, {"epoch_records": 1}, {"epoch_records": 3, "workers": 3, "seed": 5}]

# How a program may be run without any change to what it computes.
ways = st.fixed_dictionaries(
    {
        "epoch_records": st.sampled_from([None, 1, 2, 5]),
        "workers": st.integers(1, 3),
        "seed": st.integers(0, 99),
    }
)
environments = st.builds(environment, st.integers(1, 3), st.sampled_from([STREAMING, BATCH]))


# -- the classics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", RUNS)
def test_subtract_until_zero(env: StreamExecutionEnvironment, options: dict[str, Any]) -> None:
    loop = env.from_sequence(0, 9).iterate()
    smaller = loop.map(lambda value: value - 1, LONG)
    assert loop.close_with(smaller.filter(lambda value: value > 0)) is not loop
    done = smaller.filter(lambda value: value <= 0)
    assert sorted(run_locally(done, **options).collected) == [-1] + [0] * 9


def collatz(value: int) -> int:
    steps = 0
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    return steps


def next_of(element: tuple[int, int, int]) -> tuple[int, int, int]:
    start, value, steps = element
    return (start, value // 2 if value % 2 == 0 else 3 * value + 1, steps + 1)


@pytest.mark.parametrize("options", RUNS)
def test_collatz(env: StreamExecutionEnvironment, options: dict[str, Any]) -> None:
    kind = Types.TUPLE([LONG, LONG, LONG])
    loop = env.from_sequence(1, 15).map(lambda value: (value, value, 0), kind).iterate()
    going = loop.filter(lambda element: element[1] != 1)
    loop.close_with(going.map(next_of, kind))
    lengths = loop.filter(lambda element: element[1] == 1).map(lambda element: (element[0], element[2]))
    assert sorted(run_locally(lengths, **options).collected) == [(value, collatz(value)) for value in range(1, 16)]


Vertex = int
Message = tuple[str, Vertex, Vertex]


class Label(KeyedProcessFunction):
    """A vertex: tells its neighbours the smallest vertex that it has heard of.

    Messages are ("edge", vertex, neighbour) and ("label", vertex, label); the side output has every change.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.neighbours = runtime_context.get_list_state(ListStateDescriptor("neighbours", LONG))
        self.label = runtime_context.get_state(ValueStateDescriptor("label", LONG))

    def process_element(self, value: Message, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        kind, vertex, other = value
        label = self.label.value()
        if label is None:
            label = vertex
            self.label.update(label)
            yield LABELS, (vertex, label)
        if kind == "edge":
            self.neighbours.add(other)
            yield ("label", other, label)
        elif other < label:
            self.label.update(other)
            yield LABELS, (vertex, other)
            for neighbour in self.neighbours.get():
                yield ("label", neighbour, other)


LABELS = OutputTag("labels")


def components(edges: Sequence[tuple[Vertex, Vertex]]) -> dict[Vertex, Vertex]:
    """vertex -> the smallest vertex that it is connected to."""
    smallest = {vertex: vertex for edge in edges for vertex in edge}
    for _ in smallest:
        for left, right in edges:
            smallest[left] = smallest[right] = min(smallest[left], smallest[right])
    return smallest


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=14), environments, ways)
def test_connected_components(
    edges: list[tuple[Vertex, Vertex]], env: StreamExecutionEnvironment, options: dict[str, Any]
) -> None:
    both = [("edge", left, right) for left, right in edges] + [("edge", right, left) for left, right in edges]
    loop = env.from_collection(both).iterate()
    vertices = loop.key_by(lambda message: message[1]).process(Label())
    loop.close_with(vertices)
    labels: dict[Vertex, list[Vertex]] = defaultdict(list)
    for vertex, label in run_locally(vertices.get_side_output(LABELS), **options).collected:
        labels[vertex].append(label)
    assert {vertex: min(found) for vertex, found in labels.items()} == components(edges)
    assert all(len(set(found)) == len(found) for found in labels.values()), "state lasts: each label only once"


# A rule rewrites a number into smaller ones, so every element ends.
rules = st.lists(st.lists(st.integers(0, 8), max_size=3), min_size=9, max_size=9).map(
    lambda table: [[part % value for part in parts] if value else [] for value, parts in enumerate(table)]
)


def visits(rule: list[list[int]], start: Sequence[int]) -> Counter[int]:
    found: Counter[int] = Counter()
    waiting = list(start)
    while waiting:
        value = waiting.pop()
        found[value] += 1
        waiting += rule[value]
    return found


class Rewrite:
    """A class, since the loops of one test have rules of their own."""

    def __init__(self, rule: list[list[int]]) -> None:
        self.rule = rule

    def __call__(self, value: int) -> list[int]:
        return self.rule[value]


@given(
    st.lists(rules, min_size=1, max_size=3),
    st.lists(st.integers(0, 8), max_size=6),
    st.lists(st.integers(1, 3), min_size=6, max_size=6),
    environments,
    ways,
)
def test_several_loops_one_after_the_other(
    tables: list[list[list[int]]],
    start: list[int],
    parallelism: list[int],
    env: StreamExecutionEnvironment,
    options: dict[str, Any],
) -> None:
    """Of head, body and end each has a parallelism of its own."""
    stream = numbers(env, start)
    expected = Counter(start)
    for rule, head, body in zip(tables, parallelism, parallelism[3:]):
        loop = stream.iterate()
        loop.set_parallelism(head)
        loop.close_with(loop.flat_map(Rewrite(rule)).set_parallelism(body))
        stream = loop
        expected = visits(rule, list(expected.elements()))
    assert Counter(run_locally(stream, **options).collected) == expected


@given(rules, rules, st.lists(st.integers(0, 8), max_size=4), environments, ways)
def test_a_loop_inside_a_loop(
    inner_rule: list[list[int]],
    outer_rule: list[list[int]],
    start: list[int],
    env: StreamExecutionEnvironment,
    options: dict[str, Any],
) -> None:
    """What comes by in the inner loop goes round in the outer one as well, by another rule."""
    outer = numbers(env, start).iterate()
    inner = outer.iterate()
    inner.close_with(inner.flat_map(Rewrite(inner_rule)))
    outer.close_with(inner.flat_map(Rewrite(outer_rule)))
    both = [[*left, *right] for left, right in zip(inner_rule, outer_rule)]
    assert Counter(run_locally(inner, **options).collected) == visits(both, start)


def test_several_loops_in_one_job(env: StreamExecutionEnvironment) -> None:
    source = env.from_sequence(1, 4)
    for name, step in (("one", 1), ("two", 2)):
        loop = source.iterate()
        smaller = loop.map(lambda value, step=step: value - step)
        loop.close_with(smaller.filter(lambda value: value > 0))
        smaller.print(name)
    lines = Counter(line.partition(":")[0] + line.partition(">")[2] for line in run_locally(env).printed)
    expected = Counter(f"one {n}" for value in range(1, 5) for n in range(value))
    expected += Counter(f"two {n}" for value in range(1, 5) for n in range(value - 2, -2, -2))
    assert lines == expected


def test_the_loop_may_be_closed_with_a_partitioned_or_keyed_stream(env: StreamExecutionEnvironment) -> None:
    loop = env.from_sequence(1, 6).iterate()
    smaller = loop.map(lambda value: value - 1).filter(lambda value: value > 0)
    halves = loop.map(lambda value: value // 2).filter(lambda value: value > 0)
    loop.close_with(smaller.key_by(lambda value: value % 2).union(halves.shuffle()))
    rule = [[]] + [[part for part in (value - 1, value // 2) if part] for value in range(1, 7)]
    assert Counter(run_locally(loop).collected) == visits(rule, range(1, 7))


def test_the_limit_of_rounds(env: StreamExecutionEnvironment) -> None:
    """As many rounds as asked for, and no error when something would still come back."""
    loop = env.from_collection([0]).iterate(max_rounds=7)
    loop.close_with(loop.map(lambda value: value + 1))
    assert run_locally(loop).collected == list(range(8))


def test_a_later_job_reads_the_loop_again(env: StreamExecutionEnvironment) -> None:
    """Its end comes along, though the new program begins after it."""
    loop = env.from_sequence(1, 3).iterate()
    smaller = loop.map(lambda value: value - 1)
    loop.close_with(smaller.filter(lambda value: value > 0))
    for _ in range(2):
        assert sorted(run_locally(smaller).collected) == [0, 0, 0, 1, 1, 2]


def test_a_later_job_also_reads_the_loops_that_feed_the_loop(env: StreamExecutionEnvironment) -> None:
    feeding = env.from_sequence(1, 2).iterate()
    feeding.close_with(feeding.map(lambda value: value - 1, LONG).filter(lambda value: value > 0))
    loop = env.from_collection([10], LONG).iterate()
    loop.close_with(loop.filter(lambda value: False).union(feeding))
    for _ in range(2):
        assert sorted(run_locally(loop).collected) == [1, 1, 2, 10]


def test_a_cached_loop_is_computed_once(env: StreamExecutionEnvironment) -> None:
    loop = env.from_sequence(1, 3).iterate()
    smaller = loop.map(lambda value: value - 1)
    loop.close_with(smaller.filter(lambda value: value > 0))
    cached = smaller.cache()
    assert sorted(run_locally(cached).collected) == [0, 0, 0, 1, 1, 2]
    again = run_locally(cached)
    assert sorted(again.collected) == [0, 0, 0, 1, 1, 2]
    assert len(again.epochs) == 1
    env.close()


def test_in_batch_mode_the_loop_gives_running_results_and_its_readers_final_ones() -> None:
    env = environment(1, BATCH)
    loop = env.from_collection([3, 4]).iterate()
    sums = loop.key_by(lambda value: 0).reduce(lambda left, right: left + right)
    loop.close_with(sums.filter(lambda value: value < 20))
    sums.print("running")
    sums.key_by(lambda value: 0).reduce(max).print("final")
    run = run_locally(env)
    # 3 and 3 + 4 go round, the sum grows by each
    running = [3, 7, 10, 17, 27, 44]
    assert run.printed == [f"running> {value}" for value in running] + ["final> 44"]


# -- time -------------------------------------------------------------------------------------------------------------


class See(ProcessFunction):
    """(value, timestamp, whether the last watermark has come)."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield (value, ctx.timestamp(), ctx.timer_service().current_watermark() == MAX)


@pytest.mark.parametrize("options", RUNS)
def test_elements_keep_their_timestamps_and_event_time_does_not_end(
    env: StreamExecutionEnvironment, options: dict[str, Any]
) -> None:
    loop = numbers(env, [1, 3, 2]).iterate()
    loop.close_with(loop.map(lambda value: value - 1).filter(lambda value: value > 0))
    found = run_locally(loop.process(See()), **options).collected
    assert sorted(found) == sorted((n, value, False) for value in (1, 2, 3) for n in range(1, value + 1))


def marked(element: tuple[str, int]) -> Iterator[tuple[str, int]]:
    kind, value = element
    if kind == "first":
        yield ("second", value)


@pytest.mark.parametrize(
    ("epoch_records", "expected"),
    [
        # Everything in one epoch: the watermark is 24 when "second" elements come, only the last window is open.
        (None, [("sum", 3), ("first", 11), ("late", 1), ("late", 2), ("late", 11), ("sum", 50)]),
        (3, [("sum", 3), ("late", 1), ("late", 2), ("sum", 22), ("sum", 50)]),
        # Each comes back before the next one is read.
        (1, [("sum", 6), ("sum", 22), ("sum", 50)]),
    ],
)
def test_what_comes_back_may_be_late(epoch_records: int | None, expected: list[tuple[str, int]]) -> None:
    """A window of the loop that has fired does not see it; one that is still open does."""
    late = OutputTag("late")
    loop = numbers(environment(1), [("first", time) for time in (1, 2, 11, 25)]).iterate()
    windowed = loop.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10))).side_output_late_data(late)
    results = windowed.reduce(lambda left, right: ("sum", left[1] + right[1]))
    loop.close_with(loop.flat_map(marked))
    both = results.union(results.get_side_output(late).map(lambda element: ("late", element[1])))
    assert run_locally(both, epoch_records=epoch_records).collected == expected


@pytest.mark.parametrize("options", RUNS)
def test_windows_fire_when_nothing_comes_back_and_their_results_go_round(
    env: StreamExecutionEnvironment, options: dict[str, Any]
) -> None:
    """The last windows of a loop fire at the end of event time; it is not the end of the loop."""
    elements = [("a", time) for time in (1, 2, 11, 12, 13, 29)]
    loop = numbers(env, elements).iterate()
    raw, sums = loop.filter(lambda e: e[0] == "a"), loop.filter(lambda e: e[0] == "sum")
    windows = raw.key_by(lambda e: e[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    loop.close_with(windows.reduce(lambda left, right: ("a", left[1] + right[1])).map(lambda e: ("sum", e[1])))
    found = run_locally(sums.process(See()), **options).collected
    assert sorted((value, stamp) for (_, value), stamp, _ in found) == [(3, 9), (29, 29), (36, 19)]
    assert {ended for (_, value), _, ended in found if value == 29} == {True}


class AtTheEnd(KeyedProcessFunction):
    """Hands a number on at the last watermark, until it is 0."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        if ctx.timer_service().current_watermark() == MAX:
            yield value - 1
        ctx.timer_service().register_event_time_timer(MAX)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
        yield ctx.get_current_key() - 1


def test_timers_at_the_very_end_feed_back_as_well(env: StreamExecutionEnvironment) -> None:
    loop = env.from_collection([3]).iterate()
    last = loop.key_by(lambda value: value).process(AtTheEnd())
    loop.close_with(last.filter(lambda value: value > 0))
    assert run_locally(last).collected == [2, 1, 0]


class Someday(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(MAX - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
        yield 1


def test_timers_of_processing_time_do_not_keep_a_loop_alive(env: StreamExecutionEnvironment) -> None:
    loop = env.from_collection([1, 2]).iterate()
    loop.close_with(loop.key_by(lambda value: value).process(Someday()))
    assert sorted(run_locally(loop, max_epochs=5).collected) == [1, 2]


@pytest.mark.parametrize("options", RUNS)
def test_readers_of_a_loop_see_its_end_once(env: StreamExecutionEnvironment, options: dict[str, Any]) -> None:
    """All windows behind the loop fire, with everything that went round."""
    loop = numbers(env, [5, 3, 4]).iterate()
    loop.close_with(loop.map(lambda value: value - 1).filter(lambda value: value > 0))
    strategy = WatermarkStrategy.no_watermarks()
    behind = loop.assign_timestamps_and_watermarks(strategy)
    windows = behind.window_all(TumblingEventTimeWindows.of(Time.milliseconds(1000)))
    assert run_locally(windows.reduce(lambda left, right: left + right), **options).collected == [15 + 6 + 10]


# -- unbounded --------------------------------------------------------------------------------------------------------


class Waiting(Enumerator[Any]):
    """One split, and perhaps another one some day."""

    def __init__(self, context: SplitEnumeratorContext[Any], split: Any) -> None:
        self.context = context
        self.splits = [split]

    def handle_split_request(self, subtask_id: int) -> None:
        if self.splits:
            self.context.assign_split(self.splits.pop(), subtask_id)


class EndlessSource(ListSource):
    """Has nothing after its elements, but never ends."""

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[Any], checkpoint: Any = None) -> Any:
        [split] = super().create_enumerator(context).snapshot_state(0)
        return Waiting(context, split)


def test_a_job_without_end_goes_round_with_every_epoch() -> None:
    env = environment(1)
    source = EndlessSource([(time, 3) for time in range(2)])
    loop = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "endless").iterate(max_rounds=1)
    loop.close_with(loop.map(lambda value: value - 1).filter(lambda value: value > 0))
    loop.print()
    job = env.job_graph()
    engine = Engine(job)
    lines = [engine.epoch(worker).printed for worker in (0, 1, 0, 1, 1)]
    assert [list(map(int, found)) for found in lines] == [[3, 3], [2, 2], [1, 1], [], []]
    assert not engine.coordinator.finished
    engine.coordinator.stop()
    for _ in range(3):
        engine.epoch()
    assert engine.coordinator.finished


# -- errors -----------------------------------------------------------------------------------------------------------


def refused(match: str) -> Any:
    return pytest.raises(GraphError, match=match)


def test_a_loop_that_was_never_closed(env: StreamExecutionEnvironment) -> None:
    loop = env.from_sequence(1, 3).iterate()
    loop.map(str).print()
    with refused(r"operator 'Iterate' at .*test_iterate.py:\d+: the loop that iterate\(\) begins was never closed"):
        run_locally(env)


def test_a_loop_is_closed_once(env: StreamExecutionEnvironment) -> None:
    loop = env.from_sequence(1, 3).iterate()
    loop.close_with(loop.filter(lambda value: False))
    with refused(r"close_with\(\) at .*test_iterate.py:\d+: .* closed at .*test_iterate.py:\d+ already; union\(\)"):
        loop.close_with(loop.filter(lambda value: False))


def test_what_comes_back_must_come_from_the_loop(env: StreamExecutionEnvironment) -> None:
    source = env.from_sequence(1, 3)
    loop, other = source.iterate(), source.iterate()
    for stream in (source, source.map(str), other, other.map(abs)):
        with refused(r"close_with\(\) at .*: the stream does not come from the loop that .*test_iterate.py:\d+ begins"):
            loop.close_with(stream)
    loop.close_with(source.union(loop.filter(lambda value: False)))  # one that does is enough
    with refused("different environment"):
        other.close_with(environment().from_sequence(1, 2))
    with pytest.raises(TypeError, match=r"close_with\(\) at .* takes a DataStream"):
        other.close_with([1, 2])  # type: ignore[arg-type]


def test_declared_types_must_be_equal(env: StreamExecutionEnvironment) -> None:
    loop = env.from_sequence(1, 3).iterate()
    with refused(r"the loop has elements of type \w+, the stream of type \w+"):
        loop.close_with(loop.map(str, STRING))
    loop.close_with(loop.map(str))  # not declared: each element is checked
    with pytest.raises(JobFailedError, match=r"Iterate.*test_iterate.py") as failed:
        run_locally(loop)
    assert "'1'" in str(failed.value)


def test_a_loop_begins_before_the_keys(env: StreamExecutionEnvironment) -> None:
    with refused(r"iterate\(\) at .*test_iterate.py:\d+: .* call iterate\(\) before key_by\(\)"):
        env.from_sequence(1, 3).key_by(lambda value: value).iterate()


@pytest.mark.parametrize("rounds", [0, -1])
def test_there_is_at_least_one_round(env: StreamExecutionEnvironment, rounds: int) -> None:
    with pytest.raises(ValueError, match=rf"max_rounds must be at least 1, not {rounds}"):
        env.from_sequence(1, 3).iterate(max_rounds=rounds)


def test_a_number_alone_does_not_say_what_it_is(env: StreamExecutionEnvironment) -> None:
    """In Flink's streams it would be a time to wait, in its data sets the number of rounds."""
    with pytest.raises(TypeError):
        env.from_sequence(1, 3).iterate(5000)  # type: ignore[misc]


# -- the handle and the plan ------------------------------------------------------------------------------------------


def test_the_head_is_an_operator_like_any_other(env: StreamExecutionEnvironment) -> None:
    loop = env.from_sequence(1, 3).iterate()
    assert isinstance(loop, IterativeStream)
    assert loop.get_type() == LONG
    loop.name("count down").uid("my-loop").set_parallelism(3)
    loop.close_with(loop.map(lambda value: value - 1).filter(lambda value: value > 0))
    job = env.job_graph()
    [head] = [info for info in job.operators if info.uid == "my-loop"]
    assert (head.name, head.parallelism) == ("count down", 3)
    [end] = [info for info in job.operators if info.spec == specs.CloseWith(head.id)]
    assert (end.name, end.parallelism) == ("Sink: Feedback", 3)


def test_the_end_needs_no_uid(env: StreamExecutionEnvironment) -> None:
    env.get_config().disable_auto_generated_uids()
    loop = env.from_sequence(1, 3).uid("source").iterate()
    loop.uid("head")
    smaller: DataStream = loop.map(lambda value: value - 1).uid("map").filter(lambda value: value > 0).uid("filter")
    loop.close_with(smaller)
    assert sorted(run_locally(smaller).collected) == [1, 1, 2]


def test_the_plan_shows_where_the_loop_goes_on(env: StreamExecutionEnvironment) -> None:
    loop = env.from_sequence(1, 3).iterate()
    loop.close_with(loop.map(lambda value: value - 1).filter(lambda value: value > 0))
    nodes = {node["type"]: node for node in json.loads(env.get_execution_plan())["nodes"]}
    assert nodes["Sink: Feedback"]["pact"] == "Data Sink"
    assert nodes["Sink: Feedback"]["feeds_back_to"] == nodes["Iterate"]["id"]
    assert [node["type"] for node in nodes.values() if "feeds_back_to" in node] == ["Sink: Feedback"]


def test_only_the_operators_between_head_and_end_differ_in_batch_mode() -> None:
    env = environment(1, BATCH)
    loop = env.from_sequence(1, 3).key_by(lambda v: v).sum().name("before").iterate()
    inside = loop.key_by(lambda v: v).sum().name("inside")
    loop.close_with(inside.filter(lambda v: False))
    inside.key_by(lambda v: v).sum().name("behind").print()
    final = {info.name: info.final for info in env.job_graph().operators}
    assert final["before"] and final["behind"]
    assert not final["inside"]
