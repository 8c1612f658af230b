"""The Table API and SQL: PyFlink's ``pyflink.table``.

Names are imported when they are first used: workers need the function classes of ``udf`` only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millrace.common.types import Row as Row
    from millrace.common.types import RowKind as RowKind
    from millrace.relational.types import UserDefinedType as UserDefinedType
    from millrace.table.catalogs.descriptors import FormatDescriptor as FormatDescriptor
    from millrace.table.catalogs.descriptors import TableDescriptor as TableDescriptor
    from millrace.table.catalogs.legacy_schema import TableSchema as TableSchema
    from millrace.table.catalogs.schema import Schema as Schema
    from millrace.table.data_view import DataView as DataView
    from millrace.table.data_view import ListView as ListView
    from millrace.table.data_view import MapView as MapView
    from millrace.table.environment import TableEnvironment as TableEnvironment
    from millrace.table.expression_methods.expression import Expression as Expression
    from millrace.table.expression_methods.expression import MatchVariable as MatchVariable
    from millrace.table.functions.function_catalog import Module as Module
    from millrace.table.functions.function_catalog import ModuleEntry as ModuleEntry
    from millrace.table.functions.udf import AggregateFunction as AggregateFunction
    from millrace.table.functions.udf import AsyncScalarFunction as AsyncScalarFunction
    from millrace.table.functions.udf import FunctionContext as FunctionContext
    from millrace.table.functions.udf import ScalarFunction as ScalarFunction
    from millrace.table.functions.udf import TableAggregateFunction as TableAggregateFunction
    from millrace.table.functions.udf import TableFunction as TableFunction
    from millrace.table.planner.compiled_plan import CompiledPlan as CompiledPlan
    from millrace.table.planner.compiled_plan import PlanReference as PlanReference
    from millrace.table.sessions.table_result import ResultKind as ResultKind
    from millrace.table.sessions.table_result import TableResult as TableResult
    from millrace.table.sessions.table_settings import ChangelogMode as ChangelogMode
    from millrace.table.sessions.table_settings import EnvironmentSettings as EnvironmentSettings
    from millrace.table.sessions.table_settings import ExplainDetail as ExplainDetail
    from millrace.table.sessions.table_settings import SqlDialect as SqlDialect
    from millrace.table.sessions.table_settings import TableConfig as TableConfig
    from millrace.table.statement_set import StatementSet as StatementSet
    from millrace.table.stream_environment import StreamTableEnvironment as StreamTableEnvironment
    from millrace.table.table import GroupedTable as GroupedTable
    from millrace.table.table import GroupWindowedTable as GroupWindowedTable
    from millrace.table.table import OverWindowedTable as OverWindowedTable
    from millrace.table.table import Table as Table
    from millrace.table.table import WindowGroupedTable as WindowGroupedTable
    from millrace.table.table_pipeline import TablePipeline as TablePipeline
    from millrace.table.values.data_types import DataTypes as DataTypes

_MODULES = {
    "changelog_mode": "ChangelogMode",
    "compiled_plan": "CompiledPlan",
    "data_view": "DataView ListView MapView",
    "environment_settings": "EnvironmentSettings",
    "explain_detail": "ExplainDetail",
    "expression": "Expression",
    "expression_methods.expression": "MatchVariable",
    "model_descriptor": "ModelDescriptor",
    "module": "Module ModuleEntry",
    "plan_reference": "PlanReference",
    "result_kind": "ResultKind",
    "schema": "Schema",
    "sql_dialect": "SqlDialect",
    "statement_set": "StatementSet",
    "table": "GroupWindowedTable GroupedTable OverWindowedTable Table WindowGroupedTable",
    "table_config": "TableConfig",
    "table_descriptor": "FormatDescriptor TableDescriptor",
    "table_environment": "StreamTableEnvironment TableEnvironment",
    "table_pipeline": "TablePipeline",
    "table_result": "TableResult",
    "table_schema": "TableSchema",
    "types": "DataTypes Row RowKind UserDefinedType",
    "udf": """
        AggregateFunction AsyncScalarFunction FunctionContext ScalarFunction TableAggregateFunction TableFunction
    """,
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
