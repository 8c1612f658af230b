"""The columns that names in a query can mean."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational.nodes import PROCTIME, Field, Schema
from millrace.relational.rex import Call, Ref, Rex, rewrite
from millrace.util.record import Record


class Relation(Record):
    """One item of a FROM clause: its columns lie from ``offset`` on among those of the whole clause."""

    name: str | None
    """alias, or name of the table; None for an unnamed subquery"""
    columns: Schema
    offset: int = 0
    path: tuple[str, ...] = ()
    """the full name of a table without alias: catalog, database, table"""

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """Whether these names in front of a column's mean this relation."""
        if len(qualifier) == 1:
            return qualifier[0] == self.name
        return len(qualifier) <= len(self.path) and self.path[-len(qualifier) :] == qualifier

    def find(self, name: str) -> list[Rex]:
        return [self.ref(at) for at, column in enumerate(self.columns) if column.name == name]

    def ref(self, at: int) -> Ref:
        return Ref(self.columns[at].type, self.offset + at)


class Scope(Record):
    """All columns of a FROM clause."""

    relations: tuple[Relation, ...] = ()
    merged: tuple[tuple[str, Rex], ...] = ()
    """columns of USING and NATURAL: one name for a column of either side"""

    @property
    def fields(self) -> Schema:
        return tuple(column for relation in self.relations for column in relation.columns)

    def find(self, name: str) -> list[Rex]:
        """What an unqualified name can mean: more than one means that it is ambiguous."""
        for merged, expression in self.merged:
            if merged == name:
                return [expression]
        return [found for relation in self.relations for found in relation.find(name)]

    def relations_named(self, qualifier: tuple[str, ...]) -> list[Relation]:
        return [relation for relation in self.relations if relation.answers(qualifier)]

    def star(self) -> list[tuple[str, Rex]]:
        """The columns of ``*``: merged ones once, in front."""
        names = {name for name, _ in self.merged}
        rest = [
            (column.name, relation.ref(at))
            for relation in self.relations
            for at, column in enumerate(relation.columns)
            if column.name not in names
        ]
        return [*((name, expression) for name, expression in self.merged), *rest]

    def over(self, columns: Schema) -> Scope:
        """The same names over columns that a rule or an outer join has changed the types or times of."""
        relations = tuple(
            replace(each, columns=_renamed(each.columns, columns[each.offset : each.offset + len(each.columns)]))
            for each in self.relations
        )

        def part(each: Rex) -> Rex | None:
            return replace(each, type=columns[each.index].type) if isinstance(each, Ref) else None

        return Scope(relations, tuple((name, rewrite(each, part)) for name, each in self.merged))

    def names(self) -> list[str]:
        """Every name that a column can be called by, for suggestions."""
        plain = [column.name for column in self.fields]
        full = [f"{each.name}.{column.name}" for each in self.relations if each.name for column in each.columns]
        return plain + full


def _renamed(names: Schema, columns: Schema) -> Schema:
    return tuple(
        column if column.name == name.name else replace(column, name=name.name) for name, column in zip(names, columns)
    )


def scope_of(name: str | None, columns: Schema, path: tuple[str, ...] = ()) -> Scope:
    """A scope with one relation."""
    return Scope((Relation(name, columns, 0, path),))


def beside(left: Scope, right: Scope) -> Scope:
    """The columns of two joined inputs, the right ones after the left ones."""
    width = len(left.fields)
    moved = tuple(replace(each, offset=each.offset + width) for each in right.relations)
    return Scope(left.relations + moved, left.merged)


def field_of(name: str, expression: Rex, columns: Schema) -> Field:
    """The column that a projection makes of an expression: a plain reference keeps its time attribute, PROCTIME() is
    one."""
    if isinstance(expression, Ref):
        return Field(name, expression.type, columns[expression.index].time)
    is_now = isinstance(expression, Call) and expression.function == "PROCTIME"
    return Field(name, expression.type, PROCTIME if is_now else None)
