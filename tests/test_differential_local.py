"""Random programs on the local engine, split into epochs and moved between workers at random, against plain lists."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.endings import now_and_then, small_pieces
from tests.programs import Program, build, expected, programs
from tests.rings import examples

from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from millrace.runtime.tasks import task
from millrace.runtime.tasks.batch_input import HOLD_BYTES
from millrace.testing import run_locally


@given(
    programs(),
    st.none() | st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 1_000),
    st.booleans(),
    st.sampled_from([HashMapStateBackend(), EmbeddedRocksDBStateBackend()]),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_streaming(
    program: Program, epoch_records: int | None, workers: int, seed: int, chaining: bool, backend: StateBackend
) -> None:
    env = StreamExecutionEnvironment().set_state_backend(backend)
    if not chaining:
        env.disable_operator_chaining()
    run = run_locally(build(program, env), epoch_records=epoch_records, workers=workers, seed=seed)
    assert Counter(run.collected) == expected(program)
    if epoch_records is not None:
        longest = max(-(-len(n.elements) // n.parallelism) for n in program.nodes if n.kind == "source")
        assert len(run.epochs) >= longest / epoch_records, "the input was split"


@given(
    programs(),
    st.none() | st.integers(1, 5),
    st.sampled_from([1, 2, 5, 100]),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.sampled_from([HashMapStateBackend(), EmbeddedRocksDBStateBackend()]),
)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(settings().max_examples))
def test_epochs_that_end_in_the_middle_of_anything(
    program: Program, epoch_records: int | None, at_once: int, random: Random, chaining: bool, backend: StateBackend
) -> None:
    """What there was no time for waits in sources and at gates, also when tasks are rebuilt by another worker."""
    env = StreamExecutionEnvironment().set_state_backend(backend)
    if not chaining:
        env.disable_operator_chaining()
    with small_pieces():
        run = run_locally(
            build(program, env, at_once),
            epoch_records=epoch_records,
            workers=2,
            seed=random.randrange(1_000),
            finish=now_and_then(random),
            max_epochs=3_000,
        )
    assert Counter(run.collected) == expected(program)


@given(programs(), st.sampled_from([HOLD_BYTES, 100, 1]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_batch(program: Program, hold: int) -> None:
    env = StreamExecutionEnvironment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "HOLD_BYTES", hold)  # what does not fit goes through files
        assert Counter(run_locally(build(program, env)).collected) == expected(program)
