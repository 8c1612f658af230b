"""A model that is replaced while the stream runs: its newest version is broadcast to all subtasks.

Events that come before any model wait in the operator; nothing is scored by nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from show import show

from millrace.common import Types
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import KeyedBroadcastProcessFunction, RuntimeContext
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor


@dataclass(frozen=True)
class Model:
    version: int
    weights: tuple[float, ...]

    def score(self, features: tuple[float, ...]) -> float:
        return sum(weight * feature for weight, feature in zip(self.weights, features))


CURRENT = MapStateDescriptor("model", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
MODELS = [Model(1, (0.5, 0.5)), Model(2, (0.25, 1.0))]
# (user, features)
EVENTS = [("ann", (1.0, 3.0)), ("bob", (4.0, 0.0)), ("ann", (0.0, 1.0))]


class Score(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._waiting = ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY())
        self._own = runtime_context.get_list_state(self._waiting)

    def process_element(self, value: tuple[str, tuple[float, ...]], ctx: Any) -> Iterator[str]:
        model = ctx.get_broadcast_state(CURRENT).get("current")
        if model is None:
            self._own.add(value)
        else:
            yield _scored(value, model)

    def process_broadcast_element(self, value: Model, ctx: Any) -> Iterator[str]:
        models = ctx.get_broadcast_state(CURRENT)
        before = models.get("current")
        if before is not None and before.version >= value.version:
            return
        models.put("current", value)
        found: list[str] = []

        def score_waiting(key: str, state: Any) -> None:
            found.extend(_scored(each, value) for each in state.get())
            state.clear()

        ctx.apply_to_keyed_state(self._waiting, score_waiting)
        yield from found


def _scored(event: tuple[str, tuple[float, ...]], model: Model) -> str:
    user, features = event
    return f"{user}: {model.score(features):.2f} by version {model.version}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    models = env.from_collection(MODELS).set_parallelism(1).broadcast(CURRENT)
    events = env.from_collection(EVENTS).key_by(lambda event: event[0])
    return events.connect(models).process(Score(), Types.STRING())


if __name__ == "__main__":
    show(build, "scores")
