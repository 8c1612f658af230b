"""TO_CHANGELOG and FROM_CHANGELOG in FROM."""

from __future__ import annotations

from millrace.relational.nodes import Rel
from millrace.relational.nodes.changelog_plans import OP, from_changelog, to_changelog
from millrace.relational.rex import Literal
from millrace.table.sql import nodes
from millrace.table.sql.binding.constants import fold
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.from_clause import From, bind_relation
from millrace.table.sql.binding.relations.table_arguments import named_arguments, partition_columns
from millrace.table.sql.binding.relations.table_functions import table_function
from millrace.table.sql.binding.scopes import Scope

_PARAMETERS = ("INPUT", "OP", "OP_MAPPING", "ON_TIME", "UID", "INVALID_OP_HANDLING")
"""in Flink's order; the last one, which Flink 2.3.0 has not, by name only"""


@table_function("TO_CHANGELOG", "FROM_CHANGELOG")
def _changelog(call: nodes.Call, at: From) -> Rel:
    name = call.name.upper()
    names = _PARAMETERS if name == "FROM_CHANGELOG" else _PARAMETERS[:5]
    syntax = f"{name}(input => TABLE t [PARTITION BY key] [, op => DESCRIPTOR(op)] [, op_mapping => MAP['..', '..']])"
    given = named_arguments(call, name, names, names[1:], syntax)
    if "ON_TIME" in given:
        fail(given["ON_TIME"], f"{name} takes no on_time: its result has the time attributes of no column")
    if "UID" in given:
        _text(given["UID"], at)  # the function keeps no state that would need a name
    data = given["INPUT"]
    if not isinstance(data, nodes.TableArgument):
        fail(data, f"the first argument of {name} is TABLE t or TABLE (SELECT ...)")
    source = bind_relation(data.this, at).plan
    partition = partition_columns(data, source)
    op = _column(given["OP"], name) if "OP" in given else OP
    mapping = _mapping(given["OP_MAPPING"], at) if "OP_MAPPING" in given else None
    try:
        if name == "TO_CHANGELOG":
            return to_changelog(source, op, mapping, partition)
        handling = _text(given["INVALID_OP_HANDLING"], at) if "INVALID_OP_HANDLING" in given else "FAIL"
        return from_changelog(source, op, mapping, partition, handling)
    except ValueError as error:
        return fail(call, str(error))


def _column(tree: nodes.Node, name: str) -> str:
    if not isinstance(tree, nodes.Descriptor) or len(tree.expressions) != 1:
        fail(tree, f"the column with the codes of {name} is given as DESCRIPTOR(column)")
    return str(tree.expressions[0].name)


def _mapping(tree: nodes.Node, at: From) -> list[tuple[str, str]]:
    if not isinstance(tree, nodes.BuiltIn) or tree.this != "MAP":
        fail(tree, "op_mapping is given as MAP['from', 'to', ...]")
    texts = [_text(each, at) for each in tree.expressions]
    return list(zip(texts[::2], texts[1::2]))


def _text(tree: nodes.Node, at: From) -> str:
    block = at.block(Scope(), "an argument")
    value = fold(bind(tree, block), block.zone)
    if not isinstance(value, Literal) or not isinstance(value.value, str):
        fail(tree, "this must be a text that is constant")
    return value.value
