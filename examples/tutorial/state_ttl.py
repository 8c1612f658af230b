"""State with time to live: the page a user saw before is forgotten some seconds later, and a new visit begins.

The tutorial's configuration counts by the wall clock. ``BY_EVENT_TIME`` counts by the timestamps of the clicks, so the
result is the same however fast they are read; that is an addition of Millrace.
"""

from __future__ import annotations

from fixture import Click, clicks

from millrace.common import Time, Types
from millrace.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import StateTtlConfig, ValueStateDescriptor

BY_CLOCK = (
    StateTtlConfig.new_builder(Time.seconds(10))
    .set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)
    .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
    .build()
)
BY_EVENT_TIME = StateTtlConfig.new_builder(Time.seconds(4)).use_event_time().build()


class PageBefore(MapFunction):
    def __init__(self, config: StateTtlConfig) -> None:
        self.config = config

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("my state", Types.STRING())
        descriptor.enable_time_to_live(self.config)
        self.page = runtime_context.get_state(descriptor)

    def map(self, value: Click) -> str:
        before = self.page.value()
        self.page.update(value.url)
        return f"{value.user}: {value.url} " + ("begins a visit" if before is None else f"after {before}")


def build(env: StreamExecutionEnvironment, config: StateTtlConfig = BY_EVENT_TIME) -> DataStream:
    return clicks(env).key_by(lambda click: click.user).map(PageBefore(config), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("state with time to live")


if __name__ == "__main__":
    main()
