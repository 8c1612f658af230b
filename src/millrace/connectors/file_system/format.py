"""How a file becomes elements: the base of ``StreamFormat`` (records in a stream of bytes) and ``BulkFormat``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from millrace.connectors.file_system.split import FileSplit

__all__ = ["BulkFormat", "FileFormat", "SplitRecords", "StreamFormat"]

T = TypeVar("T")


class SplitRecords(ABC, Generic[T]):
    """The records of one split, batch by batch."""

    parse_errors: int = 0
    """Records skipped because they could not be parsed (with ``ignore_parse_errors``)."""

    @abstractmethod
    def read_batch(self) -> list[T] | None:
        """The next records (some thousands, perhaps none after skipping), None at the end of the split."""

    @abstractmethod
    def position(self) -> int:
        """Where ``FileFormat.open`` has to go on so that the records after the last batch follow."""

    def close(self) -> None: ...


class FileFormat(ABC, Generic[T]):
    """Opens splits. Instances are pickled into every task."""

    @abstractmethod
    def open(self, split: FileSplit) -> SplitRecords[T]:
        """The records of ``split`` from ``split.position`` on (from its start when that is None)."""

    def is_splittable(self, path: str) -> bool:
        """Whether a large file may be read as several splits."""
        return False

    def get_produced_type(self) -> Any:
        """The records' ``TypeInformation``, None when the format does not know it."""
        return None


class StreamFormat(FileFormat[T], Generic[T]):
    """A format of records one after the other in a stream of bytes; decompresses by the file's extension.

        >>> StreamFormat.text_line_format("UTF-8").get_produced_type()
        String
    """

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8", errors: str = "replace") -> StreamFormat[str]:
        """Lines of text, without their line ends (``\\n``, ``\\r\\n`` or ``\\r``).

        :param charset_name: the charset, under its Java or Python name.
        :param errors: "replace" puts U+FFFD for undecodable bytes, as Flink does; "strict" fails and names the place.
        """
        from millrace.connectors.file_system.text import TextLineFormat

        return TextLineFormat(charset_name, errors)


class BulkFormat(FileFormat[T], Generic[T]):
    """A format of whole batches of records, such as Parquet.

        >>> row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
        >>> isinstance(ParquetColumnarRowInputFormat(row), BulkFormat)
        True
    """
