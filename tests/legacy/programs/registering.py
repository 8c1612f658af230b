"""The book's P18 and P19: functions by their name in text, and one that counts its calls."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.udf import ScalarFunction, udf


class MyUDF(ScalarFunction):
    def __init__(self):
        self.counter = None

    def open(self, function_context):
        super().open(function_context)
        self.counter = function_context.get_metric_group().counter("my_counter")

    def eval(self, i):
        self.counter.inc(3)
        return i - 1


t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
t_env.register_function("add_one", udf(lambda i: i + 1, DataTypes.BIGINT(), DataTypes.BIGINT()))
t_env.register_function("subtract_one", udf(MyUDF(), DataTypes.BIGINT(), DataTypes.BIGINT()))
t_env.register_table("my_table", t_env.from_elements([(1, 2), (5, 6)], ["a", "b"]))
for row in t_env.scan("my_table").select("a, add_one(b), subtract_one(b)").execute().collect():
    print(*row)
