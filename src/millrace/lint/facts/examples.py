"""What the examples of all rules begin with."""

from __future__ import annotations

HEAD = '''\
import random

import httpx
import requests

from millrace.common import Duration, Encoder, Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSink
from millrace.datastream.functions import AsyncFunction, KeyedProcessFunction, MapFunction
from millrace.datastream.state import StateTtlConfig, ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from millrace.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
words = env.socket_text_stream("localhost", 9999, delimiter=" ")
'''
