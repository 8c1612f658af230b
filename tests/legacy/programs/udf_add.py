"""The book's P13 and P15, as of Flink 1.11: a sum by a function of rows, and by one of pandas' Series."""

import sys

from pyflink.dataset import ExecutionEnvironment
from pyflink.table import BatchTableEnvironment, CsvTableSink, DataTypes, TableConfig
from pyflink.table.descriptors import FileSystem, OldCsv, Schema
from pyflink.table.udf import udf

source, plain, pandas = sys.argv[1:]
exec_env = ExecutionEnvironment.get_execution_environment()
exec_env.set_parallelism(1)
t_env = BatchTableEnvironment.create(exec_env, TableConfig())
t_env.get_config().get_configuration().set_boolean("python.fn-execution.memory.managed", True)
types = [DataTypes.BIGINT(), DataTypes.BIGINT()]
t_env.register_function("add", udf(lambda i, j: i + j, types, DataTypes.BIGINT()))
t_env.register_function("add_all", udf(lambda i, j: i + j, types, DataTypes.BIGINT(), udf_type="pandas"))
columns = Schema().field("a", DataTypes.BIGINT()).field("b", DataTypes.BIGINT())
csv = OldCsv().field("a", DataTypes.BIGINT()).field("b", DataTypes.BIGINT())
t_env.connect(FileSystem().path(source)).with_format(csv).with_schema(columns).create_temporary_table("mySource")
t_env.register_table_sink("plain", CsvTableSink(["sum"], [DataTypes.BIGINT()], plain))
t_env.register_table_sink("pandas", CsvTableSink(["sum"], [DataTypes.BIGINT()], pandas))
t_env.scan("mySource").select("add(a, b)").insert_into("plain")
t_env.sql_update("INSERT INTO `pandas` SELECT add_all(a, b) FROM mySource")
t_env.execute("add")
