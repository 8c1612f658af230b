"""The results of statements that run as jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.types import row_of
from millrace.relational import types as t
from millrace.relational.collected_rows import collected_rows
from millrace.relational.nodes import Field, Rel, Sink
from millrace.relational.rows import Rows
from millrace.table.sessions.table_result import MAX_WIDTH, TableResult
from millrace.table.settings.table_config import COLUMN_WIDTH, DML_SYNC, JOB_NAME

if TYPE_CHECKING:
    from millrace.common.jobs.job_client import JobClient
    from millrace.table.sessions.session import Session


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
