"""``TableEnvironment``: catalogs, tables, functions, configuration, SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.common.configuration import Configuration
from millrace.relational.nodes import Rel, Sink
from millrace.relational.types import DataType
from millrace.table.catalogs.base import Catalog
from millrace.table.catalogs.kept import GenericInMemoryCatalog
from millrace.table.catalogs.manager import CatalogManager
from millrace.table.catalogs.objects import CatalogBaseTable, CatalogDescriptor, CatalogFunction, CatalogModel
from millrace.table.catalogs.paths import ObjectIdentifier, split_path
from millrace.table.descriptions.model_descriptor import ModelDescriptor
from millrace.table.descriptions.table_descriptor import TableDescriptor
from millrace.table.environment_settings import EnvironmentSettings
from millrace.table.explain_detail import ExplainDetail
from millrace.table.module import Module, ModuleEntry
from millrace.table.not_yet import not_yet
from millrace.table.plans.compiled_plan import CompiledPlan, compiled, loaded
from millrace.table.plans.explaining import explain
from millrace.table.plans.plan_reference import PlanReference
from millrace.table.queries.old_names import instead
from millrace.table.queries.problems import did_you_mean, problem
from millrace.table.queries.projection import renamed
from millrace.table.schema import Schema as TableColumns
from millrace.table.sessions import execution
from millrace.table.sessions.created_catalogs import create_catalog
from millrace.table.sessions.functions_by_name import Functions
from millrace.table.sessions.session import Session
from millrace.table.sessions.statements import execute_statement, insert_plans, query_plan
from millrace.table.sessions.table_info import sink_info, source_info
from millrace.table.statement_set import StatementSet
from millrace.table.table import Table
from millrace.table.table_config import DML_SYNC, TableConfig
from millrace.table.table_result import TableResult
from millrace.table.udf import wrapped
from millrace.table.values.elements import values_of
from millrace.table.values.pandas_frames import frame_of, scan_of_pandas

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from millrace.datastream import DataStream, StreamExecutionEnvironment
    from millrace.table.expression import Expression

_JAVA = "functions in Python, made with udf() and its like"


class TableEnvironment:
    """The context of a table program: its catalogs, tables, functions and settings; it runs queries and statements.

    Objects are found by names of one to three parts, ``catalog.database.name``; odd names are in backticks.
    """

    def __init__(self, settings: EnvironmentSettings, stream_environment: StreamExecutionEnvironment) -> None:
        self._stream_environment = stream_environment
        self._is_streaming = settings.is_streaming_mode()
        self._config = TableConfig(Configuration(settings.get_configuration()), stream_environment._configuration)
        name, database = settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
        self._catalogs = CatalogManager(name, GenericInMemoryCatalog(name, database))
        self._functions = Functions(self._catalogs)
        self._session = Session(self)
        self._unnamed = 0

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        from millrace.datastream import StreamExecutionEnvironment

        if isinstance(environment_settings, Configuration):
            builder = EnvironmentSettings.new_instance().with_configuration(environment_settings)
            environment_settings = builder.build()
        if not isinstance(environment_settings, EnvironmentSettings):
            raise TypeError(
                f"TableEnvironment.create takes EnvironmentSettings.in_streaming_mode() or in_batch_mode(), not "
                f"{environment_settings!r}; over a StreamExecutionEnvironment it is StreamTableEnvironment.create(env)"
            )
        configuration = environment_settings.get_configuration()
        return TableEnvironment(environment_settings, StreamExecutionEnvironment(configuration))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"{type(self).__name__} has no {name!r}{instead(name)}")

    def get_config(self) -> TableConfig:
        return self._config

    # -- tables of Python values --------------------------------------------------------------------------------

    def from_elements(
        self, elements: Iterable[Any], schema: DataType | Sequence[str] | None = None, verify_schema: bool = True
    ) -> Table:
        """A table of Python values: tuples, lists, dicts, Rows, or single values with the type of one column.

        :param schema: a ROW type, or names of columns.
        :param verify_schema: whether the values are checked against the types.
        """
        return Table(values_of(elements, schema, verify_schema), self)

    def from_pandas(self, pdf: pd.DataFrame, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of a frame.

        :param schema: a ROW type, names of columns, or types; default: those of the frame.
        :param splits_num: in how many parts it is read.
        """
        return Table(scan_of_pandas(pdf, schema, splits_num, self), self)

    def from_spark(self, frame: DataFrame) -> Table:
        """A table of a Spark DataFrame, in batch mode. PyFlink has nothing like it."""
        return Table(execution.from_spark(frame, self), self)

    # -- tables by name -----------------------------------------------------------------------------------------

    def from_path(self, path: str) -> Table:
        """A table or view by its name.

        :raises TableException: there is none.
        """
        names = split_path(path)
        self._catalogs.table(names)
        info = self._session.table(tuple(names), {})
        assert info is not None
        return Table(info.plan, self)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """A table without a name."""
        return Table(source_info(self._anonymous(descriptor), _table(descriptor), {}, self).plan, self)

    def create_table(self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False) -> None:
        self._create(path, _table(descriptor), ignoreIfExists, False)

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False
    ) -> None:
        self._create(path, _table(descriptor), ignoreIfExists, True)

    def create_temporary_view(
        self,
        view_path: str,
        table_or_data_stream: Table | DataStream,
        *fields_or_schema: str | Expression[Any] | TableColumns,
    ) -> None:
        """A name for a table, as long as the session lives."""
        table = table_or_data_stream
        if not isinstance(table, Table):
            raise problem(
                "a DataStream becomes a table in a StreamTableEnvironment: StreamTableEnvironment.create(env)"
            )
        self._create(view_path, CatalogBaseTable.of_plan(table._plan), False, True)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool | None = False) -> None:
        """A view in a catalog; its query is that of the table."""
        self._create(view_path, CatalogBaseTable.of_plan(table._plan), ignore_if_exists, False)

    def drop_temporary_table(self, table_path: str) -> bool:
        return self._catalogs.drop_temporary_table(self._identifier(table_path), False)

    def drop_temporary_view(self, view_path: str) -> bool:
        return self._catalogs.drop_temporary_table(self._identifier(view_path), True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        return self._catalogs.drop_table(self._identifier(table_path), bool(ignore_if_not_exists), False)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        return self._catalogs.drop_table(self._identifier(view_path), bool(ignore_if_not_exists), True)

    def list_tables(self) -> list[str]:
        """Tables and views of the current database."""
        return self._catalogs.list_tables()

    def list_views(self) -> list[str]:
        return self._catalogs.list_views()

    def list_materialized_tables(self) -> list[str]:
        return self._catalogs.current.list_materialized_tables(self._catalogs.current_database)

    def list_temporary_tables(self) -> list[str]:
        """Temporary tables and views of the current database."""
        return self._catalogs.list_temporary(views=False)

    def list_temporary_views(self) -> list[str]:
        return self._catalogs.list_temporary(views=True)

    def _create(self, path: str, table: CatalogBaseTable, ignore: bool | None, temporary: bool) -> None:
        self._catalogs.create_table(self._identifier(path), table, bool(ignore), temporary)

    def _identifier(self, path: str) -> ObjectIdentifier:
        return self._catalogs.qualify(split_path(path))

    def _anonymous(self, descriptor: TableDescriptor) -> ObjectIdentifier:
        self._unnamed += 1
        name = f"*anonymous_{descriptor.get_options().get('connector', 'table')}${self._unnamed}*"
        return self._catalogs.qualify([name])

    def _name_in_sql(self, table: Table) -> str:
        """A name under which SQL finds the table."""
        name = f"UnnamedTable${self._unnamed}"
        self._unnamed += 1
        identifier = self._catalogs.qualify([name])
        self._catalogs.temporary_tables[identifier] = CatalogBaseTable.of_plan(table._plan)
        return identifier.as_serializable_string()

    # -- catalogs and databases ---------------------------------------------------------------------------------

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        self._catalogs.register(catalog_name, catalog)

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """A catalog by its options: 'type' is 'generic_in_memory', 'file', or that of an installed package."""
        create_catalog(self._catalogs, catalog_name, catalog_descriptor.options, catalog_descriptor.comment)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """None if there is none."""
        return self._catalogs.find_catalog(catalog_name)

    def list_catalogs(self) -> list[str]:
        return self._catalogs.catalogs()

    def list_databases(self) -> list[str]:
        return self._catalogs.current.list_databases()

    def get_current_catalog(self) -> str:
        return self._catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        self._catalogs.use_catalog(catalog_name)

    def get_current_database(self) -> str:
        return self._catalogs.current_database

    def use_database(self, database_name: str) -> None:
        self._catalogs.use_database(database_name)

    # -- functions and modules ----------------------------------------------------------------------------------

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """A function without catalog and database; it takes the place of a built-in one with its name."""
        made = CatalogFunction.of_function(wrapped(function))
        self._catalogs.temporary_system_functions[name.lower()] = made

    def drop_temporary_system_function(self, name: str) -> bool:
        return self._catalogs.temporary_system_functions.pop(name.lower(), None) is not None

    def create_temporary_function(self, path: str, function: Any) -> None:
        identifier = self._identifier(path)
        if identifier in self._catalogs.temporary_functions:
            raise problem(f"there is a temporary function {identifier} already")
        self._catalogs.temporary_functions[identifier] = CatalogFunction.of_function(wrapped(function))

    def drop_temporary_function(self, path: str) -> bool:
        return self._catalogs.temporary_functions.pop(self._identifier(path), None) is not None

    def drop_function(self, path: str) -> bool:
        """A function of a catalog; whether there was one."""
        identifier = self._identifier(path)
        catalog, where = self._catalogs.catalog(identifier.get_catalog_name()), identifier.to_object_path()
        there = catalog.function_exists(where)
        catalog.drop_function(where, True)
        return there

    def create_java_function(self, path: str, function_class_name: str, ignore_if_exists: bool | None = None) -> None:
        raise not_yet("TableEnvironment.create_java_function", _JAVA)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        raise not_yet("TableEnvironment.create_java_temporary_function", _JAVA)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        raise not_yet("TableEnvironment.create_java_temporary_system_function", _JAVA)

    def list_functions(self) -> list[str]:
        return self._functions.list_all()

    def list_user_defined_functions(self) -> list[str]:
        return self._functions.list_user_defined()

    def load_module(self, module_name: str, module: Module) -> None:
        self._functions.load_module(module_name, module)

    def unload_module(self, module_name: str) -> None:
        self._functions.unload_module(module_name)

    def use_modules(self, *module_names: str) -> None:
        self._functions.use_modules(module_names)

    def list_modules(self) -> list[str]:
        """Modules in which functions are looked up, in this order."""
        return self._functions.list_modules()

    def list_full_modules(self) -> list[ModuleEntry]:
        return self._functions.list_full_modules()

    # -- models -------------------------------------------------------------------------------------------------

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        identifier = self._identifier(model_path)
        catalog = self._catalogs.catalog(identifier.get_catalog_name())
        catalog.create_model(identifier.to_object_path(), _model(model_descriptor), bool(ignore_if_exists))

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        identifier = self._identifier(model_path)
        if identifier in self._catalogs.temporary_models and not ignore_if_exists:
            raise problem(f"there is a temporary model {identifier} already")
        self._catalogs.temporary_models.setdefault(identifier, _model(model_descriptor))

    def drop_model(self, model_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        identifier = self._identifier(model_path)
        catalog, where = self._catalogs.catalog(identifier.get_catalog_name()), identifier.to_object_path()
        there = catalog.model_exists(where)
        catalog.drop_model(where, bool(ignore_if_not_exists))
        return there

    def drop_temporary_model(self, model_path: str) -> bool:
        return self._catalogs.temporary_models.pop(self._identifier(model_path), None) is not None

    def list_models(self) -> list[str]:
        own = self._catalogs.current.list_models(self._catalogs.current_database)
        return sorted({*own, *self.list_temporary_models()})

    def list_temporary_models(self) -> list[str]:
        return self._catalogs.list_temporary_models()

    # -- SQL and plans ------------------------------------------------------------------------------------------

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement: a query, INSERT, CREATE, SHOW, ...

        :raises SqlError: it cannot be read, or means nothing; the message shows the place.
        """
        return self._settled(execute_statement(stmt, self))

    def sql_query(self, query: str) -> Table:
        """A query as a table."""
        return Table(query_plan(query, self), self)

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """The plan of a query or INSERT."""
        from millrace.table.sql.parser import parse_statement
        from millrace.table.sql.statements import Query

        query = isinstance(parse_statement(stmt), Query)
        return self._explain([query_plan(stmt, self)] if query else insert_plans(stmt, self), extra_details)

    def create_statement_set(self) -> StatementSet:
        return StatementSet(self)

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """The plan of an INSERT or of a statement set, as it would run now."""
        return compiled(insert_plans(stmt, self), self)

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """A plan that was compiled before."""
        return loaded(plan_reference, self)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        return self.load_plan(plan_reference).execute()

    # -- what the workers need ----------------------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """A module, package or archive that functions import."""
        self._stream_environment.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        self._stream_environment.add_python_archive(archive_path, target_dir)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        self._stream_environment.set_python_requirements(requirements_file_path, requirements_cache_dir)

    # -- for the other parts of the Table API -------------------------------------------------------------------

    def _spark_session(self) -> SparkSession:
        return execution.spark_session(self._stream_environment)

    def _execute_query(self, table: Table) -> TableResult:
        return execution.execute([table._plan], self)

    def _execute_sinks(self, plans: Sequence[Sink]) -> TableResult:
        return execution.execute(plans, self)

    def _settled(self, result: TableResult) -> TableResult:
        """The result, once its INSERT has ended if the session asks for that."""
        if self.get_config().get(DML_SYNC, "false").lower() == "true":
            result.wait()
        return result

    def _attach(self, plans: Sequence[Sink]) -> None:
        for plan in plans:
            execution.to_data_stream(plan, self)

    def _insert_plans(self, stmt: str) -> list[Sink]:
        return insert_plans(stmt, self)

    def _explain(self, plans: Sequence[Rel], details: Sequence[ExplainDetail]) -> str:
        return explain(plans, self, details)

    def _to_pandas(self, table: Table) -> pd.DataFrame:
        result = self._execute_query(table)
        with result.collect():
            return frame_of(table._plan.schema, result._batches, self._config.get_local_timezone())

    def _sink_plan(
        self,
        table: Table,
        target: str | TableDescriptor,
        overwrite: bool,
        columns: Sequence[str] | None = None,
    ) -> Sink:
        """:param columns: of the target, those that the table's columns go into; the others are NULL."""
        from millrace.table.sql.binding.queries.insert import insert_plan
        from millrace.table.sql.errors import SqlError

        if isinstance(target, TableDescriptor):
            identifier, described = self._anonymous(target), _table(target)
        else:
            found = self._catalogs.find_table(split_path(target))
            if found is None:
                hint = did_you_mean(target, self.list_tables())
                raise problem(f"there is no table {target} to insert into{hint}")
            identifier, described = found.identifier, found.table
        try:
            info = sink_info(identifier, described, {}, self)
            made = insert_plan(table._plan, info, columns, overwrite=overwrite)
            # A sink finds its key by name.
            return replace(made, input=renamed(made.input, [column.name for column in info.columns]))
        except SqlError as error:
            raise problem(error.message) from None


def _table(descriptor: TableDescriptor) -> CatalogBaseTable:
    schema = descriptor.get_schema() or TableColumns()
    keys = tuple(descriptor.get_partition_keys())
    return CatalogBaseTable(schema, descriptor.get_options(), keys, descriptor.get_comment())


def _model(descriptor: ModelDescriptor) -> CatalogModel:
    schemas = (descriptor.get_input_schema(), descriptor.get_output_schema())
    return CatalogModel(*schemas, descriptor.get_options(), descriptor.get_comment())
