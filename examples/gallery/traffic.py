"""Traffic: cars that are too fast at a checkpoint, by limits that change while the stream runs.

The limits are broadcast to all subtasks; cars that pass a checkpoint without a limit are told in a side output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from show import show

from millrace.common import Types
from millrace.common.output_tag import OutputTag
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import BroadcastProcessFunction
from millrace.datastream.state import MapStateDescriptor

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
UNKNOWN = OutputTag("no limit", Types.STRING())
# (checkpoint, km/h)
SIGNS = [("bridge", 50), ("tunnel", 80)]
# (checkpoint, plate, km/h)
PASSED = [("bridge", "MR 11", 48), ("bridge", "MR 12", 71), ("tunnel", "MR 13", 80), ("square", "MR 14", 30)]


class TooFast(BroadcastProcessFunction):
    def process_element(self, value: tuple[str, str, int], ctx: Any) -> Iterator[Any]:
        place, plate, speed = value
        limit = ctx.get_broadcast_state(LIMITS).get(place)
        if limit is None:
            yield UNKNOWN, f"{place} has no limit"
        elif speed > limit:
            yield f"{plate}: {speed} instead of {limit} at the {place}"

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> None:
        place, limit = value
        ctx.get_broadcast_state(LIMITS).put(place, limit)


def build(env: StreamExecutionEnvironment) -> DataStream:
    limits = env.from_collection(SIGNS).broadcast(LIMITS)
    found = env.from_collection(PASSED).connect(limits).process(TooFast(), Types.STRING())
    return found.union(found.get_side_output(UNKNOWN))


if __name__ == "__main__":
    show(build, "traffic")
