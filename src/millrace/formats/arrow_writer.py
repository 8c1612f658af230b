"""Writing rows into files whose format pyarrow writes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from millrace.common.serialization import BulkWriter, RowDataBulkWriterFactory
from millrace.formats.arrow_rows import columns_of_rows, values_of_row
from millrace.formats.types import row_type_info

__all__ = ["ArrowWriterFactory"]


class ArrowWriterFactory(RowDataBulkWriterFactory):
    """Makes writers that take rows (Row, tuple or dict) and write many at a time."""

    def __init__(self, schema: Any) -> None:
        super().__init__(row_type_info(schema))
        self.schema = schema

    def create(self, stream: Any) -> BulkWriter:
        return _ArrowWriter(self, stream)

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows that a writer holds back."""

    @abstractmethod
    def open(self, stream: Any) -> Any:
        """pyarrow's writer of a file, which has ``close``."""

    @abstractmethod
    def write(self, file: Any, batch: Any) -> None:
        """Write a record batch into a file that ``open`` opened."""


class _ArrowWriter(BulkWriter):
    def __init__(self, factory: ArrowWriterFactory, stream: Any) -> None:
        self._factory = factory
        self._names = factory.schema.names
        self._file = factory.open(stream)
        self._rows: list[Any] = []

    def add_element(self, element: Any) -> None:
        self._rows.append(values_of_row(element, self._names))
        if len(self._rows) >= self._factory.rows:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._factory.write(self._file, columns_of_rows(self._rows, self._factory.schema))
            self._rows = []

    def finish(self) -> None:
        self.flush()
        self._file.close()
