"""``JobClient.query_state``: what a running job holds for a key."""

from __future__ import annotations

import time

import pytest
from tests.spark.conftest import MakeEnvironment

from millrace.common import JobClient, Types
from millrace.datastream import KeyedProcessFunction
from millrace.datastream.functions import RuntimeContext
from millrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from millrace.spark.jobs.requests import StateQueryError

KEYS = 7


class Tally(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.parities = runtime_context.get_map_state(MapStateDescriptor("parities", Types.INT(), Types.INT()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.parities.put(value % 2, (self.parities.get(value % 2) or 0) + 1)


def wait_for_records(client: JobClient) -> None:
    """Until an epoch with some is complete."""
    until = time.monotonic() + 60
    while not client.get_accumulators().result()["millrace.records-read"]:
        assert time.monotonic() < until, "nothing was read"
        time.sleep(0.01)


def test_values_of_one_epoch(environment: MakeEnvironment) -> None:
    env = environment(2, **{"millrace.epoch.max-records": 500})
    env.from_sequence(0, 10_000_000).key_by(lambda v: v % KEYS).process(Tally()).name("tally")
    client = env.execute_async("tallies")
    wait_for_records(client)
    try:
        futures = [client.query_state("tally", "count", key).future() for key in range(KEYS + 1)]
        counts = [future.result(60) for future in futures]
        assert counts[KEYS] is None, "no such key"
        parities = client.query_state("tally", "parities", 3).future().result(60)
        assert sum(parities.values()) >= counts[3] > 0
        later = client.query_state("tally", "count", 3).future().result(60)
        assert later >= sum(parities.values())
        with pytest.raises(StateQueryError, match="no state 'cuont'; there is 'count'"):
            client.query_state("tally", "cuont", 3)
        with pytest.raises(StateQueryError, match="no operator has the uid or name 'tolly'; there is 'tally'"):
            client.query_state("tolly", "count", 3)
    finally:
        client.cancel().result()
    with pytest.raises(StateQueryError, match="is CANCELED"):
        client.query_state("tally", "count", 3)


def test_the_answer_is_that_of_the_end_of_an_epoch(environment: MakeEnvironment) -> None:
    env = environment(1, **{"millrace.epoch.max-records": 100})
    env.from_sequence(0, 100_000_000).key_by(lambda v: v % KEYS).process(Tally()).name("tally")
    client = env.execute_async("tallies")
    try:
        futures = [client.query_state("tally", "count", key).future() for key in range(KEYS)]
        counts = [future.result(60) or 0 for future in futures]
    finally:
        client.cancel().result()
    for key, count in enumerate(counts):
        # Of the first 100 * n numbers so many have this remainder.
        possible = {len(range(key, 100 * epochs, KEYS)) for epochs in range(count * KEYS // 100 + 2)}
        assert count in possible, f"{count} elements of key {key} are not those of whole epochs"
