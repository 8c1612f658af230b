"""What can't be pickled can't wait for the next epoch, in sources and at gates: it is handed on after all."""

from __future__ import annotations

import threading
from random import Random
from typing import Any

import pytest
from tests.endings import small_pieces

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import SourceFunction
from millrace.testing import run_locally


class Locks(SourceFunction):
    def run(self, ctx: Any) -> None:
        for number in range(50):
            ctx.collect((number, threading.Lock()))

    def cancel(self) -> None:
        pass


@pytest.mark.parametrize("seed", range(8))
def test_it_is_handed_on(seed: int) -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    locks = env.add_source(Locks()).map(lambda pair: pair).map(lambda pair: pair[0])
    random = Random(seed)
    with small_pieces():
        run = run_locally(locks, finish=lambda: random.random() < 0.15)
    assert run.collected == list(range(50))
