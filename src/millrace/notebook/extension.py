"""``%load_ext millrace.notebook``: the magic ``%%sql``, and a bar for each running job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.notebook.cells import bar, grid
from millrace.spark.jobs.listeners import PlainListener, set_listener_factory
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.grammar.parser import statements_of
from millrace.table.sql.text import SqlError
from millrace.table.statement_runners.statements import run
from millrace.table.table import Table
from millrace.table.values.printed_tables import row_texts

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    from millrace.table.sessions.table_result import TableResult
    from millrace.table.table_environment import TableEnvironment

NAME = "t_env"
"""the variable with the environment that ``%%sql`` uses by default"""
_INTO = "<<"
_USAGE = f"usage: %%sql [RESULT {_INTO}] [ENVIRONMENT]"


def load(shell: Any) -> None:
    """Add the magic, and the bars of running jobs."""
    shell.register_magic_function(lambda line, cell: _told(shell, line, cell), "cell", "sql")
    set_listener_factory(bar)


def unload(shell: Any) -> None:
    """Remove the magic and the bars."""
    shell.magics_manager.magics["cell"].pop("sql", None)
    set_listener_factory(PlainListener)


def _told(shell: Any, line: str, cell: str) -> Any:
    from IPython.core.error import UsageError

    try:
        return sql(shell.user_ns, line, cell)
    except SqlError as error:
        # Of a mistake in SQL the lines of Python say nothing.
        raise UsageError(str(error)) from None


def sql(variables: MutableMapping[str, Any], line: str, cell: str) -> Any:
    """Run the statements of a cell one after the other, and give what the last one gives.

    A query as the last statement is a table, which the cell shows. An INSERT is awaited.

    :param line: the environment's variable, ``t_env`` by default; ``name <<`` before it keeps the table instead.
    :raises NameError: there is no such environment.
    :raises SqlError: a statement cannot be read, or means nothing.
    """
    words = line.split()
    into = words[0] if words[1:2] == [_INTO] else None
    words = words if into is None else words[2:]
    if len(words) > 1:
        raise ValueError(_USAGE)
    t_env = _environment(variables, words[0] if words else NAME)
    found: Any = None
    for statement in statements_of(cell):
        found = _done(statement, t_env)
    if into is None:
        return found
    variables[into] = found
    return None


def _environment(variables: MutableMapping[str, Any], name: str) -> TableEnvironment:
    from millrace.table.table_environment import TableEnvironment

    found = variables.get(name)
    if not isinstance(found, TableEnvironment):
        raise NameError(f"%%sql needs a TableEnvironment in the variable {name!r}, or the name of another: {_USAGE}")
    return found


def _done(statement: s.Statement, t_env: TableEnvironment) -> Any:
    session = t_env._session
    if isinstance(statement, s.Query):
        return Table(bind_query(statement.tree, session), t_env)
    result = run(statement, session)
    if result.get_job_client() is not None:
        result.wait()
    return Shown(result, session.zone)


class Shown:
    """The result of a statement for a cell, with all of its rows."""

    def __init__(self, result: TableResult, zone: str) -> None:
        schema = result.get_resolved_schema()
        texts = row_texts(schema.get_column_data_types(), zone)
        self._names: Sequence[str] = schema.get_column_names()
        self._plain = result._layout == "plain"
        self.rows = [texts(list(row)) for row in result.collect()]

    def __repr__(self) -> str:
        return "\n".join("\t".join(row) for row in self.rows)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>" if self._plain else grid(self._names, [], self.rows)
