"""Runs UPDATE, DELETE and TRUNCATE TABLE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from millrace.relational import types as t
from millrace.relational.functions.casting import cast_to
from millrace.relational.functions.registry import call
from millrace.relational.nodes import Field, Filter, Project, Rel, Sink
from millrace.relational.rex import TRUE, Ref, Rex, refs, remap, rewrite
from millrace.relational.rows import DELETE, UPDATE_AFTER, Rows, concat
from millrace.relational.rules.subqueries import unnest
from millrace.relational.sources import Changed, TableChanger
from millrace.table.catalogs.manager import FoundTable
from millrace.table.sessions.table_info import forget, source_info, table_context
from millrace.table.sessions.table_result import TableResult, done, listing
from millrace.table.sql import statements as s
from millrace.table.sql.binding.insert import fits
from millrace.table.sql.binding.scope import Block, Environment, bind, bind_condition, fail, fold, scope_of
from millrace.table.values.program_errors import problem
from millrace.util.names import did_you_mean

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


class _Changing:
    """A table whose rows a statement changes: its columns as the statement sees them, and what changes them."""

    def __init__(self, statement: s.Update | s.Delete, kind: str, session: Session) -> None:
        found = _table(statement, kind, session)
        self.session = session
        self.path = found.identifier.as_summary_string()
        self.changer = _changer(found, kind, session)
        self.read = source_info(found.identifier, found.table, {}, session).plan
        context = table_context(found.identifier, found.table, {}, session)
        self.target, self.columns = context.path, context.columns
        names = [column.name for column in self.read.schema]
        self.places = [names.index(column.name) for column in context.columns]
        """where the columns that are stored are among all columns"""
        if context.metadata:
            raise problem(f"{self.path} has metadata columns, which are lost when rows are written: {kind} is refused")
        self.block = Block(Environment(session), scope_of(statement.path[-1], self.read.schema))
        tree = statement.condition
        self.condition = None if tree is None else self.folded(bind_condition(tree.tree, self.block.named("WHERE")))

    def folded(self, expression: Rex) -> Rex:
        """Compute the constant parts of an expression, so that a database can be given the expression."""

        def part(each: Rex) -> Rex | None:
            found = fold(each, self.block.zone)
            return None if found is each else found

        return rewrite(expression, part)

    def stored(self, rex: Rex | None) -> Rex | None:
        """Rewrite an expression over the stored columns alone; None if it reads other columns."""
        if rex is None or not refs(rex) <= set(self.places):
            return None
        return remap(rex, {place: at for at, place in enumerate(self.places)})

    def of_stored(self, plan: Rel, values: Mapping[int, Rex], condition: Rex | None) -> Rel:
        """The stored columns of a plan over all columns, with new values in the rows for which the condition holds."""
        holds = None if condition is None else call("IS TRUE", [condition])
        expressions = []
        for at, place in enumerate(self.places):
            old: Rex = Ref(plan.schema[place].type, place)
            new = values.get(at)
            if new is not None:
                old = new if holds is None else call("CASE", [holds, new, old])
            expressions.append(cast_to(old, self.columns[at].type))
        fields = tuple(Field(column.name, each.type) for column, each in zip(self.columns, expressions))
        return unnest(Project(plan, tuple(expressions), fields))

    def matching(self) -> Rel:
        """The rows that the statement is about."""
        return self.read if self.condition is None else unnest(Filter(self.read, self.condition))

    def written_by_key(self, plan: Rel, kind: int) -> TableResult:
        """The rows of a plan, over the stored columns, written by their keys."""
        rows = self.session.engine.execute([plan], self.session)._batches
        batches = [Rows(each.batch) for each in rows if len(each)]
        if not batches:
            return _changed(Changed(0))
        together = concat(batches)
        self.changer.write(Rows(together.batch, np.full(len(together), kind, np.uint8)))
        return _changed(Changed(len(together)))

    def rewritten(self, plan: Rel, kind: str) -> TableResult:
        """The rows of a plan in the place of all rows."""
        sink = self.changer.rewriting()
        if sink is None:
            _refuse_without_key(self.path, kind)
        result = self.session.engine.execute([Sink(plan, self.target, sink, False, (), self.columns)], self.session)
        result.wait()
        return result


def delete(statement: s.Delete, session: Session) -> TableResult:
    """Take away the rows for which the condition is TRUE.

    :raises TableException: streaming mode, no such table, or one whose connector cannot.
    """
    changing = _Changing(statement, "DELETE", session)
    stored = changing.stored(changing.condition)
    if changing.condition is None or stored is not None:
        handed_on = changing.changer.delete(stored)
        if handed_on is not None:
            return _changed(handed_on)
    if changing.changer.keys:
        return changing.written_by_key(changing.of_stored(changing.matching(), {}, None), DELETE)
    condition = changing.condition
    stays = call("IS NOT TRUE", [condition]) if condition is not None else call("NOT", [TRUE])
    return changing.rewritten(changing.of_stored(unnest(Filter(changing.read, stays)), {}, None), "DELETE")


def update(statement: s.Update, session: Session) -> TableResult:
    """Give columns new values in the rows for which the condition is TRUE. Values are those of before.

    :raises TableException: streaming mode, no such table, or one whose connector cannot.
    """
    changing = _Changing(statement, "UPDATE", session)
    values = _values(statement, changing)
    stored = {at: changing.stored(changing.folded(value)) for at, value in values.items()}
    where = changing.stored(changing.condition)
    if all(each is not None for each in stored.values()) and (changing.condition is None or where is not None):
        handed_on = changing.changer.update({at: each for at, each in stored.items() if each is not None}, where)
        if handed_on is not None:
            return _changed(handed_on)
    keys = changing.changer.keys
    if keys:
        for at in keys:
            if at in values:
                name = changing.columns[at].name
                raise problem(
                    f"UPDATE of '{name}', a column of the PRIMARY KEY of {changing.path}, to what the database cannot "
                    f"compute by itself: DELETE the rows and INSERT new ones"
                )
        return changing.written_by_key(changing.of_stored(changing.matching(), values, None), UPDATE_AFTER)
    return changing.rewritten(changing.of_stored(changing.read, values, changing.condition), "UPDATE")


def truncate(statement: s.Truncate, session: Session) -> TableResult:
    """Take all rows away.

    :raises TableException: streaming mode, no such table, or one whose connector cannot.
    """
    _changer(_table(statement, "TRUNCATE TABLE", session), "TRUNCATE TABLE", session).truncate()
    return done()


def _table(statement: s.Update | s.Delete | s.Truncate, kind: str, session: Session) -> FoundTable:
    if session.streaming:
        raise problem(f"{kind} is for batch mode: EnvironmentSettings.in_batch_mode()")
    found = session.catalogs.find_table(statement.path)
    if found is None:
        raise problem(
            f"there is no table '{statement.path}'{did_you_mean(statement.path[-1], session.catalogs.list_tables())}"
        )
    if found.table.is_view:
        raise problem(f"{found.identifier.as_summary_string()} is a view: {kind} is for tables")
    return found


def _changer(found: FoundTable, kind: str, session: Session) -> TableChanger:
    context = table_context(found.identifier, found.table, {}, session)
    factory = session.connectors.factory_of(context.options, context.summary)
    changer = factory.changer(context)
    if changer is None:
        raise problem(f"{kind} of {context.summary}: the connector '{factory.identifier}' cannot change rows in place")
    forget(context.path, session)
    return changer


def _values(statement: s.Update, changing: _Changing) -> dict[int, Rex]:
    names = [column.name for column in changing.columns]
    values: dict[int, Rex] = {}
    for name, tree in statement.assignments:
        if name not in names:
            known = did_you_mean(name, names)
            computed = any(column.name == name for column in changing.read.schema)
            fail(name, f"'{name}' is computed" if computed else f"{changing.path} has no column '{name}'{known}")
        at = names.index(name)
        if at in values:
            fail(name, f"column '{name}' is set twice")
        value = bind(tree.tree, changing.block.named("SET"))
        kind = changing.columns[at].type
        if not fits(value.type, kind):
            fail(tree.tree, f"column '{name}' is {kind}, and the value is {value.type}: CAST it")
        values[at] = cast_to(value, kind)
    return values


def _refuse_without_key(path: str, kind: str) -> NoReturn:
    raise problem(
        f"{kind} of {path}: the database cannot be given this statement as it is, and without a PRIMARY KEY rows "
        f"cannot be found again: declare the key, or compare columns with constants only"
    )


def _changed(changed: Changed) -> TableResult:
    if changed.rows is None:
        return done()
    return listing((Field("rows affected", t.BigIntType(False)),), [(changed.rows,)])
