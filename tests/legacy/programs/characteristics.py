"""P4 of the interview questions: the three times that a program's windows may go by."""

from pyflink.common import Time, Types
from pyflink.datastream import StreamExecutionEnvironment, TimeCharacteristic
from pyflink.datastream.functions import FoldFunction


class Longest(FoldFunction):
    def fold(self, accumulator, value):
        return max(accumulator, len(value))


for characteristic in TimeCharacteristic:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.set_stream_time_characteristic(characteristic)
    print(env.get_stream_time_characteristic().name)
    windowed = env.from_collection(["a", "abc"], type_info=Types.STRING()).key_by(lambda word: 0)
    windows = windowed.time_window(Time.hours(1000), Time.hours(500))
    print(type(windows._assigner).__name__)

env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
words = env.from_collection(["a", "abc", "ab"], type_info=Types.STRING())
words.time_window_all(Time.hours(10_000)).fold(0, Longest()).print()
env.execute()
