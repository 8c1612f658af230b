"""``TableDescriptor`` and ``ModelDescriptor``: tables and models described in Python as CREATE TABLE and CREATE MODEL
would describe them.
"""

from __future__ import annotations

from typing import Any, TypeVar

from millrace.common.configuration import ConfigOption, to_text
from millrace.table.catalogs.objects import Schema
from millrace.table.values.program_errors import problem
from millrace.util.secrets import mask_options

# Options

_B = TypeVar("_B", bound="OptionsBuilder")


class Described:
    """A value that is what its text says."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))


class OptionsBuilder:
    """Collects options."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}

    def option(self: _B, key: str | ConfigOption[Any], value: Any) -> _B:
        """Set an option of WITH."""
        name = key.key if isinstance(key, ConfigOption) else key
        self._options[name] = to_text(value)
        return self


def options_text(options: dict[str, str]) -> str:
    """The options as in WITH (...), without secrets."""
    shown = in_javas_order(mask_options(options))
    return ",\n".join(f"  '{_escaped(key)}' = '{_escaped(value)}'" for key, value in shown.items())


def in_javas_order(options: dict[str, str]) -> dict[str, str]:
    """The options in the order of Java's ``HashMap``, in which Flink prints them."""
    buckets = 16
    while len(options) > 0.75 * buckets:
        buckets *= 2
    return {key: options[key] for key in sorted(options, key=lambda key: _bucket(key, buckets))}


def _bucket(text: str, buckets: int) -> int:
    found = 0
    units = text.encode("utf-16-be")
    for place in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[place : place + 2], "big")) & 0xFFFFFFFF
    return (found ^ found >> 16) & (buckets - 1)


def _escaped(text: str) -> str:
    return text.replace("'", "''")


# Tables


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


# Models


class ModelDescriptor(Described):
    """A model: input and output columns, options, comment. Kept in catalogs; nothing computes with it.

    >>> descriptor = ModelDescriptor.for_provider("openai").option("task", "classification").build()
    >>> descriptor.get_options()
    {'provider': 'openai', 'task': 'classification'}
    """

    def __init__(
        self, options: dict[str, str], input_schema: Schema | None, output_schema: Schema | None, comment: str | None
    ) -> None:
        self._options = options
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._comment = comment

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """Begins a description; ``build()`` ends it."""
        return ModelDescriptor.Builder().option("provider", provider)

    def get_options(self) -> dict[str, str]:
        """The options, ``provider`` among them."""
        return dict(self._options)

    def get_input_schema(self) -> Schema | None:
        """The columns that the model takes."""
        return self._input_schema

    def get_output_schema(self) -> Schema | None:
        """The columns that the model gives."""
        return self._output_schema

    def get_comment(self) -> str | None:
        """What is said about the model."""
        return self._comment

    def __str__(self) -> str:
        parts = [f"{word}{schema}" for word, schema in (("INPUT", self._input_schema), ("OUTPUT", self._output_schema))]
        return "\n".join([*parts, f"WITH (\n{options_text(self._options)}\n)"])

    class Builder(OptionsBuilder):
        """Makes a descriptor."""

        def __init__(self) -> None:
            super().__init__()
            self._input_schema: Schema | None = None
            self._output_schema: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            self._input_schema = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            self._output_schema = output_schema
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            return ModelDescriptor(dict(self._options), self._input_schema, self._output_schema, self._comment)
