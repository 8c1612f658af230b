"""``StreamTableEnvironment``: tables and DataStreams in one program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.configuration import Configuration
from millrace.common.typeinfo import TypeInformation
from millrace.table.descriptions.schema import Schema
from millrace.table.environment import TableEnvironment
from millrace.table.expression_methods.expression import Expression
from millrace.table.sessions.resolved_tables import whole_schema
from millrace.table.sessions.stream_columns import stream_scan
from millrace.table.settings.changelog_mode import ChangelogMode
from millrace.table.settings.environment_settings import EnvironmentSettings, mode_of
from millrace.table.table import Table
from millrace.util.fallback import takes_older_arguments

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment

__all__ = ["StreamTableEnvironment"]


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
