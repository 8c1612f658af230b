"""The book's P21: temperatures of sensors by room and day, from a stream and back to one."""

from pyflink.common import Types
from pyflink.datastream import AssignerWithPeriodicWatermarks, StreamExecutionEnvironment, TimeCharacteristic
from pyflink.table import StreamTableEnvironment
from pyflink.table.expressions import col

HOUR = 3_600_000


class Latest(AssignerWithPeriodicWatermarks):
    def __init__(self):
        self.latest = -1

    def extract_timestamp(self, element, previous_element_timestamp):
        self.latest = max(self.latest, element[1])
        return element[1]

    def get_current_watermark(self):
        return self.latest - 1


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("UTC")
data = [("room1", HOUR, 82.0), ("room1", 2 * HOUR, 132.0), ("hall", 3 * HOUR, 0.0), ("room2", 30 * HOUR, 32.0)]
stream = env.from_collection(data, type_info=Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()]))
stream = stream.assign_timestamps_and_watermarks(Latest())
t_env.create_temporary_view("sensorData", stream, col("location"), col("rowtime").rowtime, col("tempF"))
table = t_env.sql_query(
    "SELECT TUMBLE_START(rowtime, INTERVAL '1' DAY) AS `day`, location, AVG((tempF - 32) * 0.556) AS avgTempC "
    "FROM sensorData WHERE location LIKE 'room%' GROUP BY location, TUMBLE(rowtime, INTERVAL '1' DAY)"
)
row = Types.ROW([Types.SQL_TIMESTAMP(), Types.STRING(), Types.DOUBLE()])
t_env.to_append_stream(table, row).map(lambda r: f"{r[0]:%Y-%m-%d},{r[1]},{r[2]:.2f}").print()
t_env.execute("sensors")
