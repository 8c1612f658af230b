"""The book's P20: functions in several places of a text, on their own and inside each other."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.udf import udf

t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
two = [DataTypes.BIGINT(), DataTypes.BIGINT()]
t_env.register_function("add", udf(lambda i, j: i + j, two, DataTypes.BIGINT()))
t_env.register_function("subtract", udf(lambda i, j: i - j, two, DataTypes.BIGINT(), udf_type="pandas"))
table = t_env.from_elements([(1, 2, 3), (0, 1, 9), (4, 4, 1)], ["a", "b", "c"])
for query in (
    table.select("add(a, b), subtract(c, 1)"),
    table.where("add(a, b) > 1 && subtract(c, 1) > 0").select("a, b, c"),
    table.select("add(subtract(a, 1), subtract(b, 2))"),
):
    print(*(tuple(row) for row in query.execute().collect()))
