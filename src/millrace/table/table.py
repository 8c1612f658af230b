"""``Table``: a query to which each method adds a step, and the intermediate results of grouping and windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.relational.nodes import Filter, Rel, Sort
from millrace.relational.rex import Ref
from millrace.relational.rules.subqueries import unnest
from millrace.table.catalogs.legacy_schema import TableSchema
from millrace.table.catalogs.objects import CatalogBaseTable
from millrace.table.catalogs.resolved_schema import resolved_schema
from millrace.table.expression_methods.expression import Expression
from millrace.table.expression_methods.expression_base import _Rows, expression_of, expressions_of, node_of
from millrace.table.expression_methods.windows import GroupWindow, OverWindow
from millrace.table.functions.udf import UserDefinedFunctionWrapper
from millrace.table.queries.grouping import Grouping, bound_window, match, over_select
from millrace.table.queries.projection import (
    Item,
    added,
    combined,
    correlated,
    dropped,
    expand,
    joined,
    lateral,
    mapped,
    named,
    project,
    renamed,
    replaced_or_added,
    select,
    with_codes,
    with_new_names,
    without_codes,
)
from millrace.table.sessions.session import ExplainDetail, explain, sink_plan
from millrace.table.sessions.table_info import resolved_table
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import sort_key
from millrace.table.sql.binding.grouped import has_aggregate
from millrace.table.sql.binding.scope import Block, bind, bind_condition
from millrace.table.table_pipeline import TablePipeline
from millrace.table.values.arrow_tables import arrow_of, frame_of
from millrace.table.values.program_errors import instead, problem
from millrace.util.fallback import installed, older_method, takes_older_arguments
from millrace.util.plugins import NOTEBOOKS, load

if TYPE_CHECKING:
    import pandas as pd
    import polars
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from millrace.table.catalogs.descriptors import TableDescriptor
    from millrace.table.catalogs.objects import Schema
    from millrace.table.catalogs.resolved_schema import ResolvedSchema
    from millrace.table.sessions.table_result import TableResult
    from millrace.table.table_environment import TableEnvironment

__all__ = ["Table", "GroupedTable", "GroupWindowedTable", "OverWindowedTable", "WindowGroupedTable"]


class _Query:
    """A plan in an environment."""

    def __init__(self, plan: Rel, t_env: TableEnvironment, declared: Schema | None = None) -> None:
        """:param declared: all columns as the table was declared that the plan only reads."""
        self._declared = declared
        self._plan = plan
        self._t_env = t_env

    @property
    def _block(self) -> Block:
        return Block.of(self._plan.schema, self._t_env._session)

    def _table(self, plan: Rel) -> Table:
        return Table(plan, self._t_env)

    def _row_call(self, function: Any) -> nodes.Node:
        """A function as an expression; one without arguments is given the whole row."""
        if not isinstance(function, UserDefinedFunctionWrapper):
            return expression_of(function)
        columns = tuple(nodes.Position(index, column.name) for index, column in enumerate(self._plan.schema))
        return nodes.GivenCall(function.name, (nodes.WholeRow(columns),), function)


class Table(_Query, _Rows):
    """A table: rows in columns, computed when the program asks for them.

    Tables are never changed; every method gives a new one. Columns are given as expressions: ``col("a")``. As text
    (``f"SELECT * FROM {table}"``) a table is its name in SQL.

    Every method raises ``TableException`` with the line of the program for unknown columns and types that do not fit.

        >>> large = orders.filter(col("amount") > 1).select(col("name"), col("amount"))
        >>> large.execute().print()
        +----+--------------------------------+----------------------+
        | op |                           name |               amount |
        +----+--------------------------------+----------------------+
        | +I |                            Bob |                    2 |
        | +I |                            Ann |                    3 |
        +----+--------------------------------+----------------------+
        2 rows in set
    """

    def __str__(self) -> str:
        kept = self._t_env._session.catalogs.keep_unnamed(CatalogBaseTable.of_plan(self._plan))
        return kept.as_serializable_string()

    def __getattr__(self, name: str) -> Any:
        """``table.a`` is ``col("a")`` for a column that is no method."""
        if not name.startswith("_") and name in self._plan.names:
            return Expression(nodes.Column.named(name))
        found = older_method(self, name)
        if found is None:
            raise AttributeError(f"Table has no method and no column {name!r}{instead(name)}")
        return found

    # -- columns ------------------------------------------------------------------------------------------------

    def select(self, *fields: Expression[Any]) -> Table:
        """Compute columns. With aggregates: one row over all rows.

        >>> list(orders.select(col("name"), col("amount") + 1).execute().collect())
        [<Row('Ann', 2)>, <Row('Bob', 3)>, <Row('Ann', 4)>]
        """
        columns = expressions_of(fields)
        if any(has_aggregate(column, self._block) for column in columns):
            return self._table(Grouping(self._plan, self._block, ()).select(columns))
        return self._table(select(self._plan, columns, self._block))

    @takes_older_arguments
    def alias(self, field: str, *fields: str) -> Table:
        """Rename the first columns.

        >>> orders.alias("who", "what", "pieces").get_schema().get_field_names()
        ['who', 'what', 'pieces']
        """
        names = [_text(each) for each in (field, *fields)]
        if len(names) > len(self._plan.schema):
            raise problem(f"alias gives {len(names)} names to {len(self._plan.schema)} columns")
        every = [*names, *self._plan.names[len(names) :]]
        return self._table(renamed(self._plan, named([Item(nodes.Var(name), name) for name in every])))

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """Append columns; their names must be new.

        >>> orders.add_columns((col("amount") * 2).alias("twice")).get_schema().get_field_names()
        ['name', 'product', 'amount', 'twice']
        """
        return self._table(added(self._plan, expressions_of(fields), self._block))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """Columns in place of those with the same name, or behind.

        >>> orders.add_or_replace_columns(lit("x").alias("name")).get_schema().get_field_names()
        ['name', 'product', 'amount']
        """
        return self._table(replaced_or_added(self._plan, expressions_of(fields), self._block))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """``rename_columns(col("a").alias("b"))``"""
        return self._table(with_new_names(self._plan, expressions_of(fields), self._block))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """Without these columns.

        >>> orders.drop_columns(col("product")).get_schema().get_field_names()
        ['name', 'amount']
        """
        return self._table(dropped(self._plan, expressions_of(fields), self._block))

    def map(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> Table:
        """The result of a scalar function as all columns. A function without arguments is given the whole row.

        >>> both = udf(lambda row: Row(row[0], row[2] * 2), result_type="ROW<name STRING, twice BIGINT>")
        >>> next(orders.map(both).execute().collect())
        <Row('Ann', 2)>
        """
        return self._table(mapped(self._plan, self._row_call(func), self._block))

    def flat_map(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> Table:
        """The rows that a table function makes of each row: columns ``f0``, ``f1``, ... unless ``alias`` names them.

        >>> letters = udtf(lambda row: iter(row[1]), result_types=["STRING"])
        >>> next(orders.flat_map(letters).execute().collect())
        <Row('i')>
        """
        node = self._row_call(func)
        produced = correlated(self._plan, node, False, self._block)
        width = len(self._plan.schema)
        rexes = [Ref(column.type, width + index) for index, column in enumerate(produced.produced)]
        names = [column.name for column in produced.produced]
        if not isinstance(node, nodes.Alias) and not getattr(func, "_alias_names", ()):
            names = [f"f{index}" for index in range(len(names))]
        return self._table(project(produced, rexes, names))

    # -- rows ---------------------------------------------------------------------------------------------------

    def filter(self, predicate: Expression[bool]) -> Table:
        """The rows for which the condition is TRUE.

        >>> list(orders.filter(col("amount") > 2).execute().collect())
        [<Row('Ann', 'pen', 3)>]
        """
        condition = bind_condition(expression_of(predicate), self._block.at("a condition"))
        return self._table(unnest(Filter(self._plan, condition)))

    def where(self, predicate: Expression[bool]) -> Table:
        """As ``filter``.

        >>> list(orders.where(col("product") == "ink").execute().collect())
        [<Row('Ann', 'ink', 1)>]
        """
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Without equal rows.

        >>> list(orders.select(col("name")).distinct().execute().collect())
        [<Row('Ann')>, <Row('Bob')>]
        """
        every = expand([nodes.Star()], self._block)
        return self._table(Grouping(self._plan, self._block, tuple(every)).select([nodes.Star()]))

    def order_by(self, *fields: Expression[Any]) -> Table:
        """In order: ``order_by(col("a").desc)``. NULL counts as smallest.

        >>> list(orders.order_by(col("amount").desc).fetch(1).execute().collect())
        [<Row('Ann', 'pen', 3)>]
        """
        keys = []
        for node in expressions_of(fields):
            ordered = node if isinstance(node, nodes.Ordered) else nodes.Ordered(node)
            keys.append(sort_key(ordered, bind(ordered.this, self._block)))
        return self._table(Sort(self._plan, tuple(keys)))

    def match_recognize(
        self,
        pattern: str,
        *,
        order_by: Any,
        measures: Mapping[str, Any],
        define: Mapping[str, Any] | None = None,
        partition_by: Any = (),
        after: str | None = None,
        within: Any = None,
        rows: str = "ONE ROW PER MATCH",
        subsets: Mapping[str, Sequence[str]] | None = None,
    ) -> Table:
        """MATCH_RECOGNIZE: the matches of a pattern in the rows of each partition.

        Flink's Table API has no such method. Conditions and measures are SQL text (``"B.price > A.price"``) or
        expressions with columns of a ``MatchVariable``.

            >>> a, b = MatchVariable("A"), MatchVariable("B")
            >>> pairs = clicks.match_recognize(
            ...     "A B", order_by="at", measures={"a": a.n, "b": b.n}, define={"B": b.n > a.n}, after="PAST LAST ROW")
            >>> list(pairs.execute().collect())
            [<Row(1, 2)>, <Row(3, 4)>]

        :param pattern: as in SQL: ``"A B+ C"``.
        :param order_by: the time attribute, perhaps with more columns in a list: names or expressions.
        :param measures: what a match gives, by the name of the column.
        :param define: what a row must be, by variable; one that is not here takes every row.
        :param partition_by: a column, or a list of columns: names or expressions.
        :param after: where the search goes on: ``"PAST LAST ROW"``, ``"TO NEXT ROW"``, ``"TO LAST B"``, ...
        :param within: rows of a match are less than that later than its first one: a timedelta, ``lit(10).minutes``.
        :param rows: ``"ALL ROWS PER MATCH"``, or more as in SQL.
        :param subsets: variables that have a name together.
        """
        skip = "" if after is None else f"AFTER MATCH SKIP {after} "
        plan = match(
            self._plan,
            self._block,
            f"{rows} {skip}PATTERN ({pattern})",
            order_by,
            partition_by,
            measures,
            define or {},
            within,
            subsets or {},
        )
        return self._table(plan)

    def offset(self, offset: int) -> Table:
        """Without the first rows, behind ``order_by``.

        >>> page = orders.order_by(col("amount")).offset(1).fetch(1)
        """
        plan = self._plan
        if isinstance(plan, Sort) and plan.fetch is None:
            return self._table(replace(plan, offset=plan.offset + offset))
        return self._table(Sort(plan, (), offset))

    def fetch(self, fetch: int) -> Table:
        """The first rows only.

        >>> len(list(orders.fetch(1).execute().collect()))
        1
        """
        plan = self._plan
        if fetch < 0:
            raise problem(f"fetch takes a number of rows, not {fetch}")
        if isinstance(plan, Sort):
            return self._table(replace(plan, fetch=fetch if plan.fetch is None else min(fetch, plan.fetch)))
        return self._table(Sort(plan, (), 0, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """``offset(offset).fetch(fetch)``

        >>> len(list(orders.limit(2).execute().collect()))
        2
        """
        return self.offset(offset).fetch(fetch)

    # -- two tables ---------------------------------------------------------------------------------------------

    def join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """Pairs of rows for which the condition is TRUE; the sides have no name in common.

        >>> prices = t_env.from_elements([("ink", 5), ("pen", 2)], ["what", "price"])
        >>> joined = orders.join(prices, col("product") == col("what")).select(col("name"), col("price"))
        >>> sorted(tuple(row) for row in joined.execute().collect())
        [('Ann', 2), ('Ann', 5), ('Bob', 2)]
        """
        return self._join(right, "INNER", join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """The rows of this table with those of another that fit, or NULLs.

        >>> prices = t_env.from_elements([("ink", 5)], ["what", "price"])
        >>> joined = orders.left_outer_join(prices, col("product") == col("what"))
        >>> sorted({(row[1], row[4] or 0) for row in joined.execute().collect()})
        [('ink', 0), ('ink', 5), ('pen', 0)]
        """
        return self._join(right, "LEFT", join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """The rows of another table with those of this one that fit, or NULLs."""
        return self._join(right, "RIGHT", join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """A full outer join: pairs of rows for which the condition is TRUE, and all other rows, with NULLs."""
        return self._join(right, "FULL", join_predicate)

    def join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedFunctionWrapper,
        join_predicate: Expression[bool] | None = None,
    ) -> Table:
        """Each row with the rows that a table function makes of it.

        >>> letters = udtf(lambda word: iter(word), result_types=["STRING"])
        >>> spelt = orders.filter(col("amount") == 1).join_lateral(letters(col("product")).alias("letter"))
        >>> [row[3] for row in spelt.execute().collect()]
        ['i', 'n', 'k']
        """
        return self._lateral(table_function_call, False, join_predicate)

    def left_outer_join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedFunctionWrapper,
        join_predicate: Expression[bool] | None = None,
    ) -> Table:
        """As ``join_lateral``; a row that the function makes nothing of stays, with NULLs."""
        return self._lateral(table_function_call, True, join_predicate)

    def union(self, right: Table) -> Table:
        """The rows of both, without equal ones.

        >>> len(list(orders.union(orders).execute().collect()))
        3
        """
        return self._combine("UNION", False, right)

    def union_all(self, right: Table) -> Table:
        """The rows of both tables; equal rows stay as often as they occur.

        >>> len(list(orders.union_all(orders).execute().collect()))
        6
        """
        return self._combine("UNION", True, right)

    def intersect(self, right: Table) -> Table:
        """Rows of both tables, once."""
        return self._combine("INTERSECT", False, right)

    def intersect_all(self, right: Table) -> Table:
        """Rows of both tables, as often as they are in both."""
        return self._combine("INTERSECT", True, right)

    def minus(self, right: Table) -> Table:
        """Rows of this table that another has not, once."""
        return self._combine("EXCEPT", False, right)

    def minus_all(self, right: Table) -> Table:
        """Rows of this table, less those of another as often as it has them."""
        return self._combine("EXCEPT", True, right)

    def _join(self, right: Table, kind: str, predicate: Expression[bool] | None) -> Table:
        self._same_environment(right)
        condition = None if predicate is None else expression_of(predicate)
        return self._table(joined(self._plan, right._plan, kind, condition, self._block))

    def _lateral(self, call: Any, left: bool, predicate: Expression[bool] | None) -> Table:
        condition = None if predicate is None else expression_of(predicate)
        return self._table(lateral(self._plan, self._row_call(call), left, condition, self._block))

    def _combine(self, kind: str, keep_duplicates: bool, right: Table) -> Table:
        self._same_environment(right)
        return self._table(combined(kind, keep_duplicates, self._plan, right._plan))

    def _same_environment(self, other: Table) -> None:
        if other._t_env is not self._t_env:
            raise problem("the tables are of two table environments: make both with the same one")

    # -- groups -------------------------------------------------------------------------------------------------

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Rows with equal keys together; ``select`` or ``aggregate`` comes next.

        >>> totals = orders.group_by(col("name")).select(col("name"), col("amount").sum.alias("total"))
        >>> list(totals.execute().collect())
        [<Row('Ann', 4)>, <Row('Bob', 2)>]
        """
        keys = expand(expressions_of(fields), self._block)
        return GroupedTable(Grouping(self._plan, self._block, tuple(keys)), self._t_env)

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Rows of equal times together; ``group_by`` with the alias of the window comes next.

        >>> hours = clicks.window(Tumble.over(lit(1).hours).on(col("at")).alias("w"))
        >>> list(hours.group_by(col("w")).select(col("w").end, col("n").count).execute().collect())
        [<Row(datetime.datetime(1970, 1, 1, 1, 0), 2)>, <Row(datetime.datetime(1970, 1, 1, 2, 0), 2)>]
        """
        if not isinstance(window, GroupWindow):
            raise problem(
                "a group window needs a size, a time attribute and a name: Tumble.over(...).on(...).alias('w')"
            )
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Windows around each row; ``select`` with ``over`` comes next.

        >>> window = Over.order_by(col("at")).preceding(UNBOUNDED_RANGE).alias("w")
        >>> list(clicks.over_window(window).select(col("n").sum.over(col("w"))).execute().collect())
        [<Row(1)>, <Row(3)>, <Row(6)>, <Row(10)>]
        """
        return OverWindowedTable(self, over_windows)

    def aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> AggregatedTable:
        """One aggregate over all rows; its fields are columns of the next ``select``.

        >>> class Total(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return [0]
        ...     def accumulate(self, accumulator, row):
        ...         accumulator[0] += row[2]
        ...     def get_value(self, accumulator):
        ...         return Row(accumulator[0])
        >>> total = udaf(Total(), result_type="ROW<total BIGINT>", accumulator_type="ARRAY<BIGINT>")
        >>> list(orders.aggregate(total).select(col("total")).execute().collect())
        [<Row(6)>]
        """
        return AggregatedTable(Grouping(self._plan, self._block, ()), self._row_call(func), self._t_env)

    def flat_aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> FlatAggregateTable:
        """The rows that a table aggregate function makes of all rows."""
        grouping = Grouping(self._plan, self._block, ())
        return FlatAggregateTable(grouping.flat(self._row_call(func)), self._t_env)

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """The table that changes make whose kind is in a column, given by ``descriptor("op").as_argument("op")``;
        ``map_("c", "INSERT", ...).as_argument("op_mapping")`` says what its codes mean."""
        return self._table(without_codes(self._plan, list(map(node_of, arguments))))

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Every change as an insertion, with its kind in a column ``op``; arguments as of ``from_changelog``."""
        return self._table(with_codes(self._plan, list(map(node_of, arguments))))

    # -- results ------------------------------------------------------------------------------------------------

    def execute(self) -> TableResult:
        """Run the query; the result is fetched with ``collect`` or ``print``.

        >>> orders.select(col("name")).distinct().execute().print()
        +----+--------------------------------+
        | op |                           name |
        +----+--------------------------------+
        | +I |                            Ann |
        | +I |                            Bob |
        +----+--------------------------------+
        2 rows in set
        """
        return self._t_env._session.engine.execute([self._plan], self._t_env._session)

    def execute_insert(self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False) -> TableResult:
        """Write the rows into a table; the job is submitted, not awaited.

        >>> _ = t_env.execute_sql("CREATE TABLE shown (name STRING) WITH ('connector' = 'print')")
        >>> orders.select(col("name")).execute_insert("shown").wait()
        +I[Ann]
        +I[Bob]
        +I[Ann]
        """
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    @takes_older_arguments
    def insert_into(self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False) -> TablePipeline:
        """A pipeline into a table, to be executed alone or in a statement set."""
        session = self._t_env._session
        pipeline = TablePipeline(sink_plan(self._plan, table_path_or_descriptor, session, overwrite), session)
        if installed():
            session.unexecuted.append(pipeline._plan)
        return pipeline

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a frame of pandas; of a changing table its rows at the end.

        >>> frame = orders.to_pandas()
        >>> list(frame["amount"])
        [1, 2, 3]
        """
        result = self.execute()
        with result.collect():
            return frame_of(self._plan.schema, result._batches, self._t_env._session.zone)

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table (our addition); of a changing table its rows at the end. TIMESTAMP_LTZ becomes a
        time with the session's zone.

        TIMESTAMP_LTZ becomes a time with the session's zone.

            >>> orders.select(col("amount")).to_arrow().to_pylist()[0]
            {'amount': 1}
        """
        result = self.execute()
        with result.collect():
            return arrow_of(self._plan.schema, result._batches, self._t_env._session.zone)

    def to_polars(self) -> polars.DataFrame:
        """All rows as a frame of polars, which must be installed (our addition); of a changing table its rows at the
        end."""
        try:
            import polars
        except ImportError:
            raise ImportError("to_polars() needs polars: pip install 'millrace-streaming[polars]'") from None
        return polars.DataFrame(self.to_arrow())

    def to_spark(self) -> DataFrame:
        """The table as a Spark DataFrame, in batch mode. PyFlink has nothing like it."""
        frame: DataFrame = self._t_env._session.engine.to_spark(self._plan, self._t_env._session)
        return frame

    def live(self, rows: int = 20, seconds: float | None = None) -> None:
        """Run the query in a notebook and show its newest rows, in place, until it ends or the cell is interrupted.
        PyFlink has nothing like it.

        :param rows: how many are shown.
        :param seconds: after which the job is cancelled; None: as long as it runs.
        """
        load(NOTEBOOKS, "previews").watch_table(self, rows, seconds)

    def _repr_html_(self) -> str:
        """What a notebook shows: the columns, the plan, and the first rows if the query has an end."""
        return str(load(NOTEBOOKS, "previews").table_html(self))

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan as text.

        >>> print(orders.select(col("name")).explain().splitlines()[0])
        == Abstract Syntax Tree ==
        """
        return explain([self._plan], self._t_env._session, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan as text."""
        print(self.explain(*extra_details))

    def get_schema(self) -> TableSchema:
        """The columns, in PyFlink's older form.

        >>> orders.get_schema().get_field_names()
        ['name', 'product', 'amount']
        """
        return TableSchema(self._plan.names, [column.type for column in self._plan.schema])

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns; of a table that is only read, also the expressions, watermark and key that were declared."""
        if self._declared is not None:
            return resolved_table(self._plan, self._declared)
        return resolved_schema(self._plan.schema)

    def print_schema(self) -> None:
        """Print the columns.

        >>> orders.print_schema()
        (
          `name` STRING,
          `product` STRING,
          `amount` BIGINT
        )
        """
        print(self.get_resolved_schema())


class _Unfinished:
    """The intermediate result of a method such as ``group_by``: one more method makes a table of it."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            methods = [each for each in vars(type(self)) if not each.startswith("_")]
            raise AttributeError(f"{type(self).__name__} has no {name!r}: it becomes a table by {' or '.join(methods)}")


class GroupedTable(_Unfinished):
    """A table grouped by keys.

    >>> list(orders.group_by(col("name")).select(col("name"), col("amount").sum).execute().collect())
    [<Row('Ann', 4)>, <Row('Bob', 2)>]
    """

    def __init__(self, grouping: Grouping, t_env: TableEnvironment) -> None:
        self._grouping = grouping
        self._t_env = t_env
        self._input = _Query(grouping.plan, t_env)

    def select(self, *fields: Expression[Any]) -> Table:
        """Keys and aggregates."""
        return Table(self._grouping.select(expressions_of(fields)), self._t_env)

    def aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> AggregatedTable:
        """One aggregate of each group; its fields and the keys are columns of the next ``select``."""
        return AggregatedTable(self._grouping, self._input._row_call(func), self._t_env)

    def flat_aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> FlatAggregateTable:
        """The rows that a table aggregate function makes of each group, with the keys."""
        return FlatAggregateTable(self._grouping.flat(self._input._row_call(func)), self._t_env)


class GroupWindowedTable(_Unfinished):
    """A table with a group window.

    >>> hours = clicks.window(Tumble.over(lit(1).hours).on(col("at")).alias("w"))
    >>> list(hours.group_by(col("w")).select(col("w").start, col("n").sum).execute().collect())
    [<Row(datetime.datetime(1970, 1, 1, 0, 0), 3)>, <Row(datetime.datetime(1970, 1, 1, 1, 0), 7)>]
    """

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable:
        """The alias of the window, and other keys."""
        keys = expressions_of(fields)
        alias = nodes.Column.named(self._window.name)
        if alias not in keys:
            raise problem(f"group_by must name the window '{self._window.name}': group_by(col('{alias.name}'), ...)")
        block = self._table._block
        others = expand([key for key in keys if key != alias], block)
        window = bound_window(self._window, block, self._table._t_env._session.streaming)
        grouping = Grouping(self._table._plan, block, tuple(others), window)
        return WindowGroupedTable(grouping, self._table._t_env)


class WindowGroupedTable(_Unfinished):
    """A table grouped by a window and keys.

    >>> hours = clicks.window(Tumble.over(lit(1).hours).on(col("at")).alias("w")).group_by(col("w"))
    >>> [row[1] for row in hours.select(col("w").rowtime, col("n").max).execute().collect()]
    [2, 4]
    """

    def __init__(self, grouping: Grouping, t_env: TableEnvironment) -> None:
        self._grouping = grouping
        self._t_env = t_env

    def select(self, *fields: Expression[Any]) -> Table:
        """Keys, aggregates, and start, end, rowtime and proctime of the window: ``col("w").start``."""
        return Table(self._grouping.select(expressions_of(fields)), self._t_env)

    def aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> AggregatedTable:
        """One aggregate function with several columns, for each group."""
        call = _Query(self._grouping.plan, self._t_env)._row_call(func)
        return AggregatedTable(self._grouping, call, self._t_env)


class OverWindowedTable(_Unfinished):
    """A table with over windows.

    >>> window = Over.order_by(col("at")).preceding(UNBOUNDED_RANGE).alias("w")
    >>> list(clicks.over_window(window).select(col("n").sum.over(col("w"))).execute().collect())
    [<Row(1)>, <Row(3)>, <Row(6)>, <Row(10)>]
    """

    def __init__(self, table: Table, windows: tuple[OverWindow, ...]) -> None:
        self._table = table
        self._windows = windows

    def select(self, *fields: Expression[Any]) -> Table:
        """Columns, and aggregates over a window: ``col("a").sum.over(col("w"))``."""
        table = self._table
        columns = expressions_of(fields)
        return table._table(over_select(table._plan, self._windows, columns, table._block))


class AggregatedTable(_Unfinished):
    """A table with one aggregate of each group."""

    def __init__(self, grouping: Grouping, call: nodes.Node, t_env: TableEnvironment) -> None:
        self._grouping = grouping
        self._call = call
        self._t_env = t_env

    def select(self, *fields: Expression[Any]) -> Table:
        """Keys, and the fields of the aggregate by name."""
        return Table(self._grouping.select(expressions_of(fields), self._call), self._t_env)


class FlatAggregateTable(_Unfinished):
    """The keys of groups, with the rows that a function made of them."""

    def __init__(self, plan: Rel, t_env: TableEnvironment) -> None:
        self._table = Table(plan, t_env)

    def select(self, *fields: Expression[Any]) -> Table:
        return self._table.select(*fields)


def _text(name: Any) -> str:
    node = node_of(name)
    return node.name if isinstance(node, nodes.Column) else str(name)
