"""``TableEnvironment``: the entry to catalogs, tables, functions, configuration and SQL. It hands plans to one of
two engines: that of streaming or that of batch mode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.configuration import Configuration
from millrace.graph.engine import engine
from millrace.relational.sources import TableFactory
from millrace.relational.types import DataType
from millrace.table.catalogs.catalog import Catalog
from millrace.table.catalogs.descriptors import ModelDescriptor, TableDescriptor
from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogDescriptor,
    CatalogFunction,
    CatalogModel,
    ObjectIdentifier,
    split_path,
)
from millrace.table.catalogs.objects import Schema as TableColumns
from millrace.table.expression_methods.expression import Expression
from millrace.table.functions.function_catalog import Module, ModuleEntry, create_catalog
from millrace.table.functions.udf import wrapped
from millrace.table.planner.compiled_plan import CompiledPlan, PlanReference, compiled, loaded
from millrace.table.queries.projection import values_of_expressions
from millrace.table.sessions.session import Engine, EnvironmentSettings, ExplainDetail, Session, TableConfig, explain
from millrace.table.sessions.table_info import source_info, table_of, unnamed, whole_schema
from millrace.table.sessions.table_result import TableResult, settled
from millrace.table.statement_runners.statements import execute_statement, insert_plans
from millrace.table.statement_set import StatementSet
from millrace.table.table import Table
from millrace.table.values.arrow_tables import scan_of_arrow, scan_of_pandas
from millrace.table.values.elements import values_of
from millrace.table.values.program_errors import instead, problem
from millrace.util.fallback import older_method
from millrace.util.not_yet import not_yet

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from millrace.datastream import DataStream, StreamExecutionEnvironment


def engine_of(streaming: bool) -> Engine:
    """The engine of a mode. What it needs is imported with its first use: that of batch brings Spark."""
    if streaming:
        from millrace.table.planner.engine import StreamingEngine

        return StreamingEngine()
    batch: Engine = engine().batch_tables()
    return batch


_JAVA = "functions in Python, made with udf() and its like"


class TableEnvironment:
    """The context of a table program: its catalogs, tables, functions and settings; it runs queries and statements.

    Objects are found by names of one to three parts, ``catalog.database.name``; odd names are in backticks.

        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> _ = t_env.get_config().set("parallelism.default", "1")
        >>> t_env.execute_sql("SELECT name FROM (VALUES ('Ann'), ('Bob')) AS t (name)").print()
        +----+--------------------------------+
        | op |                           name |
        +----+--------------------------------+
        | +I |                            Ann |
        | +I |                            Bob |
        +----+--------------------------------+
        2 rows in set
    """

    def __init__(self, settings: EnvironmentSettings, stream_environment: StreamExecutionEnvironment) -> None:
        self._session = Session(settings, stream_environment, engine_of)

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """An environment with these settings.

        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        """
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
            found = older_method(self, name)
            if found is None:
                raise AttributeError(f"{type(self).__name__} has no {name!r}{instead(name)}")
            return found

    @property
    def _j_tenv(self) -> TableEnvironment:
        """The environment itself, for programs of PyFlink: there is no Java behind it."""
        return self

    def _get_j_env(self) -> StreamExecutionEnvironment:
        """The environment below, for programs of PyFlink: there is no Java behind it."""
        return self._session.streams

    def get_config(self) -> TableConfig:
        """The configuration of the environment.

        >>> _ = t_env.get_config().set("parallelism.default", "1")
        """
        return self._session.config

    # -- tables of Python values --------------------------------------------------------------------------------

    def from_elements(
        self, elements: Iterable[Any], schema: DataType | Sequence[str] | None = None, verify_schema: bool = True
    ) -> Table:
        """A table of Python values: tuples, lists, dicts, Rows, values of one column with a type, expressions:
        ``row(1, lit("a"))``.

            >>> table = t_env.from_elements([("Ann", 1), ("Bob", 2)], ["name", "amount"])
            >>> list(table.execute().collect())
            [<Row('Ann', 1)>, <Row('Bob', 2)>]

        :param schema: a ROW type, or names of columns.
        :param verify_schema: whether the values are checked against the types.
        """
        given = list(elements)
        if given and all(isinstance(each, Expression) for each in given):
            return Table(values_of_expressions(given, schema, self._session), self)
        return Table(values_of(given, schema, verify_schema), self)

    def from_pandas(self, pdf: pd.DataFrame, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of a frame.

            >>> import pandas
            >>> list(t_env.from_pandas(pandas.DataFrame({"n": [1, 2]})).execute().collect())
            [<Row(1)>, <Row(2)>]

        :param schema: a ROW type, names of columns, or types; default: those of the frame.
        :param splits_num: in how many parts it is read.
        """
        return Table(scan_of_pandas(pdf, schema, splits_num, self._session), self)

    def from_arrow(self, data: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of whatever gives an Arrow stream: a ``pyarrow.Table``, a frame of polars, a relation of DuckDB.
        PyFlink has nothing like it.

            >>> import pyarrow
            >>> list(t_env.from_arrow(pyarrow.table({"n": [1, 2]})).execute().collect())
            [<Row(1)>, <Row(2)>]

        :param schema: a ROW type, names of columns, or types; default: those of the data.
        :param splits_num: in how many parts it is read.
        :raises TypeError: it gives none.
        """
        return Table(scan_of_arrow(data, schema, splits_num, self._session), self)

    def from_polars(self, frame: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of a ``polars.DataFrame`` or, computed now, a ``LazyFrame``; as ``from_arrow``."""
        return self.from_arrow(frame.collect() if hasattr(frame, "collect") else frame, schema, splits_num)

    def from_spark(self, frame: DataFrame) -> Table:
        """A table of a Spark DataFrame, in batch mode. PyFlink has nothing like it."""
        return Table(self._session.engine.from_spark(frame), self)

    # -- tables by name -----------------------------------------------------------------------------------------

    def from_path(self, path: str) -> Table:
        """A table or view by its name.

            >>> t_env.from_path("orders").get_schema().get_field_names()
            ['name', 'product', 'amount']

        :raises TableException: there is none.
        """
        names = split_path(path)
        found = self._session.catalogs.table(names)
        info = self._session.table(tuple(names), {})
        assert info is not None
        return Table(info.plan, self, whole_schema(info.plan, found.table.get_unresolved_schema()))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """A table without a name."""
        plan = source_info(*unnamed(descriptor, self._session), {}, self._session).plan
        return Table(plan, self, whole_schema(plan, descriptor.get_schema() or TableColumns()))

    def create_table(self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False) -> None:
        """A table in the catalog.

        >>> schema = Schema.new_builder().column("name", "STRING").build()
        >>> t_env.create_table("shown", TableDescriptor.for_connector("print").schema(schema).build())
        """
        self._create(path, table_of(descriptor), ignoreIfExists, False)

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False
    ) -> None:
        """A table for this session.

        >>> schema = Schema.new_builder().column("name", "STRING").build()
        >>> t_env.create_temporary_table("shown", TableDescriptor.for_connector("print").schema(schema).build())
        """
        self._create(path, table_of(descriptor), ignoreIfExists, True)

    def create_temporary_view(
        self,
        view_path: str,
        table_or_data_stream: Table | DataStream,
        *fields_or_schema: str | Expression[Any] | TableColumns,
    ) -> None:
        """A name for a table, as long as the session lives.

        >>> t_env.create_temporary_view("few", orders.filter(col("amount") < 2))
        >>> t_env.list_temporary_views()
        ['few', 'orders']
        """
        table = table_or_data_stream
        if not isinstance(table, Table):
            raise problem(
                "a DataStream becomes a table in a StreamTableEnvironment: StreamTableEnvironment.create(env)"
            )
        self._create(view_path, CatalogBaseTable.of_plan(table._plan, table._declared), False, True)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool | None = False) -> None:
        """A view in a catalog; its query is that of the table."""
        self._create(view_path, CatalogBaseTable.of_plan(table._plan, table._declared), ignore_if_exists, False)

    def register_connector(self, factory: type[TableFactory]) -> None:
        """Let tables of this environment name a connector of the program's own, by its ``identifier``.

        >>> from millrace.connectors.tables.print_table import BlackholeFactory
        >>> class Nowhere(BlackholeFactory):
        ...     identifier = "nowhere"
        >>> t_env.register_connector(Nowhere)
        >>> _ = t_env.execute_sql("CREATE TABLE gone (name STRING) WITH ('connector' = 'nowhere')")
        """
        self._session.connectors.register(factory)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drop a temporary table; whether it was there."""
        return self._session.catalogs.drop_temporary_table(self._identifier(table_path), False)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drop a temporary view; whether it was there."""
        return self._session.catalogs.drop_temporary_table(self._identifier(view_path), True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a table from the catalog; whether it was there."""
        return self._session.catalogs.drop_table(self._identifier(table_path), bool(ignore_if_not_exists), False)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a view from the catalog; whether it was there."""
        return self._session.catalogs.drop_table(self._identifier(view_path), bool(ignore_if_not_exists), True)

    def list_tables(self) -> list[str]:
        """Tables and views of the current database."""
        return self._session.catalogs.list_tables()

    def list_views(self) -> list[str]:
        """The views of the current database, temporary ones too.

        >>> t_env.list_views()
        ['orders']
        """
        return self._session.catalogs.list_views()

    def list_materialized_tables(self) -> list[str]:
        """Always empty: materialized tables are not there."""
        return self._session.catalogs.current.list_materialized_tables(self._session.catalogs.current_database)

    def list_temporary_tables(self) -> list[str]:
        """Temporary tables and views of the current database."""
        return self._session.catalogs.list_temporary(views=False)

    def list_temporary_views(self) -> list[str]:
        """The temporary views of the current database."""
        return self._session.catalogs.list_temporary(views=True)

    def _create(self, path: str, table: CatalogBaseTable, ignore: bool | None, temporary: bool) -> None:
        self._session.catalogs.create_table(self._identifier(path), table, bool(ignore), temporary)

    def _identifier(self, path: str) -> ObjectIdentifier:
        return self._session.catalogs.qualify(split_path(path))

    # -- catalogs and databases ---------------------------------------------------------------------------------

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Make a catalog known under a name."""
        self._session.catalogs.register(catalog_name, catalog)

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """A catalog by its options: 'type' is 'generic_in_memory', 'file', or that of an installed package."""
        create_catalog(self._session.catalogs, catalog_name, catalog_descriptor.options, catalog_descriptor.comment)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """None if there is none."""
        return self._session.catalogs.find_catalog(catalog_name)

    def list_catalogs(self) -> list[str]:
        """The names of the catalogs."""
        return self._session.catalogs.catalogs()

    def list_databases(self) -> list[str]:
        """The databases of the current catalog."""
        return self._session.catalogs.current.list_databases()

    def get_current_catalog(self) -> str:
        """The catalog that names without one are looked for in."""
        return self._session.catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Look for names without a catalog in this one."""
        self._session.catalogs.use_catalog(catalog_name)

    def get_current_database(self) -> str:
        """The database that names without one are looked for in."""
        return self._session.catalogs.current_database

    def use_database(self, database_name: str) -> None:
        """Look for names without a database in this one."""
        self._session.catalogs.use_database(database_name)

    # -- functions and modules ----------------------------------------------------------------------------------

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """A function without catalog and database; it takes the place of a built-in one with its name.

        >>> t_env.create_temporary_system_function("twice", udf(lambda n: n * 2, result_type="BIGINT"))
        >>> next(t_env.sql_query("SELECT twice(amount) FROM orders").execute().collect())
        <Row(2)>
        """
        made = CatalogFunction.of_function(wrapped(function))
        self._session.catalogs.temporary_system_functions[name.lower()] = made

    def drop_temporary_system_function(self, name: str) -> bool:
        """Drop a temporary system function; whether it was there."""
        return self._session.catalogs.temporary_system_functions.pop(name.lower(), None) is not None

    def create_temporary_function(self, path: str, function: Any) -> None:
        """A function under a name of the current database, for this session.

        >>> t_env.create_temporary_function("twice", udf(lambda n: n * 2, result_type="BIGINT"))
        >>> next(t_env.sql_query("SELECT twice(amount) FROM orders").execute().collect())
        <Row(2)>
        """
        identifier = self._identifier(path)
        if identifier in self._session.catalogs.temporary_functions:
            raise problem(f"there is a temporary function {identifier} already")
        self._session.catalogs.temporary_functions[identifier] = CatalogFunction.of_function(wrapped(function))

    def drop_temporary_function(self, path: str) -> bool:
        """Drop a temporary function; whether it was there."""
        return self._session.catalogs.temporary_functions.pop(self._identifier(path), None) is not None

    def drop_function(self, path: str) -> bool:
        """A function of a catalog; whether there was one."""
        identifier = self._identifier(path)
        catalog, where = self._session.catalogs.catalog(identifier.get_catalog_name()), identifier.to_object_path()
        there = catalog.function_exists(where)
        catalog.drop_function(where, True)
        return there

    def create_java_function(self, path: str, function_class_name: str, ignore_if_exists: bool | None = None) -> None:
        """Not there: functions are Python."""
        raise not_yet("TableEnvironment.create_java_function", _JAVA)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Not there: functions are Python."""
        raise not_yet("TableEnvironment.create_java_temporary_function", _JAVA)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Not there: functions are Python."""
        raise not_yet("TableEnvironment.create_java_temporary_system_function", _JAVA)

    def list_functions(self) -> list[str]:
        """The names of all functions."""
        return self._session.functions.list_all()

    def list_user_defined_functions(self) -> list[str]:
        """The names of the program's own functions."""
        return self._session.functions.list_user_defined()

    def load_module(self, module_name: str, module: Module) -> None:
        """Use the functions of a module."""
        self._session.functions.load_module(module_name, module)

    def unload_module(self, module_name: str) -> None:
        """Use the functions of a module no more."""
        self._session.functions.unload_module(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Which modules are used, in this order."""
        self._session.functions.use_modules(module_names)

    def list_modules(self) -> list[str]:
        """Modules in which functions are looked up, in this order."""
        return self._session.functions.list_modules()

    def list_full_modules(self) -> list[ModuleEntry]:
        """All modules that are loaded, and whether they are used."""
        return self._session.functions.list_full_modules()

    # -- models -------------------------------------------------------------------------------------------------

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Keep a model in the catalog."""
        identifier = self._identifier(model_path)
        catalog = self._session.catalogs.catalog(identifier.get_catalog_name())
        catalog.create_model(identifier.to_object_path(), _model(model_descriptor), bool(ignore_if_exists))

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Keep a model for this session."""
        identifier = self._identifier(model_path)
        if identifier in self._session.catalogs.temporary_models and not ignore_if_exists:
            raise problem(f"there is a temporary model {identifier} already")
        self._session.catalogs.temporary_models.setdefault(identifier, _model(model_descriptor))

    def drop_model(self, model_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a model from the catalog; whether it was there."""
        identifier = self._identifier(model_path)
        catalog, where = self._session.catalogs.catalog(identifier.get_catalog_name()), identifier.to_object_path()
        there = catalog.model_exists(where)
        catalog.drop_model(where, bool(ignore_if_not_exists))
        return there

    def drop_temporary_model(self, model_path: str) -> bool:
        """Drop a temporary model; whether it was there."""
        return self._session.catalogs.temporary_models.pop(self._identifier(model_path), None) is not None

    def list_models(self) -> list[str]:
        """The models of the current database."""
        return self._session.catalogs.list_models()

    def list_temporary_models(self) -> list[str]:
        """The temporary models of the current database."""
        return self._session.catalogs.list_temporary_models()

    # -- SQL and plans ------------------------------------------------------------------------------------------

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement: a query, INSERT, CREATE, SHOW, ...

            >>> t_env.execute_sql("SELECT name, SUM(amount) AS total FROM orders GROUP BY name").print()
            +----+--------------------------------+----------------------+
            | op |                           name |                total |
            +----+--------------------------------+----------------------+
            | +I |                            Ann |                    4 |
            | +I |                            Bob |                    2 |
            +----+--------------------------------+----------------------+
            2 rows in set

        :raises SqlError: it cannot be read, or means nothing; the message shows the place.
        """
        return settled(execute_statement(stmt, self._session), self._session)

    def sql_query(self, query: str) -> Table:
        """A query as a table.

        >>> large = t_env.sql_query("SELECT * FROM orders WHERE amount > 2")
        >>> list(large.execute().collect())
        [<Row('Ann', 'pen', 3)>]
        """
        return Table(self._session.query_plan(query), self)

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """The plan of a query or INSERT."""
        from millrace.table.sql.grammar.parser import parse_statement
        from millrace.table.sql.statements import Query

        query = isinstance(parse_statement(stmt), Query)
        session = self._session
        return explain([session.query_plan(stmt)] if query else insert_plans(stmt, session), session, extra_details)

    def create_statement_set(self) -> StatementSet:
        """Begins a set of INSERTs that is one job.

        >>> statements = t_env.create_statement_set()
        """
        return StatementSet(self._session)

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """The plan of an INSERT or of a statement set, as it would run now."""
        return compiled(insert_plans(stmt, self._session), self._session)

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """A plan that was compiled before."""
        return loaded(plan_reference, self._session)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Run a compiled plan."""
        return self.load_plan(plan_reference).execute()

    # -- what the workers need ----------------------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """A module, package or archive that functions import."""
        self._session.streams.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Ship an archive, unpacked in the working folder of functions."""
        self._session.streams.add_python_archive(archive_path, target_dir)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Ship packages that functions need."""
        self._session.streams.set_python_requirements(requirements_file_path, requirements_cache_dir)


def _model(descriptor: ModelDescriptor) -> CatalogModel:
    schemas = (descriptor.get_input_schema(), descriptor.get_output_schema())
    return CatalogModel(*schemas, descriptor.get_options(), descriptor.get_comment())
