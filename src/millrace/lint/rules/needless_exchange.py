"""ML008: elements that are sent to other tasks for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.graph.nodes import Edge, Node
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.runtime.exchange.partitioners import Rebalance, Rescale, Shuffle
from millrace.runtime.jobs import specs

_SPREADING = (Rebalance, Rescale, Shuffle)
_STATELESS = (specs.Map, specs.FlatMap, specs.Filter)


def check(subject: Subject) -> Iterator[Hit]:
    made = subject.made.by_id()
    for node in subject.made.nodes:
        for edge in node.edges:
            upper = made[edge.source]
            if isinstance(edge.partitioner, _SPREADING):
                yield from _spread_for_nothing(subject, upper, edge, node)
        yield from _narrow(subject, node)


def _spread_for_nothing(subject: Subject, upper: Node, edge: Edge, node: Node) -> Iterator[Hit]:
    name = type(edge.partitioner).__name__.lower()
    widths = subject.nodes[upper.id].parallelism, subject.nodes[node.id].parallelism
    if widths == (1, 1):
        yield Hit(node.origin, f"{name}() between {upper.name!r} and {node.name!r}, which have one subtask each")
    elif widths[0] == widths[1] and _is_spread(upper):
        yield Hit(node.origin, f"{name}() before {node.name!r}: those of {upper.name!r} are spread evenly already")


def _is_spread(node: Node) -> bool:
    """Whether an operator that changes nothing about the balance gets its elements evenly."""
    evenly = all(isinstance(edge.partitioner, (Rebalance, Shuffle)) for edge in node.edges)
    return isinstance(node.spec, specs.Map) and bool(node.edges) and evenly


def _narrow(subject: Subject, node: Node) -> Iterator[Hit]:
    """A step with fewer subtasks than what is before and behind it."""
    if not isinstance(node.spec, _STATELESS) or any(edge.partitioner is not None for edge in node.edges):
        return
    width = subject.nodes[node.id].parallelism or 1
    readers = [reader for reader, edge in subject.made.outputs()[node.id] if edge.partitioner is None]
    around = [edge.source for edge in node.edges], [reader.id for reader in readers]
    if all(ids and all((subject.nodes[id].parallelism or 1) > width for id in ids) for ids in around):
        yield Hit(node.origin, f"{node.name!r} has {width} subtasks, fewer than the operators before and behind it")


RULE = Rule(
    code="ML008",
    name="needless-exchange",
    meaning="An exchange costs more than most functions: elements are pickled, sent and read again, and a stage of "
    "Spark is added. disable_chaining() costs nothing here, and is no finding.",
    cure="leave out rebalance() between operators of equal parallelism, and set_parallelism() on single steps",
    bad='''\
words.rebalance().map(str.lower).rebalance().map(str.strip).set_parallelism(env.get_parallelism()).print()
env.execute()
''',
    good='''\
words.rebalance().map(str.lower).map(str.strip).print()
env.execute()
''',
    check=check,
)
