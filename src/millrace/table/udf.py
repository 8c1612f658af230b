# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Functions of the user, and the decorators that make them, under PyFlink's path."""

from __future__ import annotations

from millrace.table.functions.function_classes import (
    AggregateFunction,
    AsyncScalarFunction,
    DelegatingAsyncScalarFunction,
    DelegatingPandasAggregateFunction,
    DelegatingScalarFunction,
    DelegationTableFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    PandasAggregateFunctionWrapper,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from millrace.table.functions.udf import UserDefinedAggregateFunctionWrapper as UserDefinedAggregateFunctionWrapper
from millrace.table.functions.udf import UserDefinedAsyncScalarFunctionWrapper as UserDefinedAsyncScalarFunctionWrapper
from millrace.table.functions.udf import UserDefinedFunctionWrapper as UserDefinedFunctionWrapper
from millrace.table.functions.udf import UserDefinedScalarFunctionWrapper as UserDefinedScalarFunctionWrapper
from millrace.table.functions.udf import UserDefinedTableFunctionWrapper as UserDefinedTableFunctionWrapper
from millrace.table.functions.udf import udaf, udf, udtaf, udtf

__all__ = [
    "FunctionContext",
    "AggregateFunction",
    "ScalarFunction",
    "TableFunction",
    "TableAggregateFunction",
    "AsyncScalarFunction",
    "DelegatingAsyncScalarFunction",
    "DelegatingPandasAggregateFunction",
    "DelegatingScalarFunction",
    "DelegationTableFunction",
    "ImperativeAggregateFunction",
    "PandasAggregateFunctionWrapper",
    "UserDefinedFunction",
    "udf",
    "udtf",
    "udaf",
    "udtaf",
]
