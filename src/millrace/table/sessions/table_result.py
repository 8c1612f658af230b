"""``TableResult``: the result of a statement, and the results of statements that run as jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any

from millrace.common.jobs import JobClient
from millrace.common.types import Row, row_of
from millrace.relational import types as t
from millrace.relational.nodes import Field, Rel, Schema, Sink
from millrace.relational.rows import Rows, collected_rows
from millrace.table.catalogs.legacy_schema import TableSchema
from millrace.table.catalogs.resolved_schema import ResolvedSchema, resolved_schema
from millrace.table.sessions.session import COLUMN_WIDTH, DML_SYNC, JOB_NAME
from millrace.table.values import printed_tables
from millrace.table.values.printed_tables import row_texts

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


class ResultKind(Enum):
    """SUCCESS: the result says OK and nothing else (DDL, USE, SET); SUCCESS_WITH_CONTENT: it has rows.

    >>> t_env.execute_sql("CREATE DATABASE shop").get_result_kind()
    <ResultKind.SUCCESS: 0>
    """

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1


MAX_WIDTH = 30
"""The most characters of a printed column whose type does not limit its width (``table.display.max-column-width``)."""


class CloseableIterator:
    """Rows, one after the other. Close it to end an unbounded query; also a context manager."""

    def __init__(self, rows: Iterator[Row], close: Callable[[], None] | None = None) -> None:
        self._rows = rows
        self._close = close

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Row:
        return next(self._rows)

    def next(self) -> Row:
        """:raises StopIteration: there are no more."""
        return next(self._rows)

    def close(self) -> None:
        if self._close is not None:
            self._close()
            self._close = None

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()


class TableResult:
    """The result of a statement: rows with a schema, perhaps a job.

        >>> result = orders.select(col("name")).execute()
        >>> with result.collect() as rows:
        ...     print([row[0] for row in rows])
        ['Ann', 'Bob', 'Ann']

    :param rows: may be made while they are read.
    :param layout: how ``print`` shows them: ``content`` (widths of the rows), ``types`` (widths of the types, so that
        rows can be shown as they come), ``plain`` (one text after the other).
    :param with_kinds: print shows the kind of each row, as streaming queries do.
    """

    def __init__(
        self,
        columns: Schema,
        rows: Iterable[Row],
        kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        *,
        job_client: JobClient | None = None,
        layout: str = "content",
        with_kinds: bool = False,
        zone: str = "UTC",
        max_width: int = MAX_WIDTH,
        close: Callable[[], None] | None = None,
        wait: Callable[[float | None], None] | None = None,
        batches: Iterable[Rows] = (),
    ) -> None:
        self._columns = columns
        self._batches = batches
        """the batches of a query's result, from which ``to_arrow`` and ``to_pandas`` are made; empty for other
        statements"""
        self._rows = CloseableIterator(iter(rows), close)
        self._kind = kind
        self._job_client = job_client
        self._layout = layout
        self._with_kinds = with_kinds
        self._zone = zone
        self._max_width = max_width
        self._wait = wait

    def get_job_client(self) -> JobClient | None:
        """The job; None for what needs none (DDL, SHOW).

        >>> orders.execute().get_job_client() is not None
        True
        """
        return self._job_client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait for the end of an INSERT.

            >>> _ = t_env.execute_sql("CREATE TABLE shown (amount BIGINT) WITH ('connector' = 'print')")
            >>> t_env.execute_sql("INSERT INTO shown SELECT amount FROM orders").wait()
            +I[1]
            +I[2]
            +I[3]

        :raises TimeoutError: it takes longer.
        """
        if self._wait is not None:
            self._wait(None if timeout_ms is None else timeout_ms / 1000)

    def get_table_schema(self) -> TableSchema:
        """The columns, as the older class."""
        return TableSchema([column.name for column in self._columns], [column.type for column in self._columns])

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns with their types."""
        return resolved_schema(self._columns)

    def get_result_kind(self) -> ResultKind:
        """Whether the statement gave rows, or only succeeded.

        >>> t_env.execute_sql("SHOW TABLES").get_result_kind()
        <ResultKind.SUCCESS_WITH_CONTENT: 1>
        """
        return self._kind

    def collect(self) -> CloseableIterator:
        """The rows; they can be read once.

        >>> with orders.execute().collect() as rows:
        ...     print(next(rows))
        <Row('Ann', 'ink', 1)>
        """
        return self._rows

    def _lists(self, most: int) -> Iterator[Sequence[Row]]:
        """Instead of ``collect``: the rows in lists, those together that came together, as far as there is room."""
        if not self._batches:
            yield from ([row] for row in self._rows)
        for batch in self._batches:
            rows = collected_rows(batch, self._columns)
            while together := list(islice(rows, most)):
                yield together

    def print(self) -> None:
        """Show all rows on standard output, as Flink does.

        >>> t_env.execute_sql("SHOW VIEWS").print()
        +-----------+
        | view name |
        +-----------+
        |    orders |
        +-----------+
        1 row in set
        """
        for line in self._lines():
            print(line, flush=True)

    def _lines(self) -> Iterator[str]:
        texts = row_texts([column.type for column in self._columns], self._zone)
        if self._layout == "plain":
            for row in self._rows:
                yield "\n".join(texts(list(row)))
            return
        names = [column.name for column in self._columns]
        if self._layout == "content":
            cells = [_empty_for_null(list(row), texts(list(row))) for row in self._rows]
            yield from printed_tables.lines(names, cells, printed_tables.widths_by_content(names, cells))
            return
        widths = printed_tables.widths_by_type(self._columns, self._max_width)
        if self._with_kinds:
            names, widths = [printed_tables.OP, *names], [len(printed_tables.OP), *widths]
        yield from printed_tables.lines(names, map(self._cells(texts), self._rows), widths)

    def _cells(self, texts: Callable[[Sequence[Any]], list[str]]) -> Callable[[Row], list[str]]:
        if self._with_kinds:
            return lambda row: [str(row.get_row_kind()), *texts(list(row))]
        return lambda row: texts(list(row))


def _empty_for_null(row: Sequence[Any], cells: Sequence[str]) -> list[str]:
    return ["" if value is None else cell for value, cell in zip(row, cells)]


def done() -> TableResult:
    """The result of a statement that only does something."""
    columns = (Field("result", t.string()),)
    return TableResult(columns, [row_of(["OK"], ["result"])], ResultKind.SUCCESS, layout="plain")


def listing(columns: Schema, rows: Iterable[Sequence[Any]]) -> TableResult:
    """The result of SHOW and DESCRIBE."""
    names = [column.name for column in columns]
    return TableResult(columns, [row_of(list(row), names) for row in rows])


def texts(name: str, values: Iterable[str]) -> TableResult:
    """One column of texts."""
    return listing((Field(name, t.string()),), [(value,) for value in values])


def plain(text: str) -> TableResult:
    """One text, printed as it is: EXPLAIN, SHOW CREATE TABLE."""
    return TableResult((Field("result", t.string()),), [row_of([text], ["result"])], layout="plain")


# Results of jobs


def name_of_job(plans: Sequence[Rel], session: Session, wanted: str | None = None) -> str:
    """The wanted name, that of the session (``pipeline.name``), or what the plans say."""
    sinks = [".".join(plan.path) for plan in plans if isinstance(plan, Sink)]
    own = f"insert-into_{','.join(sinks)}" if sinks else "collect"
    return wanted or session.config.to_map().get(JOB_NAME) or own


def query_result(plan: Rel, batches: Iterator[Rows], session: Session, **more: Any) -> TableResult:
    """The result of a query, printed as its types and the session's settings say.

    :param batches: may be made while they are read. They are read once: as rows, or as they are (``to_pandas``).
    """
    config = session.config
    return TableResult(
        plan.schema,
        (row for batch in batches for row in collected_rows(batch, plan.schema)),
        batches=batches,
        layout="types",
        with_kinds=session.streaming,
        zone=config.get_local_timezone(),
        max_width=int(config.get(COLUMN_WIDTH, str(MAX_WIDTH))),
        **more,
    )


def sink_result(plans: Sequence[Rel], client: Any, counts: Callable[[], Sequence[int]]) -> TableResult:
    """The result of INSERT.

    :param counts: gives for every table the number of rows, -1 if it is not known.
    """
    names = [".".join(plan.path) for plan in plans if isinstance(plan, Sink)]
    columns = tuple(Field(name, t.BigIntType()) for name in names)
    rows = (row_of(list(each()), names) for each in [counts])
    return TableResult(columns, rows, job_client=client, wait=lambda timeout: _wait(client, timeout))


def _wait(client: JobClient, timeout: float | None) -> None:
    try:
        client.get_job_execution_result().result(timeout)
    except KeyboardInterrupt:  # as execute() of a stream program
        client.cancel().result()
        raise


def settled(result: TableResult, session: Session) -> TableResult:
    """The result, once its INSERT has ended if the session asks for that."""
    if session.config.get(DML_SYNC, "false").lower() == "true":
        result.wait()
    return result
