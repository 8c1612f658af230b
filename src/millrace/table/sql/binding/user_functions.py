"""Functions made by ``udf`` and its like, as plans call them."""

from __future__ import annotations

from millrace.relational.nodes import Field, Schema
from millrace.table.functions.udf import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)
from millrace.table.sql.binding.resolver import AGGREGATE, SCALAR, TABLE, TABLE_AGGREGATE, UserFunction


def user_function(name: str, wrapper: UserDefinedFunctionWrapper, system: bool = False) -> UserFunction:
    """A function made by ``udf`` and its like, as SQL calls it."""
    arguments = None if wrapper.input_types is None else tuple(wrapper.input_types)
    kind, result = SCALAR, None
    columns: Schema = ()
    if isinstance(wrapper, UserDefinedTableFunctionWrapper):
        kind = TABLE
        columns = tuple(Field(field.name, field.data_type) for field in wrapper.row_type)
    elif isinstance(wrapper, UserDefinedAggregateFunctionWrapper):
        kind, result = TABLE_AGGREGATE if wrapper.is_table_aggregate else AGGREGATE, wrapper.result_type
    else:
        assert isinstance(wrapper, UserDefinedScalarFunctionWrapper)
        result = wrapper.result_type
    return UserFunction(
        name,
        kind,
        wrapper,
        result,
        columns,
        arguments,
        wrapper.vectorized,
        wrapper.asynchronous,
        wrapper.deterministic,
        system,
    )
