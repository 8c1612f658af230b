"""The program that is killed: numbered records through every kind of state, into a sink that keeps accounts.

    millrace run -p 2 job.py '{"ledger": DIRECTORY, "splits": 4, "records": 300, "rules": 40, "per_epoch": 10}'

With ``"savepoints": DIRECTORY`` it takes a savepoint after some checkpoints, and stops with it if ``"stop"`` is true;
or, with ``"order": FILE``, it stops with one when that file appears.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.crash import points
from tests.crash.features import (
    RULES,
    SESSION_GAP,
    TUMBLING,
    Buffering,
    CountAndSum,
    Counting,
    Numbering,
    Ruled,
    Waiting,
    WithWindow,
    key_of,
)
from tests.crash.numbered import NumberedSource

from millrace.common import Duration, Time, WatermarkStrategy
from millrace.common.jobs import JobClient
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from millrace.spark.jobs.requests import SavepointError
from millrace.testing import LedgerSink

SAVEPOINT_AFTER = 2
"""checkpoints"""
SAVEPOINT_TRIES = 5


def build(env: StreamExecutionEnvironment, arguments: dict[str, Any]) -> None:
    """All features in one job. Their uids make the savepoint of one run fit the program of another."""
    per_epoch = arguments["per_epoch"]
    late = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20))
    source = NumberedSource(arguments["splits"], arguments["records"], per_epoch)
    records = env.from_source(source, late, "records").uid("records")
    rules = env.from_source(
        NumberedSource(1, arguments["rules"], max(per_epoch // 10, 1)), WatermarkStrategy.no_watermarks(), "rules"
    ).uid("rules")
    keyed = records.key_by(key_of)
    told = [
        records.map(Numbering()).uid("numbering"),
        rules.map(lambda rule: ("rule", rule.number)).uid("rule"),
        keyed.process(Counting()).uid("counting"),
        keyed.process(Waiting()).uid("waiting"),
        keyed.process(Buffering()).uid("buffering"),
        keyed.connect(rules.broadcast(RULES)).process(Ruled()).uid("ruled"),
    ]
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(TUMBLING)))
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(SESSION_GAP)))
    windows = [
        tumbling.aggregate(CountAndSum(), WithWindow("tumbling")).uid("tumbling"),
        sessions.aggregate(CountAndSum(), WithWindow("session")).uid("sessions"),
    ]
    ledger = LedgerSink(arguments["ledger"], points.commits)
    told[0].union(*told[1:]).sink_to(ledger).uid("told")
    windows[0].union(windows[1]).sink_to(ledger).uid("windows")


def save(client: JobClient, directory: str, stop: bool) -> str:
    """Take a savepoint once the job has some checkpoints, and again if it failed."""
    for _ in range(SAVEPOINT_TRIES):
        while len(client.get_checkpoints()) < SAVEPOINT_AFTER:
            assert not client.get_job_status().result().is_globally_terminal_state(), "too short for a savepoint"
            time.sleep(0.002)
        try:
            if stop:
                return client.stop_with_savepoint(False, directory).result()
            return client.trigger_savepoint(directory).result()
        except SavepointError as error:
            print(f"no savepoint: {error}", flush=True)
    raise AssertionError("no savepoint, however often it was tried")


def obey(client: JobClient, order: Path, directory: str) -> None:
    """Stop with a savepoint as soon as there is an order to "stop", or to "drain"."""
    while not client.get_job_status().result().is_globally_terminal_state():
        if order.exists():
            try:
                path = client.stop_with_savepoint(order.read_text() == "drain", directory).result()
                print(f"savepoint {path}", flush=True)
                return
            except SavepointError as error:
                print(f"no savepoint: {error}", flush=True)
        time.sleep(0.1)


def main() -> None:
    points.this_is_the_driver()
    arguments = json.loads(sys.argv[1])
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, arguments)
    client = env.execute_async("numbers")
    print(f"driver {os.getpid()} job {client.get_job_id()}", flush=True)
    if "order" in arguments:
        obey(client, Path(arguments["order"]), arguments["savepoints"])
    elif "savepoints" in arguments:
        print(f"savepoint {save(client, arguments['savepoints'], arguments.get('stop', False))}", flush=True)
    client.get_job_execution_result().result()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
