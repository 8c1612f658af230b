"""``broadcast``, ``connect`` and ``process``: what they take, what they make of it, and what a whole job gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import numbers

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import (
    BroadcastConnectedStream,
    BroadcastStream,
    DataStream,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    derived_streams,
    handles,
)
from millrace.datastream.functions import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
)
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig
from millrace.graph.program import GraphError
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.operators import specs
from millrace.testing import run_locally

INT = Types.INT()
RULES = MapStateDescriptor("rules", INT, INT)
OTHERS = MapStateDescriptor("others", INT, INT)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment().set_parallelism(2)


class Plain(BroadcastProcessFunction[Any, Any, Any]):
    """Every element with the rules of the moment; every rule with the subtask that it reaches."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield ("element", value, sorted(ctx.get_broadcast_state(RULES).items()))

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield ("rule", value, self.subtask)


class Keyed(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield (ctx.get_current_key(), value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(OTHERS)


class Neither(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None: ...

    def process_element2(self, value: Any, ctx: Any) -> None: ...


def test_the_names_are_where_pyflink_has_them() -> None:
    assert handles.BroadcastStream is BroadcastStream
    assert derived_streams.BroadcastConnectedStream is BroadcastConnectedStream


def test_what_the_handles_hold(env: StreamExecutionEnvironment) -> None:
    elements, rules = env.from_collection([1]), env.from_collection([(1, 2)])
    broadcast = rules.broadcast(RULES, OTHERS)
    assert isinstance(broadcast, BroadcastStream)
    assert isinstance(broadcast.input_stream, DataStream)
    assert broadcast.broadcast_state_descriptors == [RULES, OTHERS]
    both = elements.connect(broadcast)
    assert isinstance(both, BroadcastConnectedStream)
    assert both.non_broadcast_stream is elements
    assert both.broadcast_stream is broadcast
    assert both.broadcast_state_descriptors == [RULES, OTHERS]
    assert isinstance(rules.broadcast(), DataStream), "without descriptors nothing but a partitioning"


@pytest.mark.parametrize(
    ("keyed", "function", "name", "kind"),
    [
        (False, Plain(), "Co-Process-Broadcast", specs.BroadcastProcess),
        (True, Keyed(), "Keyed-Co-Process-Broadcast", specs.KeyedBroadcastProcess),
    ],
)
def test_the_node(env: StreamExecutionEnvironment, keyed: bool, function: Any, name: str, kind: type) -> None:
    elements: DataStream = env.from_collection([1])
    if keyed:
        elements = elements.key_by(lambda value: value)
    stream = elements.connect(env.from_collection([(1, 2)]).broadcast(RULES)).process(function, Types.STRING())
    assert stream.get_name() == name
    assert stream.get_type() == Types.STRING()
    node = stream._node("test")
    assert isinstance(node.spec, kind)
    assert [edge.input for edge in node.edges] == [0, 1]
    job = env.job_graph()
    assert [edge.input for edge in job.edges if edge.target == node.id] == [1, 0], "the broadcast side comes first"


BAD: list[tuple[Callable[[DataStream, DataStream], Any], type[Exception], str]] = [
    (
        lambda a, b: a.key_by(abs).connect(b.broadcast(RULES)).process(Plain()),
        TypeError,
        r"process\(\) at .*test_broadcast_stream.py:\d+ can't run Plain, a BroadcastProcessFunction: the stream is "
        r"keyed: take a KeyedBroadcastProcessFunction",
    ),
    (
        lambda a, b: a.connect(b.broadcast(RULES)).process(Keyed()),
        TypeError,
        r"can't run Keyed, a KeyedBroadcastProcessFunction: the stream is not keyed: call key_by\(\) on it before "
        r"connect\(\), or take a BroadcastProcessFunction",
    ),
    (
        lambda a, b: a.connect(b.broadcast(RULES)).process(Neither()),  # type: ignore[arg-type]
        TypeError,
        r"process\(\) on a stream with a broadcast stream at .* takes a BroadcastProcessFunction, not Neither",
    ),
    (
        lambda a, b: a.key_by(abs).connect(b.broadcast(RULES)).process(Neither()),  # type: ignore[arg-type]
        TypeError,
        r"process\(\) on a keyed stream with a broadcast stream at .* takes a KeyedBroadcastProcessFunction, not Nei",
    ),
    (
        lambda a, b: a.connect(b.broadcast()).process(Plain()),  # type: ignore[arg-type]
        TypeError,
        r"process\(\) on connected streams that are not keyed at .* takes a CoProcessFunction, not Plain",
    ),
    (
        lambda a, b: a.connect(RULES),  # type: ignore[call-overload]
        TypeError,
        r"connect\(\) at .*test_broadcast_stream.py:\d+ takes a DataStream, not MapStateDescriptor",
    ),
    (
        lambda a, b: b.broadcast(ListStateDescriptor("rules", INT)),  # type: ignore[call-overload]
        TypeError,
        r"broadcast\(\) at .*test_broadcast_stream.py:\d+: broadcast state is described by a MapStateDescriptor, not",
    ),
    (
        lambda a, b: b.broadcast(RULES, MapStateDescriptor("rules", INT, INT)),
        ValueError,
        r"broadcast\(\) at .*test_broadcast_stream.py:\d+: two broadcast states have the name 'rules'; each needs",
    ),
    (
        lambda a, b: b.broadcast(living()),
        ValueError,
        r"broadcast state 'living' can't have a time to live; only keyed state can",
    ),
    (
        lambda a, b: b.key_by(abs).broadcast(RULES),
        GraphError,
        r"broadcast\(\) at .*: a keyed stream can't be partitioned in another way; call broadcast\(\) before key_by",
    ),
    (
        lambda a, b: a.connect(StreamExecutionEnvironment().from_collection([1]).broadcast(RULES)),
        GraphError,
        r"connect\(\) at .*test_broadcast_stream.py:\d+: the streams belong to different environments",
    ),
]


def living() -> MapStateDescriptor:
    descriptor = MapStateDescriptor("living", INT, INT)
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    return descriptor


@pytest.mark.parametrize(("call", "kind", "text"), BAD)
def test_mistakes(
    env: StreamExecutionEnvironment, call: Callable[[DataStream, DataStream], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        call(env.from_collection([1]), env.from_collection([(1, 2)]))


def test_a_state_that_was_not_declared_fails_the_job(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).key_by(abs).connect(env.from_collection([(1, 2)]).broadcast(RULES))
    with pytest.raises(JobFailedError) as caught:
        run_locally(stream.process(Keyed()))
    assert str(caught.value).startswith("operator 'Keyed-Co-Process-Broadcast' (subtask 1), made at ")
    assert "test_broadcast_stream.py" in str(caught.value)
    assert "broadcast state 'others' is not declared; declared are 'rules'. Give the descriptors" in str(caught.value)


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
@pytest.mark.parametrize(("readers", "parallelism"), [(1, 1), (1, 3), (2, 3), (3, 2)])
def test_every_subtask_gets_every_rule_once(mode: RuntimeExecutionMode, readers: int, parallelism: int) -> None:
    env = StreamExecutionEnvironment().set_runtime_mode(mode)
    rules = [(key, key * key) for key in range(7)]
    broadcast = env.from_collection(rules).rebalance().map(lambda v: v).set_parallelism(readers).broadcast(RULES)
    stream = numbers(env, range(20)).connect(broadcast).process(Plain()).set_parallelism(parallelism)
    found = run_locally(stream).collected
    arrived = Counter((value, subtask) for what, value, subtask in found if what == "rule")
    assert arrived == Counter((rule, subtask) for rule in rules for subtask in range(parallelism))
    elements = sorted((value, seen) for what, value, seen in found if what == "element")
    assert elements == [(value, rules) for value in range(20)], "in one epoch all rules are there before the data"


def test_rules_come_first_also_when_the_data_is_nearer() -> None:
    """The data's operators share a task with the function, and the rules come over one more exchange."""
    env = StreamExecutionEnvironment().set_parallelism(1)
    elements = numbers(env, range(3)).rebalance().map(lambda v: v)
    rules = env.from_collection([(1, 1)]).rebalance().map(lambda v: v)
    stream = elements.rebalance().map(lambda v: v).connect(rules.broadcast(RULES)).process(Plain())
    assert run_locally(stream).collected == [("rule", (1, 1), 0), *(("element", n, [(1, 1)]) for n in range(3))]


# -- against a plain recomputation ----------------------------------------------------------------------------------

Click = tuple[str, str]
"""(user, what)"""
Pattern = tuple[str, str, str]
"""(name, first, then): with an empty ``first`` the pattern of this name is taken back"""


class Match(KeyedBroadcastProcessFunction[str, Click, Pattern, Any]):
    """(user, names of the patterns that the user's last two actions match)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.before = runtime_context.get_list_state(ListStateDescriptor("before", Types.STRING()))

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        user, _, what = value
        last_two = (*self.before.get(), what)
        names = [name for name, pattern in ctx.get_broadcast_state(PATTERNS).items() if pattern == last_two]
        if names:
            yield (user, sorted(names))
        self.before.update([what])

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        name, _, first, then = value
        state = ctx.get_broadcast_state(PATTERNS)
        if first:
            state.put(name, (first, then))
        else:
            state.remove(name)


PATTERNS = MapStateDescriptor("patterns", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
WHAT = st.sampled_from(["login", "pay", "buy"])
CLICKS = st.lists(st.tuples(st.sampled_from("ABC"), WHAT), max_size=8)
RULE_CHANGES = st.lists(st.tuples(st.sampled_from("pq"), st.just("") | WHAT, WHAT), max_size=4)


def matches(epochs: list[tuple[list[Click], list[Pattern]]]) -> list[Any]:
    """Epoch by epoch: first the changes of the patterns, then the clicks."""
    patterns: dict[str, tuple[str, str]] = {}
    before: dict[str, str] = {}
    found = []
    for clicks, changes in epochs:
        for name, first, then in changes:
            patterns.pop(name, None)
            if first:
                patterns[name] = (first, then)
        for user, what in clicks:
            names = sorted(name for name, pattern in patterns.items() if pattern == (before.get(user), what))
            if names:
                found.append((user, names))
            before[user] = what
    return found


@given(CLICKS, RULE_CHANGES, st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_patterns_over_random_epochs(
    clicks: list[Click], changes: list[Pattern], epoch_records: int, parallelism: int, seed: int
) -> None:
    env = StreamExecutionEnvironment().set_parallelism(parallelism)
    # Both sources read as many elements in an epoch; the changes may come some epochs late.
    shift = random.Random(seed).randrange(3) * epoch_records
    delayed = [("-", "", "") for _ in range(shift)] + list(changes)
    data = numbers(env, [(user, number, what) for number, (user, what) in enumerate(clicks)])
    rules = numbers(env, [(name, number, first, then) for number, (name, first, then) in enumerate(delayed)])
    stream = data.key_by(lambda v: v[0]).connect(rules.broadcast(PATTERNS)).process(Match())
    run = run_locally(stream, epoch_records=epoch_records, workers=3, seed=seed)
    longest = max(len(clicks), len(delayed))
    epochs = [
        (clicks[start : start + epoch_records], delayed[start : start + epoch_records])
        for start in range(0, longest, epoch_records)
    ]
    assert sorted(run.collected) == sorted(matches(epochs))
    for user in "ABC":
        mine = [names for name, names in run.collected if name == user]
        assert mine == [names for name, names in matches(epochs) if name == user], "in the order of the clicks"
