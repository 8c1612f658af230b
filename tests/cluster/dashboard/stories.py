"""Jobs with a course: what their documents say after so many seconds. The dashboard is tested with them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

from tests.cluster.documents import id_of, job, metrics, vertex

from millrace.cluster.documents import (
    AccumulatorDocument,
    CheckpointConfigDocument,
    CheckpointDocument,
    CheckpointsDocument,
    EpochDocument,
    ExceptionDocument,
    HeavyKey,
    JobDocument,
    RestoredDocument,
    TaskCheckpointDocument,
    VertexDocument,
)

HOUR = 3_600_000
STACK = """Traceback (most recent call last):
  File "/srv/lib/python3.11/site-packages/millrace/runtime/operators/map.py", line 41, in process
    return self._function(value)
  File "/home/ada/orders.py", line 42, in parse
    return Order(int(fields[0]), float(fields[1]))
ValueError: could not convert string to float: 'n/a'"""


def begun(at: int, *vertices: VertexDocument) -> tuple[VertexDocument, ...]:
    """The vertices with subtasks that were created then."""
    return tuple(
        replace(
            each,
            subtasks=tuple(
                replace(one, started=at, states={"CREATED": at, "INITIALIZING": at + 900, "RUNNING": at + 2_400})
                if one.ended < 0
                else replace(one, started=at, states={"CREATED": at, "RUNNING": at + 2_400, one.state: one.ended})
                for one in each.subtasks
            ),
        )
        for each in vertices
    )


def orders(now: int, seconds: float) -> JobDocument:
    """A running job with what users ask about: a skewed key, a slow sink, a partition that gives nothing."""
    base = now - HOUR
    read = [int(1_200 * 3600 + 1_000 * seconds * share) for share in (1.0, 0.9)] + [5_120]
    mark, behind = now - 4_000, base + 12 * 60_000
    total = sum(read)
    source = vertex(
        "Source: orders -> parse",
        [
            {
                "records_out": read[index],
                "bytes_out": read[index] * 96,
                "busy": 0.12 + 0.02 * math.sin(seconds / 5 + index),
                "backpressured": 0.81 if index < 2 else 0.0,
                "idle": 0.05 if index < 2 else 1.0,
                "busy_ms": 400_000.0,
                "backpressured_ms": 2_900_000.0,
                "idle_ms": 300_000.0,
                "metrics": metrics(
                    **{"Source: orders__currentOutputWatermark": mark if index < 2 else behind},
                    parse__numRecordsIn=read[index],
                    parse__numRecordsOut=read[index],
                    **{"Source: orders__pendingRecords": 40_000 + int(3_000 * math.sin(seconds))},
                ),
            }
            for index in range(3)
        ],
        descriptions={"parse": "one line of CSV to an Order"},
    )
    rules = vertex(
        "Source: rules", [{"records_out": 128, "state": "FINISHED", "watermark": 2**63 - 1, "ended": base + 9_000}]
    )
    shares = [0.71, 0.11, 0.09, 0.09]
    window = vertex(
        "TumblingEventTimeWindows -> Map",
        [
            {
                "records_in": int(total * share),
                "records_out": int(total * share * 0.01),
                "bytes_in": int(total * share * 96),
                "bytes_out": int(total * share * 0.6),
                "busy": min(1.0, share * 1.1),
                "backpressured": min(0.62, 1 - share),
                "idle": max(0.0, 0.9 - share),
                "busy_ms": share * 2_000_000,
                "watermark": behind,
                "state_bytes": int(share * 900_000_000),
                "metrics": metrics(
                    TumblingEventTimeWindows__numLateRecordsDropped=12,
                    Map__latency_p99=40 + 10 * math.sin(seconds / 3),
                ),
                "accumulators": (AccumulatorDocument("late", "IntCounter", "12"),),
            }
            for index, share in enumerate(shares)
        ],
        after=["Source: orders -> parse", "Source: rules"],
        descriptions={
            "TumblingEventTimeWindows": "Window(TumblingEventTimeWindows(60000, 0), EventTimeTrigger(), count)"
        },
        heavy_keys=(HeavyKey("'unknown'", 0.66), HeavyKey("'de'", 0.08), HeavyKey("'fr'", 0.05)),
        states={"window-contents": 812_000_000, "timers": 64_000_000, "rules (broadcast)": 14_000},
    )
    sink = vertex(
        "Sink: warehouse",
        [
            {
                "records_in": int(total * 0.005),
                "bytes_in": int(total * 0.3),
                "busy": 0.96 - 0.02 * index,
                "backpressured": 0.0,
                "idle": 0.03,
                "busy_ms": 3_400_000.0,
                "watermark": behind,
            }
            for index in range(2)
        ],
        after=["TumblingEventTimeWindows -> Map"],
        ship="REBALANCE",
    )
    audit = vertex(
        "Sink: audit",
        [{"records_in": 9_000, "busy": 0.02, "backpressured": 0.0, "idle": 0.97, "watermark": behind}],
        after=["Source: orders -> parse"],
        ship="FORWARD",
    )
    vertices = begun(base, source, rules, window, sink, audit)
    return job(
        *vertices,
        name="Orders per minute and country",
        id=id_of("orders"),
        written=now,
        started=base,
        timestamps={"CREATED": base, "RUNNING": base + 800},
        epochs=epochs(now),
        checkpoints=checkpoints(now, vertices),
        restart_strategy="Exponential delay, first 1 s, at most 60 s",
        configuration={
            "execution.checkpointing.interval": "60 s",
            "execution.checkpointing.dir": "s3://bucket/checkpoints",
            "execution.checkpointing.savepoint-dir": "s3://bucket/savepoints",
            "s3.secret-key": "******",
        },
        parameters={"input": "orders", "countries": "all"},
        accumulators=(AccumulatorDocument("late", "IntCounter", "48"),),
        metrics=metrics(numRestarts=1, lastCheckpointSize=93_000_000, numEpochs=7_200),
        exceptions=(failure(now - 50 * 60_000),),
        stoppable=True,
        output_file="/var/log/millrace/orders.out",
        log_file="/var/log/millrace/orders.log",
        process=4711,
    )


def epochs(now: int) -> tuple[EpochDocument, ...]:
    """The last hundred, the same ones at any later moment."""
    found = []
    for number in range(now // 500 - 99, now // 500 + 1):
        drawn = random.Random(number)
        checkpoint = number % 20 == 0
        phases = {
            "plan": drawn.uniform(8, 14),
            "start": drawn.uniform(12, 25),
            "read": drawn.uniform(40, 70),
            "process": drawn.uniform(120, 240),
            "exchange": drawn.uniform(20, 60),
            "record": drawn.uniform(50, 90) if checkpoint else 4.0,
            "commit": drawn.uniform(90, 160) if checkpoint else 0.0,
        }
        began = number * 500
        found.append(
            EpochDocument(number, began, round(sum(phases.values()) + 10), 900, began - 64_000, phases, checkpoint)
        )
    return tuple(found)


def checkpoints(now: int, vertices: tuple[VertexDocument, ...]) -> CheckpointsDocument:
    latest = now // 60_000
    history = []
    for number in range(latest, latest - 20, -1):
        drawn = random.Random(number)
        failed = latest - number == 7
        savepoint = latest - number == 4
        triggered = number * 60_000
        duration = drawn.randint(700, 2_400)
        history.append(
            CheckpointDocument(
                id=number - latest + 61,
                savepoint=savepoint,
                status="FAILED" if failed else "COMPLETED",
                triggered=triggered,
                latest_ack=triggered + duration,
                duration=duration,
                size=drawn.randint(40_000_000, 90_000_000),
                full_size=880_000_000 + drawn.randint(0, 20_000_000),
                path=None if failed else f"s3://bucket/{'savepoints' if savepoint else 'checkpoints'}/chk-{number}",
                discarded=latest - number > 2,
                failed=triggered + duration if failed else -1,
                failure="Checkpoint expired before completing: OSError: Slow down (503)" if failed else None,
                tasks=tuple(
                    TaskCheckpointDocument(
                        each.id,
                        each.parallelism,
                        each.parallelism - failed,
                        triggered + duration,
                        drawn.randint(1_000, 30_000_000),
                        drawn.randint(30_000_000, 400_000_000),
                        duration - drawn.randint(0, 300),
                        tuple(drawn.randint(1_000, 9_000_000) for _ in each.subtasks),
                    )
                    for each in vertices
                ),
            )
        )
    return CheckpointsDocument(
        config=CheckpointConfigDocument(interval=60_000, retained_on_cancellation=True, externalized=True),
        restored_count=1,
        total=62,
        completed=60,
        failed=1,
        in_progress=1,
        history=tuple(history),
        restored=RestoredDocument(12, now - 50 * 60_000, False, "s3://bucket/checkpoints/chk-12"),
    )


def failure(at: int, **more: Any) -> ExceptionDocument:
    return ExceptionDocument(
        name="builtins.ValueError",
        text="orders.py:42 in parse: could not convert string to float: 'n/a'\nThe element was: '17,n/a,de'",
        stacktrace=STACK,
        at=at,
        task="Source: orders -> parse (2/3) - execution #0",
        host="node-3",
        task_manager="executor-1",
        labels={"type": "user"},
        **more,
    )


def failing(now: int, seconds: float) -> JobDocument:
    """A job that restarts every twenty seconds for one bad record."""
    failures = tuple(failure(now - int(seconds * 1000) % 20_000 - each * 20_000) for each in range(8))
    waiting = {"state": "SCHEDULED", "attempt": 8, "started": -1, "states": {"CREATED": now - 2_000}}
    return job(
        vertex("Source: clicks -> parse", [waiting] * 2),
        vertex("Sink: console", [waiting], after=["Source: clicks -> parse"]),
        name="Clicks",
        state="RESTARTING",
        written=now,
        started=now - 200_000,
        exceptions=failures,
    )


def finished(now: int, name: str = "Nightly report", state: str = "FINISHED") -> JobDocument:
    began = now - now % HOUR - 2 * HOUR
    ended = began + 754_000
    state_of = {"state": "FINISHED" if state == "FINISHED" else "CANCELED", "ended": ended, "started": began,
                "states": {"CREATED": began, "RUNNING": began + 2_000, "FINISHED": ended}}  # fmt: skip
    return job(
        vertex("Source: files", [{**state_of, "records_out": 5_400_000}] * 2),
        vertex("Sink: report", [{**state_of, "records_in": 5_400_000}], after=["Source: files"]),
        name=name,
        state=state,
        batch=True,
        written=ended,
        started=began,
        ended=ended,
        timestamps={"CREATED": began, "RUNNING": began + 900, state: ended},
        exceptions=(failure(ended),) if state == "FAILED" else (),
    )


def wide(now: int, seconds: float, count: int = 60) -> JobDocument:
    """A job of many vertices, as a large SQL script makes them."""
    drawn = random.Random(7)
    vertices: list[VertexDocument] = []
    for number in range(count):
        layer = number // 5
        above = [each.name for each in vertices[max(0, (layer - 1) * 5) : layer * 5]] if layer else []
        after = drawn.sample(above, min(len(above), drawn.choice((1, 1, 1, 2)))) if above else []
        if layer > 3 and drawn.random() < 0.1:
            after.append(vertices[drawn.randrange((layer - 2) * 5)].name)
        kind = "Source" if not after else drawn.choice(("Join", "Calc", "GroupAggregate", "Deduplicate", "Rank"))
        busy = drawn.random() ** 3
        rate = int(10 ** drawn.uniform(1, 5))
        vertices.append(
            vertex(
                f"{kind}[{number + 1}] -> Calc[{number + 100}]",
                [
                    {
                        "records_in": int(rate * (1000 + seconds)) if after else 0,
                        "records_out": int(rate * (1000 + seconds)),
                        "busy": min(1.0, busy + 0.03 * math.sin(seconds / 4 + number)) if busy > 0.05 else 0.0,
                        "backpressured": 0.0,
                        "idle": 1 - busy,
                        "watermark": now - 5_000 if after else None,
                    }
                ]
                * drawn.choice((1, 2, 4)),
                after=sorted(set(after)),
                ship=drawn.choice(("HASH", "HASH", "FORWARD", "BROADCAST")),
            )
        )
    return job(*begun(now - 9 * HOUR, *vertices), name="Warehouse of everything", written=now, started=now - 9 * HOUR)
