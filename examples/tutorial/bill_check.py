"""P9: orders and payments must meet within five seconds; two streams share the state of a key."""

from __future__ import annotations

from collections.abc import Iterator

from fixture import stamped

from millrace.common import Types
from millrace.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueState, ValueStateDescriptor

Bill = tuple[str, str, int]

APP: list[Bill] = [("order-1", "app", 1000), ("order-2", "app", 2000)]
THIRD_PARTY: list[Bill] = [("order-1", "third-party", 3000), ("order-3", "third-party", 4000)]

PATIENCE = 5_000


class Match(KeyedCoProcessFunction):
    """Remembers the side that came first, until the other one comes or its time is over."""

    def open(self, runtime_context: RuntimeContext) -> None:
        bill = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
        self.app = runtime_context.get_state(ValueStateDescriptor("app", bill))
        self.third_party = runtime_context.get_state(ValueStateDescriptor("third-party", bill))

    def process_element1(self, value: Bill, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        return self.meet(value, self.app, self.third_party, ctx)

    def process_element2(self, value: Bill, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        return self.meet(value, self.third_party, self.app, ctx)

    def meet(
        self, value: Bill, own: ValueState, other: ValueState, ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[str]:
        waiting = other.value()
        if waiting is None:
            own.update(value)
            ctx.timer_service().register_event_time_timer(value[2] + PATIENCE)
            return
        other.clear()
        # Without this the timer could end the wait of a later bill with the same number too early.
        ctx.timer_service().delete_event_time_timer(waiting[2] + PATIENCE)
        yield f"{value[0]} 对账成功"

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[str]:
        if self.app.value() is not None:
            yield f"{ctx.get_current_key()}对账失败,订单的第三方支付信息未到"
        if self.third_party.value() is not None:
            yield f"{ctx.get_current_key()}对账失败,订单的app支付信息未到"
        self.app.clear()
        self.third_party.clear()


def build(env: StreamExecutionEnvironment) -> DataStream:
    app, third_party = stamped(env, APP), stamped(env, THIRD_PARTY)
    return (
        app.connect(third_party)
        .key_by(lambda bill: bill[0], lambda bill: bill[0], Types.STRING())
        .process(Match(), Types.STRING())
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("bill check")


if __name__ == "__main__":
    main()
