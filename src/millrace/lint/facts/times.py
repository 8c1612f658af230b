"""Where event time comes from."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.connectors.collection import CollectionSource
from millrace.connectors.function_source import SourceFunctionSource
from millrace.connectors.hybrid import HybridSource
from millrace.graph.nodes import Node
from millrace.lint.facts.subject import Subject
from millrace.runtime.jobs import specs


def sources_without_time(subject: Subject, node: Node) -> Iterator[Node]:
    """Sources whose elements reach a node and lack there what event time needs: watermarks in streams without end, and
    timestamps, which other sources may give, in lists."""
    for upper in subject.above(node, _may_give_time):
        match upper.spec:
            case specs.Source(source=source) if not _may_give_time(upper):
                if subject.is_endless(upper) or isinstance(source, CollectionSource):
                    yield upper


def _may_give_time(node: Node) -> bool:
    match node.spec:
        case specs.AssignTimestamps() | specs.TableStep():
            return True
        case specs.Source(source=source, strategy=strategy):
            return not strategy.is_without_time() or _may_emit_watermarks(source)
    return False


def _may_emit_watermarks(source: object) -> bool:
    """Functions and sources of the user may write watermarks themselves."""
    own = not type(source).__module__.startswith("millrace.")
    return own or isinstance(source, (SourceFunctionSource, HybridSource))
