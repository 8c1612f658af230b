"""``StreamTableEnvironment``: tables and DataStreams in one program; and the columns that a DataStream has as a
table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common import typeinfo as ti
from millrace.common.configuration import Configuration
from millrace.common.typeinfo import TypeInformation
from millrace.relational import types as t
from millrace.relational.nodes import PROCTIME, ROWTIME, Field, Project, Rel, StreamScan
from millrace.relational.rex import Ref, Rex
from millrace.table.catalogs.objects import Schema
from millrace.table.environment import TableEnvironment
from millrace.table.expression_methods.expression import Expression
from millrace.table.expression_methods.expression_base import node_of
from millrace.table.sessions.session import ChangelogMode, EnvironmentSettings, mode_of
from millrace.table.sessions.table_info import repeats_changes, whole_schema
from millrace.table.sql import nodes
from millrace.table.sql.program_text import shown
from millrace.table.table import Table
from millrace.table.values.data_types import type_outside_rows
from millrace.table.values.program_errors import problem
from millrace.util.fallback import takes_older_arguments

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment
    from millrace.table.sessions.session import Session

__all__ = ["StreamTableEnvironment"]


# The columns of DataStreams

TIMESTAMP = "$timestamp"
"""the column behind the fields with the timestamp of each element (TIMESTAMP_LTZ(3), NULL without)"""


def stream_scan(stream: Any, fields_or_schema: Sequence[Any], mode: ChangelogMode | None, session: Session) -> Rel:
    """A stream as a table."""
    columns = _columns(stream.get_type())
    schema = fields_or_schema[0] if fields_or_schema and isinstance(fields_or_schema[0], Schema) else None
    if fields_or_schema and schema is None:
        columns = tuple(Field(column.name, column.type.nullable()) for column in columns)
    declared = () if schema is None or schema.primary_key is None else schema.primary_key.columns
    again = mode is not None and repeats_changes(mode.kinds, declared, "the DataStream", session)
    key = _key(columns, schema) if mode == ChangelogMode.upsert() or again else ()
    scan = StreamScan((*columns, Field(TIMESTAMP, t.LocalZonedTimestampType(3))), stream, mode, key)
    if schema is not None:
        return _with_schema(scan, schema, session)
    picked = [nodes.Column.named(each) if isinstance(each, str) else node_of(each) for each in fields_or_schema]
    return _picked(scan, picked or [nodes.Column.named(column.name) for column in columns])


def _key(columns: Sequence[Field], schema: Schema | None) -> tuple[int, ...]:
    """The primary key as columns of the stream.

    :raises TableException: the schema has none, or one that is not of the stream.
    """
    names = [column.name for column in columns]
    declared = None if schema is None else schema.primary_key
    if declared is None:
        raise problem("a stream of upserts gives rows by their key: its schema needs primary_key(...)")
    for name in declared.columns:
        if name not in names:
            raise problem(f"the primary key '{name}' is no field of the stream; it has {', '.join(names)}")
    return tuple(names.index(name) for name in declared.columns)


def _columns(info: ti.TypeInformation) -> tuple[Field, ...]:
    found = type_outside_rows(info)
    if isinstance(found, t.RowType):
        return tuple(Field(field.name, field.data_type) for field in found)
    return (Field("f0", found),)


def _picked(scan: StreamScan, picked: Sequence[nodes.Node]) -> Rel:
    """Columns by name or, if no name is a field's, by position; time attributes are added."""
    names = scan.names[:-1]
    plain = [node for node in picked if not isinstance(node, nodes.WindowProperty)]
    by_name = all(_source(node) in names for node in plain)
    if not by_name and len(plain) > len(names):
        raise problem(f"the stream has {len(names)} fields ({', '.join(names)}), and {len(plain)} columns are named")
    rexes: list[Rex] = []
    columns: list[Field] = []
    position = 0
    for node in picked:
        name = node.alias.this if isinstance(node, nodes.Alias) else _source(node)
        if isinstance(node, nodes.WindowProperty):
            rex, kind, time = _time(node, scan)
            rexes.append(rex)
            columns.append(Field(name, kind, time))
            if not by_name and time == ROWTIME and position < len(names):
                _check_replaced(scan, position, name)
                position += 1
            continue
        index = names.index(_source(node)) if by_name else position
        if index >= len(names):
            raise problem(
                f"the stream has {len(names)} fields ({', '.join(names)}), "
                f"and a rowtime between columns takes the place of one"
            )
        position += 1
        rexes.append(Ref(scan.schema[index].type, index))
        columns.append(Field(name, scan.schema[index].type))
    return Project(scan, tuple(rexes), tuple(columns))


def _source(node: nodes.Node) -> str:
    if isinstance(node, (nodes.Alias, nodes.WindowProperty)):
        return _source(node.this)
    if not isinstance(node, nodes.Column):
        raise problem(f"columns of a DataStream are given by name, as col('a'), not as {shown(node)}")
    return node.name


def _check_replaced(scan: StreamScan, position: int, name: str) -> None:
    """Check the field that a rowtime replaces if it is given by position: as in Flink, the field must be a BIGINT or
    TIMESTAMP."""
    field = scan.schema[position]
    if not isinstance(field.type, (t.BigIntType, t.TimestampType, t.LocalZonedTimestampType)):
        raise problem(
            f"the rowtime {name} takes the place of the field {field.name}, which is {field.type}: such a field is a "
            f"BIGINT or TIMESTAMP, or the rowtime stands behind all fields"
        )


def _time(node: nodes.WindowProperty, scan: StreamScan) -> tuple[Rex, t.DataType, str]:
    from millrace.relational.functions.registry import call

    if node.property == "PROCTIME":
        found = call("PROCTIME", [])
        return found, found.type, PROCTIME
    last = len(scan.schema) - 1
    return Ref(scan.schema[last].type, last), t.LocalZonedTimestampType(3), ROWTIME


def _with_schema(scan: StreamScan, schema: Schema, session: Session) -> Rel:
    """Physical columns by name, metadata ``rowtime``, computed columns and the watermark of a schema."""
    from millrace.table.sessions.table_info import with_declared

    names = scan.names
    declared = schema.columns
    if not any(column.expression is None and not column.metadata for column in declared):
        own = Schema.new_builder().from_fields(names[:-1], [field.type for field in scan.schema[:-1]]).build().columns
        declared = (*own, *declared)
    rexes, columns = [], []
    for column in declared:
        if column.expression is not None:
            continue
        source = TIMESTAMP if column.metadata else column.name
        if column.metadata and column.metadata_key != "rowtime":
            raise problem(f"a DataStream has the metadata 'rowtime' only, not '{column.metadata_key}'")
        if source not in names:
            raise problem(f"the stream has no field '{source}'; it has {', '.join(names[:-1])}")
        index = names.index(source)
        ref = Ref(scan.schema[index].type, index)
        rex = _cast(ref, column.type)
        rexes.append(rex)
        columns.append(Field(column.name, rex.type))
    # Computed columns may use fields that the schema leaves out.
    taken = {column.name for column in declared}
    for index, field in enumerate(scan.schema[:-1]):
        if field.name not in taken:
            rexes.append(Ref(field.type, index))
            columns.append(field)
    below = Project(scan, tuple(rexes), tuple(columns))
    return with_declared(below, Schema(declared, schema.watermark, schema.primary_key), session)


def _cast(rex: Rex, wanted: t.DataType | None) -> Rex:
    from millrace.relational.functions.registry import cast_to

    return rex if wanted is None else cast_to(rex, wanted)


class StreamTableEnvironment(TableEnvironment):
    """A table environment over a StreamExecutionEnvironment: DataStreams become tables, and tables DataStreams.

    >>> t_env = StreamTableEnvironment.create(env)
    >>> words = t_env.from_data_stream(env.from_collection([("a", 1)], Types.ROW([Types.STRING(), Types.INT()])))
    >>> list(words.execute().collect())
    [<Row('a', 1)>]
    """

    @staticmethod
    @takes_older_arguments
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        from millrace.datastream import StreamExecutionEnvironment

        settings = environment_settings or _mode_of(stream_execution_environment)
        environment = stream_execution_environment or StreamExecutionEnvironment(settings.get_configuration())
        return StreamTableEnvironment(settings, environment)

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Expression[Any] | Schema) -> Table:
        """A stream of insertions as a table: one column a field of its type, or one column ``f0``.

            >>> numbers = env.from_collection([1, 2], Types.INT())
            >>> list(t_env.from_data_stream(numbers).execute().collect())
            [<Row(1)>, <Row(2)>]

        :param fields_or_schema: a schema (with metadata ``rowtime`` and a watermark, if need be), or columns: by name
            or position, ``col("ts").rowtime`` for a time attribute.
        """
        return self._of_stream(data_stream, fields_or_schema, None)

    def from_changelog_stream(
        self, data_stream: DataStream, schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> Table:
        """A stream of ``Row`` with kinds as a changing table."""
        mode = changelog_mode or ChangelogMode.all()
        return self._of_stream(data_stream, () if schema is None else (schema,), mode)

    def _of_stream(self, stream: DataStream, fields_or_schema: Sequence[Any], mode: ChangelogMode | None) -> Table:
        plan = stream_scan(stream, fields_or_schema, mode, self._session)
        schema = fields_or_schema[0] if fields_or_schema and isinstance(fields_or_schema[0], Schema) else None
        return Table(plan, self, None if schema is None else whole_schema(plan, schema))

    def create_temporary_view(
        self,
        view_path: str,
        table_or_data_stream: Table | DataStream,
        *fields_or_schema: str | Expression[Any] | Schema,
    ) -> None:
        """A name for a table or a DataStream, as long as the session lives.

        >>> t_env.create_temporary_view("few", orders.filter(col("amount") < 2))
        >>> list(t_env.sql_query("SELECT name FROM few").execute().collect())
        [<Row('Ann')>]
        """
        if not isinstance(table_or_data_stream, Table):
            fields: Any = fields_or_schema
            table_or_data_stream = self.from_data_stream(table_or_data_stream, *fields)
        super().create_temporary_view(view_path, table_or_data_stream)

    def to_data_stream(self, table: Table) -> DataStream:
        """The rows of a table of insertions as ``Row``.

        >>> list(t_env.to_data_stream(orders).map(lambda row: row[0]).execute_and_collect())
        ['Ann', 'Bob', 'Ann']
        """
        return self._stream(table, mode=ChangelogMode.insert_only())

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> DataStream:
        """The changes of a table as ``Row`` with kinds."""
        return self._stream(table, mode=changelog_mode or ChangelogMode.all(), schema=target_schema)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """As ``to_data_stream``, with a type for the rows."""
        return self._stream(table, mode=ChangelogMode.insert_only(), type_info=type_info)

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The changes of a table as pairs: True for what is added, False for what is taken back, and the row."""
        return self._stream(table, mode=ChangelogMode.all(), type_info=type_info, pairs=True)

    def _stream(self, table: Table, **how: Any) -> DataStream:
        found = self._session.engine.to_data_stream(table._plan, self._session, **how)
        assert found is not None, "a Table does not end in a sink"
        return found


def _mode_of(environment: StreamExecutionEnvironment | None) -> EnvironmentSettings:
    """The mode that was set in the environment."""
    configured = Configuration() if environment is None else environment._configuration
    batch = mode_of(configured) == "BATCH"
    return EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
