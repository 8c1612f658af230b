"""The arguments of ``Table.to_changelog`` and ``Table.from_changelog``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational.nodes import Rel
from millrace.relational.nodes.changelog_plans import from_changelog, to_changelog
from millrace.table.sql import nodes
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import did_you_mean, problem

_OP, _MAPPING, _HANDLING = "op", "op_mapping", "invalid_op_handling"


def with_codes(plan: Rel, arguments: Sequence[nodes.Node]) -> Rel:
    """The changes of a table as insertions, each with its code."""
    return _made(lambda given: to_changelog(plan, **given), arguments, (_OP, _MAPPING))


def without_codes(plan: Rel, arguments: Sequence[nodes.Node]) -> Rel:
    """The table that insertions with codes of changes make."""
    return _made(lambda given: from_changelog(plan, **given), arguments, (_OP, _MAPPING, _HANDLING))


def _made(make: Callable[[dict[str, Any]], Rel], arguments: Sequence[nodes.Node], names: Sequence[str]) -> Rel:
    given: dict[str, Any] = {}
    for position, argument in enumerate(arguments):
        name, node = "", argument
        if isinstance(argument, nodes.Kwarg):
            name, node = argument.this.this, argument.expression
        if not name and position < len(names):
            name = names[position]
        if name not in names:
            raise problem(f"{shown(argument)}: the arguments are {', '.join(names)}{did_you_mean(name, names)}")
        if name in given:
            raise problem(f"argument {name} is given twice")
        given[name] = node
    try:
        return make(_values(given))
    except ValueError as error:
        raise problem(str(error)) from None


def _values(given: dict[str, nodes.Node]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if _OP in given:
        found["op"] = _column(given[_OP])
    if _MAPPING in given:
        found["mapping"] = _mapping(given[_MAPPING])
    if _HANDLING in given:
        found["handling"] = _constant(given[_HANDLING])
    return found


def _column(node: nodes.Node) -> str:
    if not isinstance(node, nodes.Descriptor) or len(node.expressions) != 1:
        raise problem(f"the column with the codes is given as descriptor('name'), not {shown(node)}")
    return node.expressions[0].this


def _mapping(node: nodes.Node) -> list[tuple[str, str]]:
    if not isinstance(node, nodes.BuiltIn) or node.this != "MAP":
        raise problem(f"{_MAPPING} is given as map_('from', 'to', ...), not {shown(node)}")
    texts = [_constant(each) for each in node.expressions]
    return list(zip(texts[::2], texts[1::2]))


def _constant(node: nodes.Node) -> str:
    if not isinstance(node, nodes.Constant) or not isinstance(node.value, str):
        raise problem(f"{shown(node)}: this must be a constant text")
    return node.value
