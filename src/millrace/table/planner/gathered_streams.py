"""The rows of DataStreams, for batch queries that read them as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.relational.arrow import schema_of
from millrace.relational.nodes import StreamScan
from millrace.table.planner.run import start

if TYPE_CHECKING:
    from millrace.datastream import DataStream
    from millrace.table.sessions.session import Session


class GatheredStreams:
    """Runs the program of a DataStream as a bounded job of its own, and keeps what it gave: a query that reads a stream
    twice runs it once. To be made for each query.

    :param environment: whose program the streams belong to.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[int, tuple[DataStream, pa.Table]] = {}

    def __call__(self, scan: StreamScan) -> pa.Table:
        """The columns of a scan, c0, c1, ...

        :raises NotImplementedError: the stream has changes.
        :raises GraphError: the stream never ends.
        """
        if scan.changelog is not None:
            raise NotImplementedError(
                "a table of from_changelog_stream() is read in streaming mode only, since batch mode has no changes: "
                "give the rows that are left at the end to from_data_stream()"
            )
        stream: Any = scan.stream
        if id(stream) not in self._known:
            client = start([scan], self._session, "DataStream as a table")
            batches = [rows.batch for rows in client.collected()]
            types = [column.type for column in scan.columns]
            self._known[id(stream)] = stream, pa.Table.from_batches(batches, schema=schema_of(types))
        return self._known[id(stream)][1]
