"""Rules on the user's functions: non-deterministic keys, large pickled data, blocking calls, variables outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from millrace.graph.serialize import held
from millrace.lint.facts import Hit, Rule, Subject
from millrace.lint.user_code import Piece, functions_of, pieces, selectors_of
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
