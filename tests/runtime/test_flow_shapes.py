"""Programs of every shape in flow: tasks take turns at random, receivers have room for one element or for many, epochs
end anywhere and all tasks are lost now and then. What comes out is what plain lists say, and ``run_locally`` gives the
same.

``MILLRACE_FLOW_SEED`` is the first seed of the bounded tests, ``MILLRACE_FLOW_SEEDS`` says how many the slow one has.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.endings import small_pieces
from tests.programs import (
    LONG,
    MAX,
    ODD,
    AtTheEnd,
    Both,
    ListReader,
    ListSource,
    ListSplit,
    Pair,
    Split,
    Weighted,
    key,
    same,
    several,
)
from tests.seeds import seed_of

from millrace.common.source import InputStatus, ReaderOutput, SourceReaderContext, SplitEnumeratorContext
from millrace.common.time import Time
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.source_base import QueueEnumerator
from millrace.datastream import (
    AsyncDataStream,
    DataStream,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
    TimeDomain,
)
from millrace.datastream.functions import (
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.runtime.operators.job_graph import JobGraph
from millrace.testing.flow import FlowEngine
from millrace.testing.ledger import LedgerSink, read_ledger
from millrace.testing.local import job_of, run_job

SEED = seed_of("MILLRACE_FLOW_SEED")
BOUNDED = 8
"""seeds of a shape"""
SEEDS = int(os.environ.get("MILLRACE_FLOW_SEEDS") or 10_000)
TURNS = 3_000_000
"""More than any of these programs takes."""
WINDOW = 10
RULES = MapStateDescriptor("rules", LONG, LONG)
Stamped = tuple[int, Pair]
"""(timestamp, (key, value)), in the order of time"""
Result = Counter[Hashable]


# -- what is drawn ----------------------------------------------------------------------------------------------------


class Turns(Random):
    """The draws of an engine, which shuffles the tasks in each turn: so a program that never ends is noticed."""

    left = TURNS

    def shuffle(self, x: Any) -> None:
        self.left -= 1
        assert self.left, f"the program has not ended after {TURNS} turns"
        super().shuffle(x)


class Clock:
    """Goes on by some ms whenever somebody asks."""

    def __init__(self, draw: Random) -> None:
        self._draw = Random(draw.random())
        self._now = 0

    def __call__(self) -> int:
        self._now += self._draw.choice((0, 0, 0, 1, 2))
        return self._now


class World:
    """What a program is made of."""

    def __init__(self, seed: int) -> None:
        self.draw = Turns(seed)
        self.env = StreamExecutionEnvironment().set_parallelism(self.width())
        if self.draw.random() < 0.3:
            self.env.disable_operator_chaining()
        self.first, self.second = self.elements(), self.elements()
        self.widths: list[int] = []
        """that the expected result depends on"""

    def width(self) -> int:
        return self.draw.randint(1, 3)

    def elements(self) -> list[Stamped]:
        draw = self.draw
        times = sorted(draw.randint(0, 40) for _ in range(draw.choice([0, 1, 6, 25])))
        return [(time, (draw.randint(0, 3), draw.randint(0, 9))) for time in times]

    def source(self, elements: Sequence[Stamped], parallelism: int | None = None) -> DataStream:
        source = ListSource(elements, self.draw.choice([1, 2, 100]))
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        return self.env.from_source(source, strategy, "List").set_parallelism(parallelism or self.width())


@dataclass(frozen=True)
class Shape:
    name: str
    build: Callable[[World], DataStream]
    expected: Callable[[World], Iterable[Hashable]]
    """with the world after ``build``"""
    read: Callable[[list[Any]], Iterable[Hashable]] = list
    """makes what was collected a matter of the elements alone, whatever the order that they were taken in"""
    seeds: int = BOUNDED


# -- shapes -----------------------------------------------------------------------------------------------------------


class Which(CoMapFunction):
    """What comes over which input."""

    def map1(self, value: Pair) -> Any:
        return ("data", value)

    def map2(self, value: Pair) -> Any:
        return ("rule", value)


def pairs(elements: Sequence[Stamped]) -> list[Pair]:
    return [pair for _, pair in elements]


def totals(elements: Iterable[Pair]) -> dict[int, int]:
    sums: Counter[int] = Counter()
    for group, value in elements:
        sums[group] += value
    return dict(sums)


def two_sources(world: World) -> DataStream:
    """Both are in the same tasks, and one of them goes to everybody."""
    width, sources = world.width(), world.width()
    world.widths.append(width)
    data, rules = world.source(world.first, sources), world.source(world.second, sources)
    return data.connect(rules.broadcast()).map(Which()).set_parallelism(width)


def two_sources_expected(world: World) -> list[Any]:
    rules = [("rule", pair) for pair in pairs(world.second) for _ in range(world.widths[0])]
    return [("data", pair) for pair in pairs(world.first)] + rules


def diamond(world: World) -> DataStream:
    """One stream, split into branches of which one is short, united again."""
    stream = world.source(world.first)
    short = stream.map(same)
    if world.draw.random() < 0.5:
        short = short.rebalance().map(same).set_parallelism(world.width())
    long = stream.flat_map(several).rebalance().map(same).set_parallelism(world.width()).rescale().map(same)
    return short.union(long).rebalance().map(same).set_parallelism(world.width())


def diamond_expected(world: World) -> list[Any]:
    return pairs(world.first) + [copy for pair in pairs(world.first) for copy in several(pair)]


def split_and_joined(world: World) -> DataStream:
    """A diamond whose branches meet in an operator with two inputs."""
    stream = world.source(world.first)
    doubled = stream.map(double).set_parallelism(world.width())
    return stream.connect(doubled).key_by(key, key).process(Weighted()).set_parallelism(world.width())


def double(pair: Pair) -> Pair:
    return (pair[0], 2 * pair[1])


def split_and_joined_expected(world: World) -> list[Any]:
    return [(group, 3 * total + 2 * total) for group, total in totals(pairs(world.first)).items()]


def union(world: World) -> DataStream:
    first, second = world.source(world.first), world.source(world.second)
    both = first.union(second, first) if world.draw.random() < 0.5 else first.union(second).union(first)
    return both.map(same).set_parallelism(world.width())


def union_expected(world: World) -> list[Any]:
    return pairs(world.first) * 2 + pairs(world.second)


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Pair, right: Pair, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right


def interval_join(world: World) -> DataStream:
    """A stream with itself."""
    keyed = world.source(world.first).key_by(key)
    joined = keyed.interval_join(keyed).between(Time.milliseconds(-3), Time.milliseconds(2))
    return joined.process(Pairs()).set_parallelism(world.width())


def interval_join_expected(world: World) -> list[Any]:
    first = world.first
    return [(a, b) for at, a in first for other, b in first if a[0] == b[0] and -3 <= other - at <= 2]


class Joined(JoinFunction):
    def join(self, first: Pair, second: Pair) -> Any:
        return first, second


def window_join(world: World) -> DataStream:
    """A stream with what is made of it."""
    stream = world.source(world.first)
    joined = stream.join(stream.map(double)).where(key).equal_to(key)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))
    return joined.window(windows).apply(Joined()).set_parallelism(world.width())


def window_join_expected(world: World) -> list[Any]:
    first = world.first
    return [(a, double(b)) for at, a in first for other, b in first if a[0] == b[0] and at // WINDOW == other // WINDOW]


def side_outputs(world: World) -> DataStream:
    even = world.source(world.first).process(Split()).set_parallelism(world.width())
    odd = even.get_side_output(ODD)
    sums = odd.key_by(key).process(AtTheEnd(0)).set_parallelism(world.width())
    return even.rebalance().map(tagged_even).set_parallelism(world.width()).union(sums.map(tagged_odd))


def tagged_even(pair: Pair) -> Any:
    return ("even", *pair)


def tagged_odd(pair: Pair) -> Any:
    return ("odd", *pair)


def side_outputs_expected(world: World) -> list[Any]:
    even = [("even", *pair) for pair in pairs(world.first) if pair[1] % 2 == 0]
    return even + [("odd", *sums) for sums in totals(pair for pair in pairs(world.first) if pair[1] % 2).items()]


class Ruled(KeyedBroadcastProcessFunction):
    """The sum of each key, and all rules, at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", LONG))

    def process_element(self, value: Pair, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        self.sum.update((self.sum.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(MAX)

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(*value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        rules = sorted(ctx.get_broadcast_state(RULES).items())
        yield (ctx.get_current_key(), self.sum.value(), tuple(rules))


class Counted(BroadcastProcessFunction):
    """What comes, and how often what comes to all."""

    def process_element(self, value: Pair, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield ("data", value)

    def process_broadcast_element(self, value: Pair, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield ("rule", value)


def rules_of(world: World) -> list[Stamped]:
    """Each has a key of its own, so their order does not matter."""
    return [(time, (number, pair[1])) for number, (time, pair) in enumerate(world.second)]


def broadcast_state(world: World) -> DataStream:
    """Both sources are in the same tasks."""
    sources, width = world.width(), world.width()
    world.widths.append(width)
    data, rules = world.source(world.first, sources), world.source(rules_of(world), sources)
    plain = data.connect(rules.broadcast(RULES)).process(Counted()).set_parallelism(width)
    keyed = data.key_by(key).connect(rules.broadcast(RULES)).process(Ruled()).set_parallelism(world.width())
    return plain.union(keyed)


def broadcast_state_expected(world: World) -> list[Any]:
    rules = pairs(rules_of(world))
    plain = [("data", pair) for pair in pairs(world.first)]
    plain += [("rule", rule) for rule in rules for _ in range(world.widths[0])]
    return plain + [(*sums, tuple(rules)) for sums in totals(pairs(world.first)).items()]


COPIES = 10_000


def many_of_one(world: World) -> DataStream:
    """One element alone becomes 10,000, which nobody may have room for."""
    stream = world.source(larger(world)).flat_map(copies)
    counted = stream.rebalance().map(same).set_parallelism(world.width())
    return counted.key_by(modulo).process(AtTheEnd(2)).set_parallelism(world.width())


def larger(world: World) -> list[Stamped]:
    middle = len(world.first) // 2
    return [(at, (number, COPIES if number == middle else 2)) for number, (at, _) in enumerate(world.first)]


def copies(pair: Pair) -> Iterator[Pair]:
    return ((number, 1) for number in range(pair[1]))


def modulo(pair: Pair) -> int:
    return pair[0] % 3


def many_of_one_expected(world: World) -> list[Any]:
    made = [copy for pair in pairs(larger(world)) for copy in copies(pair)]
    return list(Counter(map(modulo, made)).items())


def three_exchanges(world: World) -> DataStream:
    """Sums while they grow, of which only the last one counts."""
    spread = world.source(world.first).rebalance().map(same).set_parallelism(world.width())
    running = spread.key_by(key).sum(1).set_parallelism(world.width())
    again = running.rebalance().map(same).set_parallelism(world.width())
    return again.key_by(key).process(AtTheEnd(1)).set_parallelism(world.width())


def three_exchanges_expected(world: World) -> list[Any]:
    return list(totals(pairs(world.first)).items())


@dataclass(frozen=True)
class LingeringSplit(ListSplit):
    """After its elements there is nothing for some polls."""

    dry: int = 0


class LingeringSource(ListSource):
    """Stays for a while when all is read."""

    def __init__(self, elements: Sequence[Stamped], dry: int) -> None:
        super().__init__(elements)
        self.dry = dry

    def create_enumerator(
        self, context: SplitEnumeratorContext[ListSplit], checkpoint: Any = None
    ) -> QueueEnumerator[ListSplit]:
        width = context.current_parallelism()
        splits: list[ListSplit] = [LingeringSplit(self.elements[part::width], self.dry) for part in range(width)]
        return QueueEnumerator(context, splits if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> ListReader:
        return LingeringReader(1)


class LingeringReader(ListReader):
    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        if self.splits and not self.splits[0].elements:
            first = self.splits[0]
            assert isinstance(first, LingeringSplit)
            if first.dry:
                self.splits[0] = replace(first, dry=first.dry - 1)
                return InputStatus.NOTHING_AVAILABLE
        return super().poll_next(output)


class Timers(KeyedProcessFunction):
    """Hands on what has come some ms later, by the clock; what is left, at the end; and one element for each time of
    its own timers in event time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", LONG))

    def process_element(self, value: Pair, ctx: Any) -> None:
        self.waiting.add(value[1])
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 1)
        timers.register_event_time_timer(ctx.timestamp() + 2)
        timers.register_event_time_timer(MAX)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        by_the_clock = ctx.time_domain() == TimeDomain.PROCESSING_TIME
        if by_the_clock or timestamp == MAX:
            for value in list(self.waiting.get() or ()):
                yield ("soon" if by_the_clock else "rest", ctx.get_current_key(), value)
            self.waiting.clear()
        else:
            yield ("event", ctx.get_current_key(), timestamp)


def timers(world: World) -> DataStream:
    source = LingeringSource(world.first, world.draw.choice([0, 1, 30]))
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = world.env.from_source(source, strategy, "Lingering").set_parallelism(world.width())
    fired = stream.key_by(key).process(Timers()).set_parallelism(world.width())
    return fired.rebalance().map(same).set_parallelism(world.width())


def timers_expected(world: World) -> list[Any]:
    fired = {("event", pair[0], time + 2) for time, pair in world.first}
    return [("value", *pair) for pair in pairs(world.first)] + sorted(fired)


def whenever(collected: list[Any]) -> list[Hashable]:
    return [("event" if kind == "event" else "value", *rest) for kind, *rest in collected]


def windows(world: World) -> DataStream:
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))
    windowed = world.source(world.first).key_by(key).window(assigner).reduce(added)
    return windowed.set_parallelism(world.width()).rebalance().map(same).set_parallelism(world.width())


def added(first: Pair, second: Pair) -> Pair:
    return (first[0], first[1] + second[1])


def windows_expected(world: World) -> list[Any]:
    ordered = sorted((time // WINDOW, pair) for time, pair in world.first)
    return [each for _, group in groupby(ordered, itemgetter(0)) for each in totals(pair for _, pair in group).items()]


class Call(AsyncFunction[Pair, Pair]):
    """Some take longer than others."""

    async def async_invoke(self, value: Pair) -> list[Pair]:
        for _ in range(value[1] % 3):
            await asyncio.sleep(0)
        return list(several(value))


def unordered_calls(world: World) -> DataStream:
    stream = world.source(world.first).rebalance()
    capacity = world.draw.choice([1, 2, 100])
    called = AsyncDataStream.unordered_wait(stream, Call(), Time.minutes(1), capacity)
    return called.set_parallelism(world.width()).key_by(key).process(AtTheEnd(0)).set_parallelism(world.width())


def unordered_calls_expected(world: World) -> list[Any]:
    return list(totals(answer for pair in pairs(world.first) for answer in several(pair)).items())


def ordered_calls(world: World) -> DataStream:
    """Everywhere one subtask, so all is in order."""
    world.env.set_parallelism(1)
    stream = world.source(world.first, 1)
    if world.draw.random() < 0.5:
        stream = stream.rebalance()
    called = AsyncDataStream.ordered_wait(stream, Call(), Time.minutes(1), world.draw.choice([1, 2, 100]))
    return called.global_().map(same) if world.draw.random() < 0.5 else called


def ordered_calls_expected(world: World) -> list[Any]:
    return list(enumerate(answer for pair in pairs(world.first) for answer in several(pair)))


def numbered(collected: list[Any]) -> list[Hashable]:
    return list(enumerate(collected))


def two_inputs_of_one(world: World) -> DataStream:
    """Both inputs of an operator come from one subtask, over exchanges of two kinds."""
    stream = world.source(world.first)
    return stream.rebalance().connect(stream.rescale()).map(Both()).set_parallelism(world.width())


def two_inputs_of_one_expected(world: World) -> list[Any]:
    first = [(group, value + 1) for group, value in pairs(world.first)]
    return first + [(group + 1, value) for group, value in pairs(world.first) if value != 3]


SHAPES = [
    Shape("two sources in one task", two_sources, two_sources_expected),
    Shape("diamond", diamond, diamond_expected),
    Shape("split and joined", split_and_joined, split_and_joined_expected),
    Shape("union", union, union_expected),
    Shape("interval join", interval_join, interval_join_expected),
    Shape("window join", window_join, window_join_expected),
    Shape("side outputs", side_outputs, side_outputs_expected),
    Shape("broadcast state", broadcast_state, broadcast_state_expected),
    Shape("many of one", many_of_one, many_of_one_expected, seeds=4),
    Shape("three exchanges", three_exchanges, three_exchanges_expected),
    Shape("timers", timers, timers_expected, whenever),
    Shape("windows", windows, windows_expected),
    Shape("unordered calls", unordered_calls, unordered_calls_expected),
    Shape("ordered calls", ordered_calls, ordered_calls_expected, numbered),
    Shape("two inputs of one", two_inputs_of_one, two_inputs_of_one_expected),
]


# -- the tests --------------------------------------------------------------------------------------------------------


@contextmanager
def failing_with(seed: int, shape: str) -> Iterator[None]:
    """Errors that say how to repeat them."""
    try:
        yield
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise AssertionError(f"{shape}: repeat with MILLRACE_FLOW_SEED={seed}: {text}") from error


def run_in_flow(world: World, job: JobGraph) -> list[Any]:
    """What a job collects."""
    draw = world.draw
    engine = FlowEngine(
        job,
        Clock(draw),
        draw,
        most=draw.choice([1, 3, 16_384]),
        end=draw.choice([0.0, 0.005, 0.05]),
        aligned=draw.random() < 0.3,
        dies=draw.choice([0.0, 0.2]),
        late=draw.choice([0, 1_000_000, 250_000_000]),
    )
    with small_pieces() if draw.random() < 0.5 else nullcontext():
        return [v for result in engine.epochs() for part in result.collected for v in pickle.loads(part)]


def in_epochs(world: World, job: JobGraph) -> JobGraph:
    return replace(job, epoch_records=world.draw.choice([None, None, 1, 4]))


def check(shape: Shape, seed: int, locally: bool = False) -> list[Any]:
    """One program; what it has collected."""
    with failing_with(seed, shape.name):
        world = World(seed)
        job = in_epochs(world, job_of(shape.build(world)))
        expected: Result = Counter(shape.expected(world))
        collected = run_in_flow(world, job)
        assert Counter(shape.read(collected)) == expected
        if locally:
            assert Counter(shape.read(run_job(job, Clock(world.draw)).collected)) == expected
    return collected


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape(shape: Shape) -> None:
    for seed in range(SEED, SEED + shape.seeds):
        check(shape, seed, locally=True)


def check_sink(seed: int, directory: Path) -> None:
    with failing_with(seed, "sink"):
        world = World(seed)
        spread = world.source(world.first).rebalance().map(same).set_parallelism(world.width())
        spread.sink_to(LedgerSink(directory)).set_parallelism(world.width())
        run_in_flow(world, in_epochs(world, job_of(world.env)))
        ledger = read_ledger(directory)
        ledger.check(pairs(world.first))
        assert ledger.prepared == (), "nothing is left half done"


def test_a_sink_in_two_phases(tmp_path: Path) -> None:
    for seed in range(SEED, SEED + BOUNDED):
        check_sink(seed, tmp_path / str(seed))


def test_timers_fire_by_the_clock_while_the_sources_rest() -> None:
    shape = next(shape for shape in SHAPES if shape.name == "timers")
    kinds = {kind for seed in range(40) for kind, *_ in check(shape, seed)}
    assert kinds == {"soon", "rest", "event"}


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("shape", [*SHAPES, None], ids=lambda shape: shape.name if shape else "sink")
def test_many_seeds(shape: Shape | None, tmp_path: Path) -> None:
    """``MILLRACE_FLOW_SEEDS`` in all, of which each shape has its share."""
    share = BOUNDED if shape is None else shape.seeds
    shares = BOUNDED + sum(each.seeds for each in SHAPES)
    for number in range(-(-SEEDS * share // shares)):
        if shape is None:
            check_sink(SEED + number, tmp_path / str(number))
        else:
            check(shape, SEED + number)
