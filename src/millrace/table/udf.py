"""Under PyFlink's path: see ``millrace.table.functions.udf``."""

from millrace.table.functions.udf import *  # noqa: F403
from millrace.table.functions.udf import UserDefinedAggregateFunctionWrapper as UserDefinedAggregateFunctionWrapper
from millrace.table.functions.udf import UserDefinedAsyncScalarFunctionWrapper as UserDefinedAsyncScalarFunctionWrapper
from millrace.table.functions.udf import UserDefinedFunctionWrapper as UserDefinedFunctionWrapper
from millrace.table.functions.udf import UserDefinedScalarFunctionWrapper as UserDefinedScalarFunctionWrapper
from millrace.table.functions.udf import UserDefinedTableFunctionWrapper as UserDefinedTableFunctionWrapper
from millrace.table.functions.udf import __all__ as __all__
