# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The Table API and SQL: PyFlink's ``pyflink.table``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.util.not_yet import lazy_names

if TYPE_CHECKING:
    from millrace.common.types import Row, RowKind
    from millrace.relational.types import UserDefinedType
    from millrace.table.catalogs.descriptors import FormatDescriptor, ModelDescriptor, TableDescriptor
    from millrace.table.catalogs.legacy_schema import TableSchema
    from millrace.table.catalogs.objects import Schema
    from millrace.table.data_view import DataView, ListView, MapView
    from millrace.table.environment import TableEnvironment
    from millrace.table.expression_methods.expression import Expression, MatchVariable
    from millrace.table.functions.function_catalog import Module, ModuleEntry
    from millrace.table.functions.function_classes import (
        AggregateFunction,
        AsyncScalarFunction,
        FunctionContext,
        ScalarFunction,
        TableAggregateFunction,
        TableFunction,
    )
    from millrace.table.planner.compiled_plan import CompiledPlan, PlanReference
    from millrace.table.sessions.session import (
        ChangelogMode,
        EnvironmentSettings,
        ExplainDetail,
        SqlDialect,
        TableConfig,
    )
    from millrace.table.sessions.table_result import ResultKind, TableResult
    from millrace.table.statement_set import StatementSet
    from millrace.table.stream_environment import StreamTableEnvironment
    from millrace.table.table import GroupedTable, GroupWindowedTable, OverWindowedTable, Table, WindowGroupedTable
    from millrace.table.table_pipeline import TablePipeline
    from millrace.table.values.data_types import DataTypes

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "ChangelogMode",
    "EnvironmentSettings",
    "ExplainDetail",
    "SqlDialect",
    "TableConfig",
    "CompiledPlan",
    "PlanReference",
    "DataTypes",
    "DataView",
    "ListView",
    "MapView",
    "Expression",
    "MatchVariable",
    "FormatDescriptor",
    "ModelDescriptor",
    "TableDescriptor",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
    "Module",
    "ModuleEntry",
    "ResultKind",
    "TableResult",
    "Row",
    "RowKind",
    "Schema",
    "StatementSet",
    "StreamTableEnvironment",
    "TableEnvironment",
    "TablePipeline",
    "TableSchema",
    "UserDefinedType",
]

_HOMES = {
    "AggregateFunction": "table.functions.function_classes",
    "AsyncScalarFunction": "table.functions.function_classes",
    "FunctionContext": "table.functions.function_classes",
    "ScalarFunction": "table.functions.function_classes",
    "TableAggregateFunction": "table.functions.function_classes",
    "TableFunction": "table.functions.function_classes",
    "ChangelogMode": "table.sessions.session",
    "EnvironmentSettings": "table.sessions.session",
    "ExplainDetail": "table.sessions.session",
    "SqlDialect": "table.sessions.session",
    "TableConfig": "table.sessions.session",
    "CompiledPlan": "table.planner.compiled_plan",
    "PlanReference": "table.planner.compiled_plan",
    "DataTypes": "table.values.data_types",
    "DataView": "table.data_view",
    "ListView": "table.data_view",
    "MapView": "table.data_view",
    "Expression": "table.expression_methods.expression",
    "MatchVariable": "table.expression_methods.expression",
    "FormatDescriptor": "table.catalogs.descriptors",
    "ModelDescriptor": "table.catalogs.descriptors",
    "TableDescriptor": "table.catalogs.descriptors",
    "GroupWindowedTable": "table.table",
    "GroupedTable": "table.table",
    "OverWindowedTable": "table.table",
    "Table": "table.table",
    "WindowGroupedTable": "table.table",
    "Module": "table.functions.function_catalog",
    "ModuleEntry": "table.functions.function_catalog",
    "ResultKind": "table.sessions.table_result",
    "TableResult": "table.sessions.table_result",
    "Row": "common.types",
    "RowKind": "common.types",
    "Schema": "table.catalogs.objects",
    "StatementSet": "table.statement_set",
    "StreamTableEnvironment": "table.stream_environment",
    "TableEnvironment": "table.environment",
    "TablePipeline": "table.table_pipeline",
    "TableSchema": "table.catalogs.legacy_schema",
    "UserDefinedType": "relational.types",
}

__getattr__ = lazy_names(__name__, _HOMES)
