"""``TableDescriptor``: a table as CREATE TABLE would describe it, made in Python."""

from __future__ import annotations

from typing import Any

from millrace.common.config_options import ConfigOption
from millrace.table.descriptions.descriptor_options import Described, OptionsBuilder, in_javas_order, options_text
from millrace.table.descriptions.schema import Schema
from millrace.table.values.problems import problem

__all__ = ["TableDescriptor", "FormatDescriptor"]


class TableDescriptor(Described):
    """A table: schema, partition keys, options, comment.

        >>> schema = Schema.new_builder().column("n", "INT").build()
        >>> options = {"number-of-rows": "2", "fields.n.kind": "sequence", "fields.n.start": "1", "fields.n.end": "2"}
        >>> builder = TableDescriptor.for_connector("datagen").schema(schema)
        >>> for key, value in options.items():
        ...     builder = builder.option(key, value)
        >>> list(t_env.from_descriptor(builder.build()).execute().collect())
        [<Row(1)>, <Row(2)>]
    """

    def __init__(
        self, schema: Schema | None, options: dict[str, str], partition_keys: list[str], comment: str | None
    ) -> None:
        self._schema = schema
        self._options = options
        self._partition_keys = partition_keys
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """A table of a connector: ``TableDescriptor.for_connector("datagen")``."""
        return TableDescriptor.Builder().option("connector", connector)

    def get_schema(self) -> Schema | None:
        """The columns; None: the connector finds them out."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """The options, ``connector`` among them."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """The columns by which the table is partitioned."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """What is said about the table."""
        return self._comment

    def __str__(self) -> str:
        parts = [str(self._schema) if self._schema is not None else "()"]
        if self._comment is not None:
            parts.append(f"COMMENT '{self._comment}'")
        if self._partition_keys:
            parts.append(f"PARTITIONED BY ({', '.join(f'`{key}`' for key in self._partition_keys)})")
        parts.append(f"WITH (\n{options_text(self._options)}\n)")
        return "\n".join(parts)

    class Builder(OptionsBuilder):
        """Makes a descriptor."""

        def __init__(self) -> None:
            super().__init__()
            self._schema: Schema | None = None
            self._partition_keys: list[str] = []
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            self._schema = schema
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: ConfigOption[str] | None = None
        ) -> TableDescriptor.Builder:
            """The format, with its options.

            :param format_option: the option that names it, e.g. ``key.format``; default ``format``.
            :raises TableException: its key does not end with ``format``, so its own options could not stand beside it.
            """
            if isinstance(format, str):
                format = FormatDescriptor(format, {})
            key = "format" if format_option is None else format_option.key
            if key != "format" and not key.endswith(".format"):
                raise problem(f"Format identifier key should be 'format' or suffix with '.format', not '{key}'")
            prefix = format.get_format() if key == "format" else key.removesuffix("format") + format.get_format()
            self.option(key, format.get_format())
            for name, value in format.get_options().items():
                self.option(f"{prefix}.{name}", value)
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            self._partition_keys = list(partition_keys)
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            return TableDescriptor(self._schema, dict(self._options), self._partition_keys, self._comment)


class FormatDescriptor(Described):
    """A format with its options.

        >>> format = FormatDescriptor.for_format("json").option("ignore-parse-errors", "true").build()
        >>> format.get_options()
        {'ignore-parse-errors': 'true'}
    """

    def __init__(self, format: str, options: dict[str, Any]) -> None:
        self._format = format
        self._options = options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Begins a description; ``build()`` ends it."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """The name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """The options of the format."""
        return dict(self._options)

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in in_javas_order(self._options).items())
        return f"{self._format}[{{{inside}}}]"

    class Builder(OptionsBuilder):
        """Makes a format; its options are without the format's name in front."""

        def __init__(self, format: str) -> None:
            super().__init__()
            self._format = format

        def build(self) -> FormatDescriptor:
            return FormatDescriptor(self._format, dict(self._options))
