"""A program whose state, checkpoints and files lie in an object store or on HDFS: ``counting_job.py SETTINGS``.

SETTINGS is a file with JSON: ``configuration``, ``base`` (a URI), ``count``, ``rate``, ``savepoint`` (a folder, to stop
with a savepoint when all has come, or null).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from millrace.common.configuration import Configuration
from millrace.common.functions import KeyedProcessFunction
from millrace.common.serialization import Encoder
from millrace.common.state import ValueStateDescriptor
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_system import BucketAssigner, FileSink
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

KEYS = 7


class Count(KeyedProcessFunction):
    def __init__(self, rate: int) -> None:
        self._rate = rate

    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        time.sleep(1 / self._rate)
        seen = (self._seen.value() or 0) + 1
        self._seen.update(seen)
        yield f"{value} {seen}"


def main(path: str) -> None:
    given = json.loads(Path(path).read_text())
    environment = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given["configuration"]))
    environment.set_parallelism(2)
    base = given["base"]
    numbers = environment.from_source(
        NumberSequenceSource(1, given["count"]), WatermarkStrategy.no_watermarks(), "numbers"
    )
    sink = FileSink.for_row_format(f"{base}/out", Encoder.simple_string_encoder())
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    counted = numbers.key_by(lambda value: value % KEYS).process(Count(given["rate"]), Types.STRING())
    counted.uid("counted").sink_to(sink.build())
    client = environment.execute_async("counting")
    if given["savepoint"] is not None:
        print("savepoint", client.stop_with_savepoint(False, given["savepoint"]).result(), flush=True)
    client.get_job_execution_result().result()


if __name__ == "__main__":
    main(sys.argv[1])
