"""ML006: functions that wait, and let the whole stream wait with them."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.lint.code.owners import functions_of
from millrace.lint.code.reach import pieces
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject

_BLOCKING = frozenset({
    *("time.sleep", "builtins.input", "os.system", "urllib.request.urlopen"),
    *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output")),
})  # fmt: skip
_CLIENTS = ("requests", "httpx")
_MAKE_REQUESTS = ("api", "_api", "Session", "Client")
"""modules and classes of them; not ``AsyncClient``"""
_VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request"})


def check(subject: Subject) -> Iterator[Hit]:
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


RULE = Rule(
    code="ML006",
    name="blocking-call",
    meaning="A function handles one element after the other: while it sleeps or waits for an answer its task does "
    "nothing else. 20 ms a call are 50 elements a second.",
    cure="wait with many elements at once: an AsyncFunction with AsyncDataStream, a lookup join, a timer instead "
    "of sleep",
    bad='''\
def enrich(word):
    return requests.get(f"http://localhost/{word}").text


words.map(enrich).print()
env.execute()
''',
    good='''\
class Enrich(AsyncFunction):
    async def async_invoke(self, value):
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://localhost/{value}")
        return [answer.text]


AsyncDataStream.unordered_wait(words, Enrich(), Time.seconds(10)).print()
env.execute()
''',
    check=check,
)
