"""The book's P14: the sum by a third-party package; here NumPy, which is there without a requirements file."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, EnvironmentSettings, StreamTableEnvironment
from pyflink.table.udf import udf

env = StreamExecutionEnvironment.get_execution_environment()
settings = EnvironmentSettings.new_instance().in_streaming_mode().use_blink_planner().build()
t_env = StreamTableEnvironment.create(env, environment_settings=settings)


@udf(input_types=[DataTypes.BIGINT(), DataTypes.BIGINT()], result_type=DataTypes.BIGINT())
def add(i, j):
    import numpy

    return int(numpy.add(i, j))


t_env.register_function("add", add)
for row in t_env.from_elements([(1, 2)], ["a", "b"]).select("add(a, b)").execute().collect():
    print(row[0])
