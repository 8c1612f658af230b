"""Visits to a shop: something is put into the cart and then bought, whatever else is looked at in between.

    python examples/patterns/shop_sessions.py

A condition that looks back (``ctx.get_events_for_pattern``) ties the two: it must be the same article. A visit is over
when it was bought, or ten minutes after it was put into the cart: then it was left there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reading import Event, events, run

from millrace.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.common import Types
from millrace.common.output_tag import OutputTag
from millrace.common.time import Duration
from millrace.datastream import DataStream, StreamExecutionEnvironment

LEFT = OutputTag("left in the cart", Types.STRING())


def same_item(event: Event, ctx: Any) -> bool:
    return event[2] == ctx.get_events_for_pattern("cart")[0][2]


BOUGHT = (
    Pattern.begin("cart")
    .where("f1 = 'cart'")
    .followed_by("bought")
    .where("f1 = 'buy'")
    .where(same_item)
    .within(Duration.of_minutes(10))
)


class Tell(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: dict[str, list[Event]], ctx: Any) -> Iterator[str]:
        cart, bought = match["cart"][0], match["bought"][0]
        yield f"{cart[0]} bought {cart[2]} at {bought[-1]}"

    def process_timed_out_match(self, match: dict[str, list[Event]], ctx: Any) -> None:
        cart = match["cart"][0]
        ctx.output(LEFT, f"{cart[0]} left {cart[2]} of {cart[-1]} in the cart")


def build(env: StreamExecutionEnvironment, given: list[Event] | None = None) -> DataStream:
    visits = events(env, "shop", given).key_by(lambda event: event[0])
    found = CEP.pattern(visits, BOUGHT).process(Tell(), Types.STRING())
    return found.union(found.get_side_output(LEFT))


if __name__ == "__main__":
    run(build)
