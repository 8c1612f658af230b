"""Rules on state: state that grows without bound, state that a changed program would not find, data outside of
state."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millrace.common.functions import CheckpointedFunction
from millrace.common.state.handles import StateDescriptor
from millrace.graph.nodes import Node
from millrace.lint.facts import Hit, Rule, Subject
from millrace.lint.user_code import Piece, functions_of, pieces
from millrace.runtime.operators import specs
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.table_aggregate import TableAggregate
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.joins.regular_join import RegularJoin
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import TopRows
from millrace.runtime.tables.set_operations import SetOperation
from millrace.table.sessions.table_settings import STATE_TTL

# ML001: state of keys that nothing ever takes away

_KEYED = (specs.KeyedProcess, specs.KeyedCoProcess, specs.KeyedBroadcastProcess)
_ENDS = frozenset({"clear", "remove", "pop", "enable_time_to_live"})
"""Names of methods that remove state, whatever object they are called on."""
_GETS = frozenset({"get_state", "get_list_state", "get_map_state", "get_reducing_state", "get_aggregating_state"})


def _check_growing_state(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes if subject.streaming else ():
        if isinstance(node.spec, specs.Reduce) and subject.is_endless(node):
            yield Hit(node.origin, "this running result keeps a value for every key that has ever come")
        elif isinstance(node.spec, _KEYED) and subject.is_endless(node):
            yield from _of_functions(node)


def _of_functions(node: Node) -> Iterator[Hit]:
    for code in functions_of(node):
        found = list(pieces(code, code.all_methods()))
        if any(_is_taken_away(piece) for piece in found):
            continue
        if any(True for piece in found for _ in _states(piece)):
            yield Hit(node.origin, f"{code.described} keeps state for every key that has ever come")


def _is_taken_away(piece: Piece) -> bool:
    attributes = {each.attr for each in ast.walk(piece.tree) if isinstance(each, ast.Attribute)}
    return bool(attributes & _ENDS)


def _states(piece: Piece) -> Iterator[ast.Call]:
    """The calls that get a state whose descriptor has no time-to-live."""
    for call in ast.walk(piece.tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _GETS:
            known = piece.scope.value(call.args[0]) if call.args else None
            if not (isinstance(known, StateDescriptor) and known.get_ttl_config()):
                yield call


GROWING_STATE = Rule(
    code="ML001",
    name="growing-state",
    meaning="State of a key stays until it is cleared. On a stream without end, whose keys are users, sessions or "
    "orders, it grows until memory or disk is full, and checkpoints with it.",
    cure="give the state a time to live (StateTtlConfig), clear it in a timer, or use a window",
    bad="""\
class Seen(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value, ctx):
        if self.seen.value() is None:
            self.seen.update(True)
            yield value


words.key_by(lambda word: word).process(Seen()).print()
env.execute()
""",
    good="""\
class Seen(KeyedProcessFunction):
    def open(self, runtime_context):
        seen = ValueStateDescriptor("seen", Types.BOOLEAN())
        seen.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.seen = runtime_context.get_state(seen)

    def process_element(self, value, ctx):
        if self.seen.value() is None:
            self.seen.update(True)
            yield value


words.key_by(lambda word: word).process(Seen()).print()
env.execute()
""",
    check=_check_growing_state,
)


# ML002: joins and aggregates of tables without end that keep all rows or keys


def _check_growing_tables(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes if subject.streaming else ():
        if isinstance(node.spec, specs.TableStep) and (what := _kept(node.spec.config)) and subject.is_endless(node):
            yield Hit(node.origin, f"{what}, for ever")


def _kept(config: TableConfig) -> str | None:
    """The growing state of a table operator, as a clause (``"the join keeps ..."``); None: it does not grow."""
    match config:
        case RegularJoin(state_ttl=ttl, left_ttl=left, right_ttl=right):
            lasting = [side for side in (left, right) if not (ttl if side is None else side)]
            return {0: None, 1: "the join keeps all rows of one side"}.get(
                len(lasting), "the join keeps all rows of both sides"
            )
        case GroupAggregate(state_ttl=0, keys=(_, *_), calls=()):
            return "DISTINCT keeps all its rows"
        case GroupAggregate(state_ttl=0, keys=(_, *_)) | TableAggregate(state_ttl=0, keys=(_, *_)):
            return "GROUP BY keeps all its groups"
        case TopRows(state_ttl=0, partition=(_, *_)):
            return "the Top-N keeps the first rows of all its partitions"
        case Deduplicate(state_ttl=0):
            return "the deduplication keeps all its keys"
        case SetOperation(state_ttl=0):
            return "the set operation keeps all its rows"
    return None


GROWING_TABLES = Rule(
    code="ML002",
    name="growing-tables",
    meaning="A regular join keeps all rows of both sides, since any may still find a partner; GROUP BY, DISTINCT, "
    "Top-N and deduplication keep something for each key. Over tables without end that grows until memory or "
    "disk is full.",
    cure=f"set '{STATE_TTL}', use the hint STATE_TTL, or join and group within windows or intervals of time",
    bad="""\
t_env = StreamTableEnvironment.create(env)
t_env.create_temporary_view("words", words)
t_env.execute_sql("CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO counts SELECT f0, COUNT(*) FROM words GROUP BY f0")
""",
    good="""\
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.exec.state.ttl", "1 d")
t_env.create_temporary_view("words", words)
t_env.execute_sql("CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO counts SELECT f0, COUNT(*) FROM words GROUP BY f0")
""",
    check=_check_growing_tables,
)


# ML007: state that a changed program would not find again

_STATEFUL = (
    *(specs.KeyedProcess, specs.KeyedCoProcess, specs.BroadcastProcess, specs.KeyedBroadcastProcess),
    *(specs.Reduce, specs.Window, specs.IntervalJoin, specs.MatchPattern, specs.MatchPatterns),
    *(specs.Source, specs.StatefulSink),
)


def _check_no_uid(subject: Subject) -> Iterator[Hit]:
    if not (subject.streaming and subject.checkpoints):
        return
    if any(isinstance(node.spec, specs.TableStep) for node in subject.made.nodes):
        return  # operators of SQL have no uid() to call
    for node in subject.made.nodes:
        if isinstance(node.spec, _STATEFUL) and not _has_uid(node):
            yield Hit(node.origin, f"{node.name!r} keeps state in checkpoints and has no uid")


def _has_uid(node: Node) -> bool:
    return node.uid is not None or node.uid_hash is not None


NO_UID = Rule(
    code="ML007",
    name="no-uid",
    meaning="State in a savepoint belongs to a uid. One that is not given is derived from the operators above, so a "
    "changed program may not find its state again.",
    cure="call uid() with a name of its own on every operator that keeps state, and on sources",
    bad="""\
env.enable_checkpointing(60_000)
pairs = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
pairs.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
""",
    good="""\
env.enable_checkpointing(60_000)
words.uid("words")
pairs = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
pairs.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).uid("counts").print()
env.execute()
""",
    check=_check_no_uid,
)


# ML013: keyed functions that count in attributes instead of state


def _check_attribute_state(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in functions_of(node) if isinstance(node.spec, _KEYED) else ():
            if not isinstance(code.value, CheckpointedFunction):
                for piece in pieces(code):
                    for place, name in _counted(piece):
                        what = f"{code.described} counts in self.{name}"
                        yield Hit(piece.origin(place), f"{what}, which all keys of a task share and a restart loses")


def _counted(piece: Piece) -> Iterator[tuple[ast.AST, str]]:
    for each in ast.walk(piece.tree):
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Attribute):
            if isinstance(each.target.value, ast.Name) and each.target.value.id == "self":
                yield each, each.target.attr


ATTRIBUTE_STATE = Rule(
    code="ML013",
    name="attribute-state",
    meaning="Attributes of a function belong to a task: all its keys share them, no checkpoint has them, and after a "
    "restart or with another parallelism they begin anew.",
    cure="use a ValueState from runtime_context.get_state(), or a metric if it is only to be shown",
    bad="""\
class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = 0

    def process_element(self, value, ctx):
        self.count += 1
        yield value, self.count


words.key_by(lambda word: word).process(Count()).print()
env.execute()
""",
    good="""\
class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        count = ValueStateDescriptor("count", Types.LONG())
        count.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.count = runtime_context.get_state(count)

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


words.key_by(lambda word: word).process(Count()).print()
env.execute()
""",
    check=_check_attribute_state,
)
