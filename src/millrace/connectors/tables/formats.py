"""The format that an option of a table names."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.formats.tables.registry import format_factory, format_options
from millrace.relational.fields import Schema
from millrace.relational.formats import DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.sources import TableContext


@dataclass(frozen=True)
class Format:
    """A format of messages, or of their keys or values, with its options.

    :ivar name: what stands before its options: 'json', 'value.json'.
    """

    factory: FormatFactory
    name: str

    @staticmethod
    def named(option: str, table: TableContext) -> Format | None:
        """The format that an option names, None if it is not set."""
        wanted = table.options.get(option)
        if wanted is None:
            return None
        prefix = option.removesuffix("format")
        return Format(format_factory(wanted, table.summary), f"{prefix}{wanted}")

    def decoding(self, columns: Schema, metadata: tuple[str, ...], table: TableContext) -> DecodingFormat:
        return self.factory.decoding(self._context(columns, metadata, table))

    def encoding(self, columns: Schema, table: TableContext) -> EncodingFormat:
        return self.factory.encoding(self._context(columns, (), table))

    def _context(self, columns: Schema, metadata: tuple[str, ...], table: TableContext) -> FormatContext:
        own = format_options(self.factory, self.name, table.options, table.summary)
        topic = table.options.get("topic", "")
        part = "key" if self.name.startswith("key.") else "value"
        subject = f"{topic}-{part}" if topic and ";" not in topic else ""
        return FormatContext(table.summary, columns, own, metadata, dict(table.configuration), subject)
