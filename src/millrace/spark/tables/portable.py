"""INSERTs of batch mode with all that another process needs to run them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from millrace.configuration.registry import tell_about
from millrace.datastream.dependencies import Dependencies
from millrace.relational.nodes import Rel, Sink
from millrace.relational.nodes.rel import walk
from millrace.relational.nodes.row_nodes import Scan, StreamScan
from millrace.spark.job_records import next_id
from millrace.spark.sessions.session import workplace
from millrace.spark.sessions.settings import SessionWishes
from millrace.spark.tables import execute
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.spark.tables.execute import FrameSource

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


@dataclass(frozen=True)
class PortableInserts:
    """A ``Portable``: tables, views and functions of the session are part of the plans."""

    sinks: tuple[Sink, ...]
    job_id: str
    name: str
    zone: str
    database: str
    parallelism: int
    configuration: Mapping[str, str] = field(repr=False)
    dependencies: Dependencies
    jars: tuple[str, ...] = ()

    @staticmethod
    def of(sinks: Sequence[Sink], name: str, session: Session) -> PortableInserts:
        configuration = session.config.to_map()
        tell_about(configuration)
        streams = session.streams
        return PortableInserts(
            tuple(sinks),
            next_id(uuid.uuid4().hex),
            name,
            session.zone,
            session.catalogs.current_database,
            streams.get_parallelism(),
            {**streams._configuration.to_dict(), **configuration},
            streams._dependencies,
            tuple(streams._jars),
        )

    def start(self) -> BatchJobClient:
        wishes = SessionWishes(self.parallelism, self.configuration, self.jars, computes=True)
        context = execute.batch_context(
            workplace(None, wishes).session,
            self.zone,
            self.configuration,
            self.database,
            needs=self.dependencies,
            job_name=self.name,
        )
        return execute.start_inserts(self.sinks, replace(context, job_id=next_id(self.job_id)))


def is_portable(plans: Sequence[Rel]) -> bool:
    """Whether plans hold all that they read, or say where it is: DataStreams and frames are of this process."""
    nodes = [node for plan in plans for node in walk(plan)]
    return not any(
        isinstance(node, StreamScan) or (isinstance(node, Scan) and isinstance(node.source, FrameSource))
        for node in nodes
    )
