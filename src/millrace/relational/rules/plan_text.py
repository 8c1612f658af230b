"""Plans as text: the tree that EXPLAIN shows, one line a node with its inputs below it; and the meaning of an
operator's state, by which a restored job finds out whether its state still fits the query."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.nodes.keyed_nodes import Aggregate
from millrace.relational.nodes.rel import Project, Rel, SameSchema, subqueries_of
from millrace.relational.rex import Schema, UdfCall, agg_text, frame_text, rex_text, walk
from millrace.relational.types import DataType
from millrace.util.identity import IdentityDict


def plan_text(plan: Rel, indent: int = 0) -> str:
    """The plan as an indented tree."""
    pad = "  " * indent
    lines = [pad + node_text(plan)]
    for subquery in subqueries_of(plan):
        lines.append(f"{pad}  [{subquery.kind}]")
        lines.append(plan_text(subquery.plan, indent + 2))
    lines += [plan_text(each, indent + 1) for each in plan.inputs]
    return "\n".join(lines)


def node_text(node: Rel) -> str:
    """A line for a node without its inputs. Nodes that call functions of the user are shown in Flink's form."""
    if isinstance(node, Project) and any(isinstance(part, UdfCall) for each in node.expressions for part in walk(each)):
        return f"PythonCalc(select=[{', '.join(node.details())}])"
    if isinstance(node, Aggregate) and any(call.udf is not None for call in node.aggregates):
        return f"PythonGroupAggregate({_grouped(node)})"
    return f"{type(node).__name__}({', '.join(node.details())})"


def _grouped(node: Aggregate) -> str:
    count, details, names = len(node.keys), node.details(), [column.name for column in node.columns]
    calls = [f"{text} AS {name}" for text, name in zip(details[-len(node.aggregates) :], names[count:])]
    keys = [f"groupBy=[{', '.join(names[:count])}]"] if node.keys else []
    return ", ".join([*keys, f"select=[{', '.join(names[:count] + calls)}]"])


# The meaning of an operator's state

LONGEST = 200
"""The most characters of an origin; a longer one is cut, and ends with a checksum."""

Meaning = tuple[str, ...]
_WITHOUT_STATE = (n.Project, n.Filter, n.Hinted, n.Watermark, n.Expand, n.Correlate)


class _Named(n.Rel):
    """The columns of an input, each under the name of its origin."""

    columns: Schema


class Meanings:
    """Texts that say what the state of the nodes of some plans means.

    :param of_inputs: whether columns name their input; False: as earlier versions wrote them.
    """

    def __init__(self, of_inputs: bool = True) -> None:
        self._of_inputs = of_inputs
        self._of_columns = IdentityDict[n.Rel, tuple[str, ...]]()
        """node -> the origins of its columns"""
        self._joined = IdentityDict[n.Rel, int]()
        """node -> the number of tables that are joined in it"""

    def of(self, node: n.Rel) -> Meaning:
        """What the state of the operators of a node means, part by part; nothing of nodes whose operators have none, or
        none that a change could make wrong."""
        if isinstance(node, _WITHOUT_STATE) or not node.inputs:
            return ()
        inputs = self._inputs(node)
        parts = [type(node).__name__]
        if not isinstance(node, n.Sink):  # which table it is says nothing of the rows
            parts += node.with_inputs(inputs).details()
        if isinstance(node, (n.Aggregate, n.WindowAggregate)):
            return (*parts, f"types {_types(node.schema)}")
        return (*parts, *(f"input {place}: {_columns(each.schema)}" for place, each in enumerate(inputs, 1)))

    def of_upserts(self, node: n.Rel, key: Sequence[int], unique: Sequence[int] | None) -> Meaning:
        """The meaning of the state that stores a node's rows for a sink with another key.

        :param key: columns of the node that are the sink's key; ``unique``: the key of the node's rows.
        """
        named = self._named(node).schema
        known = [] if unique is None else [f"unique={[named[each].name for each in unique]}"]
        keys = f"key={[named[each].name for each in key]}"
        return ("SinkMaterializer", keys, *known, f"input 1: {_columns(named)}")

    def calls(self, node: n.Rel) -> tuple[str, ...]:
        """Text for each aggregate of a node, with the columns named as in ``of``."""
        if isinstance(node, n.Over):
            columns = self._named(node.input).schema
            return tuple(f"{agg_text(call, columns)} {frame_text(frame)}" for call, frame in node.calls)
        if not isinstance(node, (n.Aggregate, n.WindowAggregate)):
            return ()
        columns = self._named(node.input).schema
        return tuple(agg_text(call, columns) for call in node.aggregates)

    def inputs(self, node: n.Rel) -> tuple[tuple[str, ...], ...]:
        """For each input, the origins of its columns."""
        return tuple(tuple(column.name for column in each.schema) for each in self._inputs(node))

    def origins(self, node: n.Rel) -> tuple[str, ...]:
        """Where each column of a node's result comes from."""
        found = self._of_columns.get(node)
        if found is None:
            found = self._of_columns[node] = tuple(map(_short, self._origins(node)))
        return found

    def _inputs(self, node: n.Rel) -> tuple[n.Rel, ...]:
        """Stand-ins for the inputs of a node, whose columns are named by their origins, different ones for each
        input."""
        found, number = [], 1
        for each in node.inputs:
            suffix = f" of input {number}" if number > 1 and self._of_inputs else ""
            found.append(self._named(each, suffix))
            number += 0 if isinstance(node, n.SetOp) else self._tables(each)
        return tuple(found)

    def _named(self, node: n.Rel, suffix: str = "") -> n.Rel:
        named = zip(node.schema, self.origins(node))
        return _Named(tuple(replace(each, name=f"{name}{suffix}") for each, name in named))

    def _tables(self, node: n.Rel) -> int:
        """How many tables are joined in a node."""
        count = self._joined.get(node)
        if count is None:
            below = node.inputs[:1] if isinstance(node, n.SetOp) else node.inputs
            count = self._joined[node] = sum(map(self._tables, below)) or 1
        return count

    def _origins(self, node: n.Rel) -> Sequence[str]:
        if isinstance(node, n.Project):
            columns = self._named(node.input).schema
            return [rex_text(each, columns) for each in node.expressions]
        if isinstance(node, SameSchema):
            return self.origins(node.input)
        if isinstance(node, (n.Aggregate, n.WindowAggregate)):
            keys = [self.origins(node.input)[key] for key in node.keys]
            made = [*keys, *self.calls(node)]
            return [*made, *self._made_by(node, len(made))]
        if isinstance(node, n.Expand):
            columns = self._named(node.input).schema
            return [" | ".join(rex_text(each, columns) for each in of) for of in zip(*node.projections)]
        if isinstance(node, n.SetOp):
            return [" | ".join(dict.fromkeys(of)) for of in zip(*map(self.origins, node.inputs))]
        return self._with_those_of_inputs(node)

    def _made_by(self, node: n.Rel, first: int) -> list[str]:
        """The columns from one on, which a node makes: by their names and what it is."""
        if not node.inputs:
            return [column.name for column in node.schema[first:]]
        details = ", ".join(node.with_inputs(self._inputs(node)).details())
        return [f"{column.name} of {type(node).__name__}({details})" for column in node.schema[first:]]

    def _with_those_of_inputs(self, node: n.Rel) -> Sequence[str]:
        """The columns of the inputs, as far as the result begins with these."""
        found = [column.name for each in self._inputs(node) for column in each.schema]
        names = [column.name for each in node.inputs for column in each.schema]
        same = 0
        while same < min(len(names), len(node.schema)) and names[same] == node.schema[same].name:
            same += 1
        return [*found[:same], *self._made_by(node, same)]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}...{zlib.crc32(text.encode()):08x}"


def _columns(schema: Schema) -> str:
    return ", ".join(f"{column.name} {_type(column.type)}" for column in schema)


def _types(schema: Schema) -> str:
    return ", ".join(_type(column.type) for column in schema)


def _type(kind: DataType) -> str:
    """Whether it may be NULL is no matter of what is stored."""
    return str(kind.nullable())


def changed(before: Sequence[str], now: Sequence[str]) -> str | None:
    """How a meaning differs from an earlier one; None: it does not."""
    if list(before) == list(now):
        return None
    gone, new = (", ".join(part for part in one if part not in other) for one, other in ((before, now), (now, before)))
    if not gone and not new:
        return f"has its parts in another order: {', '.join(now)}; before {', '.join(before)}"
    if not gone or not new:
        return f"has changed: {new} is new" if new else f"has changed: {gone} is not there any more"
    return f"has changed: what was {gone} is {new}"
