"""Orders that are not paid within 15 minutes, in a side output.

    python examples/patterns/order_timeouts.py

The pattern is the good case; what times out is what one wants to know. Time passes by the orders of others, too.
"""

from __future__ import annotations

import datetime

from reading import Event, events, run

from millrace.cep import CEP, Pattern
from millrace.common import Types
from millrace.common.output_tag import OutputTag
from millrace.common.time import Duration
from millrace.datastream import DataStream, StreamExecutionEnvironment

UNPAID = OutputTag("unpaid", Types.STRING())
PAID = (
    Pattern.begin("created")
    .where("f1 = 'created'")
    .followed_by("paid")
    .where("f1 = 'paid'")
    .within(Duration.of_minutes(15))
)


def paid(match: dict[str, list[Event]]) -> str:
    created, payment = match["created"][0], match["paid"][0]
    waited = datetime.datetime.fromisoformat(payment[-1]) - datetime.datetime.fromisoformat(created[-1])
    return f"{created[0]} paid after {waited}"


def unpaid(match: dict[str, list[Event]], timestamp: int) -> str:
    return f"{match['created'][0][0]} not paid"


def build(env: StreamExecutionEnvironment, given: list[Event] | None = None) -> DataStream:
    orders = events(env, "orders", given).key_by(lambda event: event[0])
    found = CEP.pattern(orders, PAID).select(paid, Types.STRING(), UNPAID, unpaid)
    return found.union(found.get_side_output(UNPAID))


if __name__ == "__main__":
    run(build)
