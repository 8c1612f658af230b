"""ML007: state that a changed program would not find again."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.graph.nodes import Node
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.runtime.jobs import specs

_STATEFUL = (
    *(specs.KeyedProcess, specs.KeyedCoProcess, specs.BroadcastProcess, specs.KeyedBroadcastProcess),
    *(specs.Reduce, specs.Window, specs.IntervalJoin, specs.MatchPattern, specs.MatchPatterns),
    *(specs.Source, specs.StatefulSink),
)


def check(subject: Subject) -> Iterator[Hit]:
    if not (subject.streaming and subject.checkpoints):
        return
    if any(isinstance(node.spec, specs.TableStep) for node in subject.made.nodes):
        return  # operators of SQL have no uid() to call
    for node in subject.made.nodes:
        if isinstance(node.spec, _STATEFUL) and not _has_uid(node):
            yield Hit(node.origin, f"{node.name!r} keeps state in checkpoints and has no uid")


def _has_uid(node: Node) -> bool:
    return node.uid is not None or node.uid_hash is not None


RULE = Rule(
    code="ML007",
    name="no-uid",
    meaning="State in a savepoint belongs to a uid. One that is not given is derived from the operators above, so a "
    "changed program may not find its state again.",
    cure="call uid() with a name of its own on every operator that keeps state, and on sources",
    bad='''\
env.enable_checkpointing(60_000)
pairs = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
pairs.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
''',
    good='''\
env.enable_checkpointing(60_000)
words.uid("words")
pairs = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
pairs.window(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).uid("counts").print()
env.execute()
''',
    check=check,
)
