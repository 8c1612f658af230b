"""Three failed log-ins of a user in a row within 20 seconds: perhaps a password is guessed.

    python examples/patterns/log_ins.py

Nothing may come in between (``consecutive``), and an alarm uses its events up (``skip_past_last_event``): the fourth
failure begins a new one.
"""

from __future__ import annotations

from reading import Event, events, run

from millrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from millrace.common import Types
from millrace.common.time import Duration
from millrace.datastream import DataStream, StreamExecutionEnvironment

GUESSES = (
    Pattern.begin("failed", AfterMatchSkipStrategy.skip_past_last_event())
    .where("f1 = 'fail'")
    .times(3)
    .consecutive()
    .within(Duration.of_seconds(20))
)


def alarm(match: dict[str, list[Event]]) -> str:
    failed = match["failed"]
    addresses = sorted({event[2] for event in failed})
    return f"{failed[0][0]}: 3 failures from {failed[0][-1]} on, by {', '.join(addresses)}"


def build(env: StreamExecutionEnvironment, given: list[Event] | None = None) -> DataStream:
    log_ins = events(env, "log_ins", given).key_by(lambda event: event[0])
    return CEP.pattern(log_ins, GUESSES).select(alarm, Types.STRING())


if __name__ == "__main__":
    run(build)
