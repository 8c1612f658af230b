"""Rules on the user's functions and their state: non-deterministic keys, large pickled data, blocking calls, variables
outside; state that grows without bound, state that a changed program would not find, data outside of state.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from millrace.common.functions import CheckpointedFunction
from millrace.common.state.handles import StateDescriptor
from millrace.graph.program import Node
from millrace.graph.serialize import held
from millrace.lint.facts import Hit, Rule, Subject
from millrace.lint.user_code import Piece, functions_of, pieces, selectors_of
from millrace.runtime.operators import specs
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.table_aggregate import TableAggregate
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.joins.regular_join import RegularJoin
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import TopRows
from millrace.runtime.tables.set_operations import SetOperation
from millrace.table.sessions.session import STATE_TTL
from millrace.util.by_value import pickled_by_value

# ML003: keys that are not the same when they are asked for again

_CHANCE = ("random.", "numpy.random.", "secrets.", "uuid.uuid1", "uuid.uuid4")
_CLOCK = (
    *("time.time", "time.monotonic", "time.perf_counter"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
)
_PROCESS = ("builtins.hash", "builtins.id", "os.getpid", "os.urandom")


def _check_random_key(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in selectors_of(node):
            for piece in pieces(code):
                for called, call in piece.calls():
                    if why := _why(called):
                        yield Hit(piece.origin(call), f"the key selector calls {called}(), {why}")


def _why(called: str) -> str | None:
    if called.startswith(_CHANCE):
        return "whose answer is left to chance"
    if called.startswith(_CLOCK):
        return "whose answer depends on the clock"
    if called in _PROCESS:
        return "whose answer differs from process to process"
    return None


RANDOM_KEY = Rule(
    code="ML003",
    name="random-key",
    meaning="A key is computed anew for the same element after a failure, on another worker, and sometimes twice on "
    "its way. If the answers differ, elements meet the state of another key, and results are wrong without an "
    "error.",
    cure="compute the key from the element alone; spread elements with rebalance(), or with a number that map() adds",
    bad="""\
keyed = words.key_by(lambda word: random.randrange(10))
keyed.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).reduce(max).print()
env.execute()
""",
    good="""\
keyed = words.key_by(lambda word: len(word) % 10)
keyed.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).reduce(max).print()
env.execute()
""",
    check=_check_random_key,
)


# ML005: functions that carry much data to every task

LIMIT = 1_000_000
"""Largest size of a pickled function that is not reported (bytes)."""


def _check_large_closure(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in (*functions_of(node), *selectors_of(node)):
            size = _size(code.value)
            if size > LIMIT:
                what = f"{code.described} takes {size / 1e6:.1f} MB to every task"
                yield Hit(code.origin, f"{what}{_largest(code.value)}")


def _largest(value: Any) -> str:
    sizes = [(_size(part), f"{what} {name}") for what, name, part in held(value)]
    size, name = max(sizes, default=(0, ""))
    return f": {name} has {size / 1e6:.1f} MB" if size > LIMIT / 2 else ""


def _size(value: Any) -> int:
    """Size of a pickled function (bytes); 0 if it can't be pickled, which is an error of its own when the job is
    submitted."""
    try:
        return len(pickled_by_value(value))
    except Exception:
        return 0


LARGE_CLOSURE = Rule(
    code="ML005",
    name="large-closure",
    meaning="What a function refers to is pickled with it and sent to every task, once more with every restart. "
    "Megabytes of it make jobs slow to start, and each task has a copy in memory.",
    cure="load it in open() from a file that workers have (register_cached_file), or read it as a stream and "
    "broadcast it",
    bad="""\
LEXICON = {f"word {number}": number for number in range(200_000)}

words.map(lambda word: LEXICON.get(word, 0)).print()
env.execute()
""",
    good="""\
class Lookup(MapFunction):
    def open(self, runtime_context):
        self.lexicon = {f"word {number}": number for number in range(200_000)}

    def map(self, value):
        return self.lexicon.get(value, 0)


words.map(Lookup()).print()
env.execute()
""",
    check=_check_large_closure,
)


# ML006: functions that wait, and let the whole stream wait with them

_BLOCKING = frozenset({
    *("time.sleep", "builtins.input", "os.system", "urllib.request.urlopen"),
    *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output")),
})  # fmt: skip
_CLIENTS = ("requests", "httpx")
_MAKE_REQUESTS = ("api", "_api", "Session", "Client")
"""modules and classes of HTTP clients that block; not ``AsyncClient``"""
_VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request"})


def _check_blocking_call(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in functions_of(node):
            for piece in pieces(code):
                for called, call in piece.calls():
                    if _blocks(called):
                        yield Hit(piece.origin(call), f"{code.described} calls {called}() and waits for it")


def _blocks(called: str) -> bool:
    package, *between, name = called.split(".")
    if package in _CLIENTS:
        return name in _VERBS and (not between or between[-1] in _MAKE_REQUESTS)
    return called in _BLOCKING


BLOCKING_CALL = Rule(
    code="ML006",
    name="blocking-call",
    meaning="A function handles one element after the other: while it sleeps or waits for an answer its task does "
    "nothing else. 20 ms a call are 50 elements a second.",
    cure="wait with many elements at once: an AsyncFunction with AsyncDataStream, a lookup join, a timer instead "
    "of sleep",
    bad="""\
def enrich(word):
    return requests.get(f"http://localhost/{word}").text


words.map(enrich).print()
env.execute()
""",
    good="""\
class Enrich(AsyncFunction):
    async def async_invoke(self, value):
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://localhost/{value}")
        return [answer.text]


AsyncDataStream.unordered_wait(words, Enrich(), Time.seconds(10)).print()
env.execute()
""",
    check=_check_blocking_call,
)


# ML012: functions that change variables outside of themselves

_CHANGES = frozenset({"append", "extend", "insert", "add"})


def _check_outer_variable(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in (*functions_of(node), *selectors_of(node)):
            for piece in pieces(code):
                for place, name in _changed(piece):
                    what = f"{code.described} changes {name}"
                    yield Hit(piece.origin(place), f"{what}, a variable of the program: each worker has a copy")


def _changed(piece: Piece) -> Iterator[tuple[ast.AST, str]]:
    """Variables outside of a function that it counts or collects in. Caches are fine: variables that are set, and
    containers that are also read."""
    statements = [each for each in ast.walk(piece.tree) if isinstance(each, ast.Global | ast.Nonlocal)]
    named = {name for each in statements for name in each.names}
    for each in ast.walk(piece.tree):
        match each:
            case ast.AugAssign(target=ast.Name(id=name)) if name in named:
                yield each, name
            case ast.AugAssign(target=ast.Subscript(value=ast.Name() as changed)) if _is_container(piece, changed):
                yield each, changed.id
            case ast.Assign(targets=[ast.Subscript(value=ast.Name() as changed)]) if _is_container(piece, changed):
                if not _is_read(piece, changed.id):
                    yield each, changed.id
            case ast.Call(func=ast.Attribute(value=ast.Name() as changed, attr=attr)) if attr in _CHANGES:
                if _is_container(piece, changed):
                    yield each, changed.id


def _is_container(piece: Piece, name: ast.Name) -> bool:
    return piece.scope.is_outer(name.id) and type(piece.scope.value(name)) in (list, dict, set)


def _is_read(piece: Piece, name: str) -> bool:
    """Whether a container is used in other ways than adding to it."""
    used = [each for each in ast.walk(piece.tree) if isinstance(each, ast.Name) and each.id == name]
    stored = [
        each
        for each in ast.walk(piece.tree)
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == name
    ]
    return len(used) > len(stored)


OUTER_VARIABLE = Rule(
    code="ML012",
    name="outer-variable",
    meaning="Functions run in other processes, each with a copy of the program's variables from when the job was "
    "submitted. What they change there the program never sees, nor other tasks, and it is gone after a "
    "restart.",
    cure="keep it in keyed state, count it with a metric or an accumulator, or give it out as elements",
    bad="""\
seen = []


def remember(word):
    seen.append(word)
    return word


words.map(remember).print()
env.execute()
""",
    good="""\
def mark(word):
    seen = []
    seen.append(word)
    return seen


words.map(mark).print()
env.execute()
""",
    check=_check_outer_variable,
)


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
