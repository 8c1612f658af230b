"""Random programs with a result that no interleaving changes: as Hypothesis data, on the API and in plain lists.

    @given(programs())
    def test(program):
        assert Counter(run(build(program, env))) == expected(program)

Elements are pairs (key, value) of small non-negative integers with timestamps. Sources emit in the order of time and
watermarks follow them, so no element is ever late, whatever the engine does. Running results (whose number and order do
depend on the interleaving) are reduced to their last before they are compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.connectors.source_base import QueueEnumerator
from millrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from millrace.datastream.functions import (
    CoMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

MAX = 2**63 - 1
WINDOW = 10
LONG = Types.LONG()
Pair = tuple[int, int]


class Stamped(NamedTuple):
    """An element of the oracle."""

    pair: Pair
    timestamp: int


# -- the program ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """One step. ``kind`` names a row of ``STEPS``; ``choice`` selects among its variants."""

    kind: str
    inputs: tuple[int, ...] = ()
    choice: int = 0
    parallelism: int = 1
    elements: tuple[tuple[int, Pair], ...] = ()
    """of a source: (timestamp, pair), ascending"""


@dataclass(frozen=True)
class Program:
    """Nodes in topological order; the result is the union of those that nobody reads."""

    nodes: tuple[Node, ...]

    @property
    def leaves(self) -> list[int]:
        read = {source for node in self.nodes for source in node.inputs}
        return [index for index in range(len(self.nodes)) if index not in read]


@st.composite
def programs(draw: st.DrawFn, max_steps: int = 6, max_elements: int = 12, max_parallelism: int = 3) -> Program:
    """Random programs."""
    nodes: list[Node] = []
    parallelisms = st.integers(1, max_parallelism)
    pairs = st.tuples(st.integers(0, 3), st.integers(0, 9))
    for _ in range(draw(st.integers(1, 2))):
        # The size is drawn by itself: lists that Hypothesis ends at will are mostly too short to be of interest.
        size = draw(st.sampled_from([0, 1, max_elements // 2, max_elements, max_elements]))
        elements = draw(st.lists(st.tuples(st.integers(0, 40), pairs), min_size=size, max_size=size))
        elements.sort(key=lambda element: element[0])
        nodes.append(Node("source", (), 0, draw(parallelisms), tuple(elements)))
    for _ in range(draw(st.integers(1, max_steps))):
        kind = draw(st.sampled_from(sorted(STEPS)))
        inputs = tuple(draw(st.integers(0, len(nodes) - 1)) for _ in range(STEPS[kind].inputs))
        nodes.append(Node(kind, inputs, draw(st.integers(0, 2)), draw(parallelisms)))
    return Program(tuple(nodes))


def build(program: Program, env: StreamExecutionEnvironment, at_once: int = 1) -> DataStream:
    """The program on the DataStream API; the elements of the result are (number of the leaf, key, value).

    :param at_once: elements that a source gives in one poll.
    """
    streams: list[DataStream] = []
    for node in program.nodes:
        if node.kind == "source":
            strategy = WatermarkStrategy.for_monotonous_timestamps()
            source = ListSource(node.elements, at_once)
            stream = env.from_source(source, strategy, "List").set_parallelism(node.parallelism)
        else:
            stream = STEPS[node.kind].build(node, *[streams[source] for source in node.inputs])
        streams.append(stream)
    ends = [streams[leaf].map(Tagged(leaf)) for leaf in program.leaves]
    return ends[0].union(*ends[1:]) if len(ends) > 1 else ends[0]


def expected(program: Program) -> Counter[tuple[int, int, int]]:
    """The result, computed on plain lists."""
    results: list[list[Stamped]] = []
    for node in program.nodes:
        if node.kind == "source":
            results.append([Stamped(pair, timestamp) for timestamp, pair in node.elements])
        else:
            results.append(STEPS[node.kind].compute(node, *[results[source] for source in node.inputs]))
    return Counter((leaf, *element.pair) for leaf in program.leaves for element in results[leaf])


class Tagged:
    """Tells the leaves apart. A class, since a loop's lambda would see the last leaf only."""

    def __init__(self, leaf: int) -> None:
        self.leaf = leaf

    def __call__(self, pair: Pair) -> tuple[int, int, int]:
        return (self.leaf, *pair)


# -- the source -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ListSplit:
    """What is still to be read."""

    elements: tuple[tuple[int, Any], ...]


class ListSource(Source[Any, ListSplit]):
    """(timestamp, value) pairs, one per poll: so an epoch can end after any element. Or some ``at_once``."""

    def __init__(self, elements: Sequence[tuple[int, Any]], at_once: int = 1) -> None:
        self.elements = tuple(elements)
        self.at_once = at_once

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[ListSplit], checkpoint: Any = None
    ) -> QueueEnumerator[ListSplit]:
        width = context.current_parallelism()
        splits = [ListSplit(self.elements[part::width]) for part in range(width)]
        return QueueEnumerator(context, splits if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> ListReader:
        return ListReader(self.at_once)


class ListReader(SourceReader[Any, ListSplit]):
    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.splits: list[ListSplit] = []
        self.no_more = False

    def add_splits(self, splits: Sequence[ListSplit]) -> None:
        self.splits += splits

    def notify_no_more_splits(self) -> None:
        self.no_more = True

    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        while self.splits and not self.splits[0].elements:
            self.splits.pop(0)
        if not self.splits:
            return InputStatus.END_OF_INPUT if self.no_more else InputStatus.NOTHING_AVAILABLE
        elements, most = self.splits[0].elements, self.at_once
        if most == 1:
            output.collect(elements[0][1], elements[0][0])
        else:
            output.collect_batch([value for _, value in elements[:most]], [time for time, _ in elements[:most]])
        self.splits[0] = replace(self.splits[0], elements=elements[most:])
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[ListSplit]:
        return self.splits


# -- functions --------------------------------------------------------------------------------------------------------

MAPS: list[Callable[[Pair], Pair]] = [
    lambda pair: (pair[0], pair[1] + 1),
    lambda pair: (pair[1] % 4, pair[0]),
    lambda pair: ((pair[0] + pair[1]) % 5, pair[1] * 2 % 17),
]
FILTERS: list[Callable[[Pair], bool]] = [
    lambda pair: pair[1] % 2 == 0,
    lambda pair: pair[0] != 1,
    lambda pair: pair[0] + pair[1] < 9,
]


def several(pair: Pair) -> Iterator[Pair]:
    for number in range(pair[1] % 3):
        yield (pair[0], pair[1] + number)


def key(pair: Pair) -> int:
    return pair[0]


ODD = OutputTag("odd")


class Split(ProcessFunction):
    """Odd values to the side."""

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Any]:
        if value[1] % 2:
            yield ODD, value
        else:
            yield value


class AtTheEnd(KeyedProcessFunction):
    """Sum, maximum or number of values per key, at MAX_WATERMARK."""

    def __init__(self, choice: int) -> None:
        self.choice = choice

    def open(self, runtime_context: RuntimeContext) -> None:
        if self.choice == 0:
            self.state: Any = runtime_context.get_state(ValueStateDescriptor("sum", LONG))
        elif self.choice == 1:
            self.state = runtime_context.get_reducing_state(ReducingStateDescriptor("max", max, LONG))
        else:
            self.state = runtime_context.get_list_state(ListStateDescriptor("values", LONG))

    def process_element(self, value: Pair, ctx: Any) -> None:
        if self.choice == 0:
            self.state.update((self.state.value() or 0) + value[1])
        else:
            self.state.add(value[1])
        ctx.timer_service().register_event_time_timer(MAX)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        if self.choice == 0:
            yield (ctx.get_current_key(), self.state.value())
        elif self.choice == 1:
            yield (ctx.get_current_key(), self.state.get())
        else:
            yield (ctx.get_current_key(), len(list(self.state.get())))


def at_the_end(choice: int, values: list[int]) -> int:
    return [sum, max, len][choice](values)


class Windows(KeyedProcessFunction):
    """Sums per key and window of event time, each emitted when the watermark passes its end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", LONG, LONG))

    def process_element(self, value: Pair, ctx: Any) -> None:
        end = window_end(ctx.timestamp())
        self.sums.put(end, (self.sums.get(end) or 0) + value[1])
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        yield (ctx.get_current_key(), self.sums.get(timestamp))
        self.sums.remove(timestamp)


def window_end(timestamp: int) -> int:
    return min(timestamp - timestamp % WINDOW + WINDOW - 1, MAX)


class Both(CoMapFunction):
    def map1(self, value: Pair) -> Pair:
        return (value[0], value[1] + 1)

    def map2(self, value: Pair) -> Pair | None:
        return None if value[1] == 3 else (value[0] + 1, value[1])


class Weighted(KeyedCoProcessFunction):
    """3 x the first input's sum + the second one's, per key, at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", LONG))

    def _add(self, number: int, ctx: Any) -> None:
        self.sum.update((self.sum.value() or 0) + number)
        ctx.timer_service().register_event_time_timer(MAX)

    def process_element1(self, value: Pair, ctx: Any) -> None:
        self._add(3 * value[1], ctx)

    def process_element2(self, value: Pair, ctx: Any) -> None:
        self._add(value[1], ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        yield (ctx.get_current_key(), self.sum.value())


class ByValue(TimestampAssigner):
    def extract_timestamp(self, value: Pair, record_timestamp: int) -> int:
        return value[1] * 7


# -- the steps: on the API and on lists -------------------------------------------------------------------------------


class Step(NamedTuple):
    """A kind of step."""

    build: Callable[..., DataStream]
    compute: Callable[..., list[Stamped]]
    inputs: int = 1


def _parallel(node: Node, stream: DataStream) -> DataStream:
    return stream.set_parallelism(node.parallelism)


def _build_partitioned(node: Node, stream: DataStream) -> DataStream:
    return _parallel(node, [stream.rebalance, stream.shuffle, stream.rescale][node.choice]().map(same))


def _build_running(node: Node, stream: DataStream) -> DataStream:
    keyed = stream.key_by(key)
    running = _parallel(node, [keyed.sum(1), keyed.max(1), keyed.reduce(larger)][node.choice])
    return running.key_by(key).process(AtTheEnd(1)).set_parallelism(node.parallelism)


def same(pair: Pair) -> Pair:
    return pair


def larger(first: Pair, second: Pair) -> Pair:
    return (first[0], max(first[1], second[1]))


def to_one(key: int, receivers: int) -> int:
    return key * 7 % receivers


def _copies(elements: list[Stamped], times: int) -> list[Stamped]:
    return [element for element in elements for _ in range(times)]


def _changed(elements: Iterable[Stamped], change: Callable[[Pair], Iterable[Pair]]) -> list[Stamped]:
    return [Stamped(pair, element.timestamp) for element in elements for pair in change(element.pair)]


def _grouped(elements: Iterable[Stamped]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for (group, value), _ in elements:
        groups[group].append(value)
    return groups


def _compute_end(elements: list[Stamped], choice: int) -> list[Stamped]:
    return [Stamped((group, at_the_end(choice, values)), MAX) for group, values in _grouped(elements).items()]


def _compute_windows(node: Node, elements: list[Stamped]) -> list[Stamped]:
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for (group, value), timestamp in elements:
        sums[group, window_end(timestamp)] += value
    return [Stamped((group, total), end) for (group, end), total in sums.items()]


def _compute_weighted(node: Node, first: list[Stamped], second: list[Stamped]) -> list[Stamped]:
    ones, twos = _grouped(first), _grouped(second)
    return [Stamped((k, 3 * sum(ones.get(k, ())) + sum(twos.get(k, ()))), MAX) for k in {**ones, **twos}]


def _compute_both(node: Node, first: list[Stamped], second: list[Stamped]) -> list[Stamped]:
    ones = _changed(first, lambda pair: [(pair[0], pair[1] + 1)])
    return ones + _changed(second, lambda pair: [] if pair[1] == 3 else [(pair[0] + 1, pair[1])])


STEPS: dict[str, Step] = {
    "map": Step(
        lambda node, s: _parallel(node, s.map(MAPS[node.choice])),
        lambda node, e: _changed(e, lambda pair: [MAPS[node.choice](pair)]),
    ),
    "filter": Step(
        lambda node, s: _parallel(node, s.filter(FILTERS[node.choice])),
        lambda node, e: [element for element in e if FILTERS[node.choice](element.pair)],
    ),
    "flat_map": Step(
        lambda node, s: _parallel(node, s.flat_map(several)),
        lambda node, e: _changed(e, several),
    ),
    "partitioned": Step(_build_partitioned, lambda node, e: list(e)),
    "global": Step(lambda node, s: _parallel(node, s.global_().map(same)), lambda node, e: list(e)),
    "custom": Step(
        lambda node, s: _parallel(node, s.partition_custom(to_one, key).map(same)),
        lambda node, e: list(e),
    ),
    "broadcast": Step(
        lambda node, s: _parallel(node, s.broadcast().map(same)),
        lambda node, e: _copies(e, node.parallelism),
    ),
    "union": Step(
        lambda node, a, b: _parallel(node, a.union(b).map(same)),
        lambda node, a, b: a + b,
        2,
    ),
    "main": Step(
        lambda node, s: _parallel(node, s.process(Split())),
        lambda node, e: [element for element in e if element.pair[1] % 2 == 0],
    ),
    "side": Step(
        lambda node, s: _parallel(node, s.process(Split())).get_side_output(ODD).map(MAPS[node.choice]),
        lambda node, e: _changed(e, lambda pair: [MAPS[node.choice](pair)] if pair[1] % 2 else []),
    ),
    "both": Step(lambda node, a, b: _parallel(node, a.connect(b).map(Both())), _compute_both, 2),
    "weighted": Step(
        lambda node, a, b: _parallel(node, a.connect(b).key_by(key, key).process(Weighted())),
        _compute_weighted,
        2,
    ),
    "at the end": Step(
        lambda node, s: _parallel(node, s.key_by(key).process(AtTheEnd(node.choice))),
        lambda node, e: _compute_end(e, node.choice),
    ),
    "running": Step(_build_running, lambda node, e: _compute_end(e, 0 if node.choice == 0 else 1)),
    "windows": Step(
        lambda node, s: _parallel(node, s.key_by(key).process(Windows())),
        _compute_windows,
    ),
    "new time": Step(
        # Without watermarks but the last one nothing is late, in whatever order the elements come.
        lambda node, s: _parallel(
            node,
            s.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks().with_timestamp_assigner(ByValue())),
        ),
        lambda node, e: [Stamped(element.pair, element.pair[1] * 7) for element in e],
    ),
}
