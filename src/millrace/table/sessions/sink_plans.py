"""INSERT of a ``Table``: its plan, and the table that it goes into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.relational.nodes import Rel, Sink
from millrace.table.catalogs.paths import split_path
from millrace.table.descriptions.table_descriptor import TableDescriptor
from millrace.table.queries.projection import renamed
from millrace.table.sessions.session import Session
from millrace.table.sessions.table_info import sink_info, unnamed
from millrace.table.sql.binding.queries.insert import insert_plan
from millrace.table.sql.text.errors import SqlError
from millrace.table.values.problems import did_you_mean, problem


def sink_plan(
    plan: Rel, target: str | TableDescriptor, session: Session, overwrite: bool, columns: Sequence[str] | None = None
) -> Sink:
    """
    :param columns: of the target, those that the plan's columns go into; the others are NULL.
    :raises TableException: there is no such table, or it does not take these rows.
    """
    if isinstance(target, TableDescriptor):
        identifier, described = unnamed(target, session)
    else:
        found = session.catalogs.find_table(split_path(target))
        if found is None:
            raise problem(
                f"there is no table {target} to insert into{did_you_mean(target, session.catalogs.list_tables())}"
            )
        identifier, described = found.identifier, found.table
    try:
        info = sink_info(identifier, described, {}, session)
        made = insert_plan(plan, info, columns, overwrite=overwrite)
        # A sink finds its key by name.
        return replace(made, input=renamed(made.input, [column.name for column in info.columns]))
    except SqlError as error:
        raise problem(error.message) from None
