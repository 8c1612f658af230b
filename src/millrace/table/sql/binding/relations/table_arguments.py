"""The arguments of functions that take a table: by name or by position, and what the table is partitioned by."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational.nodes import Rel
from millrace.table.sql import nodes
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.text.errors import did_you_mean

_DEFAULT = nodes.Var(this="DEFAULT")


def named_arguments(
    call: nodes.Call, function: str, names: Sequence[str], optional: Sequence[str], syntax: str
) -> dict[str, nodes.Node]:
    """The arguments by their names, also where they are given by position. DEFAULT is as if it were not given."""
    given: dict[str, nodes.Node] = {}
    for position, argument in enumerate(call.expressions):
        if isinstance(argument, nodes.Kwarg):
            name, value = argument.this.name.upper(), argument.expression
            if name not in names:
                fail(argument, f"{function} has no parameter {name} (usage: {syntax}){did_you_mean(name, names)}")
        else:
            if position >= len(names):
                fail(argument, f"too many arguments; usage: {syntax}")
            name, value = names[position], argument
        if name in given:
            fail(argument, f"parameter {name} of {function} is given twice")
        given[name] = value
    given = {name: value for name, value in given.items() if value != _DEFAULT}
    for name in ("DATA", "INPUT"):
        query = given.get(name)
        if isinstance(query, nodes.Subquery):
            given[name] = nodes.TableArgument(this=query, partition_by=(), order=None)
    missing = [name for name in names if name not in given and name not in optional]
    if missing:
        fail(call, f"{function} needs {', '.join(missing)}; usage: {syntax}")
    return given


def partition_columns(data: nodes.TableArgument, source: Rel) -> tuple[int, ...]:
    """The columns of PARTITION BY."""
    names = list(map(nodes.name_of, data.partition_by))
    for name in names:
        if name not in source.names:
            fail(data, f"PARTITION BY: there is no column '{name}'{did_you_mean(name, source.names)}")
    return tuple(source.names.index(name) for name in names)
