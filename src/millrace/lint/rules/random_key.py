"""ML003: keys that are not the same when they are asked for again."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.lint.code.owners import selectors_of
from millrace.lint.code.reach import pieces
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject

_CHANCE = ("random.", "numpy.random.", "secrets.", "uuid.uuid1", "uuid.uuid4")
_CLOCK = (
    *("time.time", "time.monotonic", "time.perf_counter"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
)
_PROCESS = ("builtins.hash", "builtins.id", "os.getpid", "os.urandom")


def check(subject: Subject) -> Iterator[Hit]:
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


RULE = Rule(
    code="ML003",
    name="random-key",
    meaning="A key is computed anew for the same element after a failure, on another worker, and sometimes twice on "
    "its way. If the answers differ, elements meet the state of another key, and results are wrong without an "
    "error.",
    cure="compute the key from the element alone; spread elements with rebalance(), or with a number that map() adds",
    bad='''\
keyed = words.key_by(lambda word: random.randrange(10))
keyed.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).reduce(max).print()
env.execute()
''',
    good='''\
keyed = words.key_by(lambda word: len(word) % 10)
keyed.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).reduce(max).print()
env.execute()
''',
    check=check,
)
