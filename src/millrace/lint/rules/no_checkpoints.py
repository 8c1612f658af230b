"""ML009: sinks that commit, in jobs without checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.connectors.tables.printing import LinesSink
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.runtime.jobs import specs


def check(subject: Subject) -> Iterator[Hit]:
    if not subject.streaming or subject.checkpoints:
        return
    for node in subject.graph.nodes:
        if isinstance(node.spec, specs.Sink) and not isinstance(node.spec.sink, LinesSink):
            if node.spec.committer() is not None and subject.is_endless(node):
                yield Hit(node.origin, f"{node.name!r} writes in transactions, but the job takes no checkpoints")


RULE = Rule(
    code="ML009",
    name="no-checkpoints",
    meaning="Exactly once means that what is committed and what the job goes on from agree. Without checkpoints a job "
    "whose driver dies begins anew, and writes again what it has committed.",
    cure="call env.enable_checkpointing(ms), or set execution.checkpointing.interval and execution.checkpointing.dir",
    bad='''\
words.sink_to(FileSink.for_row_format("out", Encoder.simple_string_encoder()).build())
env.execute()
''',
    good='''\
env.enable_checkpointing(60_000)
words.uid("words")
words.sink_to(FileSink.for_row_format("out", Encoder.simple_string_encoder()).build())
env.execute()
''',
    check=check,
)
