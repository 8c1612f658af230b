"""``t_env.connect(...).with_format(...).with_schema(...)``: a table described step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.legacy.tables.descriptors import ConnectorDescriptor, FormatDescriptor
from millrace.legacy.telling import tell
from millrace.table.descriptions.descriptors import Schema as OldSchema
from millrace.table.descriptions.schema import Schema
from millrace.table.descriptions.table_descriptor import FormatDescriptor as TodaysFormat
from millrace.table.descriptions.table_descriptor import TableDescriptor
from millrace.table.expressions import col
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.environment import TableEnvironment

__all__ = ["BatchTableDescriptor", "ConnectTableDescriptor", "StreamTableDescriptor"]

_TODAY = "execute_sql('CREATE TABLE ...'), or create_temporary_table with a TableDescriptor"


class ConnectTableDescriptor:
    """A table that is being described; ``create_temporary_table`` gives it a name."""

    def __init__(self, t_env: TableEnvironment, connector: ConnectorDescriptor) -> None:
        self._t_env = t_env
        self._connector = connector
        self._format: FormatDescriptor | None = None
        self._schema: OldSchema | None = None

    def with_format(self, format_descriptor: FormatDescriptor) -> ConnectTableDescriptor:
        self._format = format_descriptor
        return self

    def with_schema(self, schema: OldSchema) -> ConnectTableDescriptor:
        self._schema = schema
        return self

    def in_append_mode(self) -> ConnectTableDescriptor:
        """The connector knows which changes it takes, so this says nothing today."""
        return self

    def in_retract_mode(self) -> ConnectTableDescriptor:
        """As ``in_append_mode``."""
        return self

    def in_upsert_mode(self) -> ConnectTableDescriptor:
        """As ``in_append_mode``; a table has a key by PRIMARY KEY."""
        return self

    def register_table_source(self, name: str) -> None:
        self._create("register_table_source", name)

    def register_table_sink(self, name: str) -> None:
        self._create("register_table_sink", name)

    def register_table_source_and_sink(self, name: str) -> None:
        self._create("register_table_source_and_sink", name)

    def create_temporary_table(self, path: str) -> None:
        self._create("create_temporary_table", path)

    def _create(self, method: str, path: str) -> None:
        tell(f"ConnectTableDescriptor.{method}()", _TODAY)
        columns = _columns(self._schema, self._format)
        extra = [name for name in columns.physical if name not in columns.visible]
        if not extra:
            self._t_env.create_temporary_table(path, self._descriptor(columns))
            return
        # What the source has under another name is no column of the table: that is a view on the source's table.
        self._t_env.create_temporary_table(f"{path}__source", self._descriptor(columns))
        table = self._t_env.from_path(f"{path}__source").select(*map(col, columns.visible))
        self._t_env.create_temporary_view(path, table)

    def _descriptor(self, columns: _Columns) -> TableDescriptor:
        builder = TableDescriptor.for_connector(self._connector.kind).schema(columns.schema())
        for key, value in self._connector.options.items():
            builder.option(key, value)
        if self._format is not None:
            made = TodaysFormat.for_format(self._format.kind)
            for key, value in self._format.options.items():
                made.option(key, value)
            builder.format(made.build())
        return builder.build()


StreamTableDescriptor = ConnectTableDescriptor
BatchTableDescriptor = ConnectTableDescriptor


class _Columns:
    """Columns of the source, those computed of them, and what the table shows."""

    def __init__(self) -> None:
        self.physical: dict[str, str] = {}
        self.computed: dict[str, str] = {}
        self.watermark: tuple[str, str] | None = None
        self.visible: list[str] = []

    def schema(self) -> Schema:
        builder = Schema.new_builder()
        for name, kind in self.physical.items():
            builder.column(name, kind)
        for name, expression in self.computed.items():
            builder.column_by_expression(name, expression)
        if self.watermark is not None:
            builder.watermark(*self.watermark)
        return builder.build()


def _columns(schema: OldSchema | None, file_format: FormatDescriptor | None) -> _Columns:
    """What the old schema says, column by column.

    :raises TableException: there is none.
    """
    fields = {} if file_format is None else {name: str(kind) for name, kind in file_format.fields.items()}
    found = _Columns()
    said = {} if schema is None else schema.to_properties()
    for place in range(sum(key.endswith(".name") for key in said)):
        prefix = f"schema.{place}."
        column = {key.removeprefix(prefix): value for key, value in said.items() if key.startswith(prefix)}
        _add(column, fields, found)
    if not found.visible:
        found.physical, found.visible = fields, list(fields)
    if not found.visible:
        raise problem("connect: with_schema(Schema().field(name, type)...) says which columns the table has")
    return found


def _add(column: dict[str, str], fields: dict[str, str], found: _Columns) -> None:
    name, kind = column["name"], column["data-type"]
    found.visible.append(name)
    origin = column.get("from", name)
    if column.get("proctime") == "true":
        found.computed[name] = "PROCTIME()"
        return
    if column.get("rowtime.timestamps.type") == "from-field":
        origin = column["rowtime.timestamps.from"]
    found.physical[origin] = fields.get(origin, kind)
    if origin != name:
        found.computed[name] = f"CAST(`{origin}` AS {kind})"
    strategy = column.get("rowtime.watermarks.type")
    if strategy == "periodic-ascending":
        found.watermark = (name, f"`{name}` - INTERVAL '0.001' SECOND")
    elif strategy == "periodic-bounded":
        millis = int(column["rowtime.watermarks.delay"])
        found.watermark = (name, f"`{name}` - INTERVAL '{millis / 1000:.3f}' SECOND")
    elif strategy == "from-source":
        found.watermark = (name, "SOURCE_WATERMARK()")
