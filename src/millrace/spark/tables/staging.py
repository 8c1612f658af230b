"""Frames as sources of streaming queries: written into files by one Spark job, then read from there."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.file_system.enumerate import FileEnumeratorProvider
from millrace.connectors.file_system.source import FileSource
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.file_system.static import StaticEnumerator
from millrace.connectors.tables.filesystem.formats.parquet import ParquetTableFormat
from millrace.connectors.tables.filesystem.layout.columns import Layout
from millrace.connectors.tables.filesystem.source import Reading
from millrace.relational.nodes import Field
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.spark.sessions.families import session_of_program
from millrace.spark.tables.settings import active, child_session
from millrace.spark.tables.steps.frames import typed

if TYPE_CHECKING:
    from millrace.spark.tables.passthrough import SparkSource


class StagedSource(Source[Rows, FileSplit]):
    """Bounded: the rows that the data source has when the job begins. A job that goes on after a failure, or from a
    savepoint, reads the rest of the same files.

    :param folder: where the files go, visible to all machines; they stay there. None: a temporary directory of this
        machine, which goes with the job.
    """

    def __init__(
        self, source: SparkSource, columns: tuple[int, ...], filters: tuple[Rex, ...], folder: str | None
    ) -> None:
        self._source = source
        self._columns = columns
        self._filters = filters
        self._folder = folder

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[FileSplit], checkpoint: Sequence[FileSplit] | None = None
    ) -> StagingEnumerator:
        return StagingEnumerator(context, self._reading(), checkpoint, self)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Rows, FileSplit]:
        return FileSource.for_bulk_file_format(self._reading(), "/").build().create_reader(context)

    def _reading(self) -> Reading:
        columns = tuple(Field(f"c{place}", kind) for place, kind in enumerate(self._types()))
        layout = Layout(self._source.context.summary, columns)
        return Reading(layout, layout.wanted(range(len(columns))), ParquetTableFormat(columns, {}, layout.table), "")

    def _types(self) -> list[DataType]:
        return [self._source.context.columns[index].type for index in self._columns]

    def stage(self) -> tuple[str, bool]:
        """(folder with the rows as Parquet files, whether it goes with the job)."""
        folder = tempfile.mkdtemp(prefix="millrace-staged-") if self._folder is None else self._folder
        target = f"{folder.rstrip('/')}/{uuid.uuid4().hex}"
        columns = tuple(Field(f"c{place}", kind) for place, kind in enumerate(self._types()))
        session = child_session(session_of_program())
        with active(session):
            frame = self._source.frame(session, self._columns, self._filters)
            typed(frame, columns).write.parquet(target)
        return target, self._folder is None

    def __repr__(self) -> str:
        return f"StagedSource({self._source.context.summary})"


class StagingEnumerator(StaticEnumerator):
    """Lets Spark write the rows when the job begins."""

    def __init__(
        self,
        context: SplitEnumeratorContext[FileSplit],
        reading: Reading,
        restored: Sequence[FileSplit] | None,
        source: StagedSource,
    ) -> None:
        provider = FileEnumeratorProvider.default_splittable_file_enumerator()
        super().__init__(context, provider, reading, (), restored)
        self._source = source
        self._temporary: str | None = None

    def start(self) -> None:
        if not self._restored:
            folder, temporary = self._source.stage()
            self._paths = (folder,)
            self._temporary = folder if temporary else None
        super().start()

    def close(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary.rpartition("/")[0], ignore_errors=True)
        super().close()
