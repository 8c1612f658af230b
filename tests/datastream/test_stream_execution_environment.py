"""The environment: settings from code and configuration, sources, and the job that would run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common.configuration import Configuration
from millrace.common.source import Boundedness
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.datastream import (
    CheckpointingMode,
    DataStream,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from millrace.datastream.functions import SourceFunction
from millrace.graph.program import GraphError
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.operators.making import operator_class
from millrace.runtime.operators.one_input_operators import BatchReduceOperator, ReduceOperator
from millrace.testing import run_locally

NO_TIME = WatermarkStrategy.no_watermarks()


class Endless(NumberSequenceSource):
    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED


def environment(**options: str) -> StreamExecutionEnvironment:
    """With a configuration of ``parallelism_default="3"`` for ``parallelism.default: 3``."""
    values = {key.replace("__", "-").replace("_", "."): value for key, value in options.items()}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


# -- settings -----------------------------------------------------------------------------------------------------


def test_defaults() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_parallelism() == env.get_default_local_parallelism() >= 1
    assert env.get_max_parallelism() == -1
    assert env.get_buffer_timeout() == 100
    assert env.is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.get_checkpoint_interval() == -1
    assert env.get_checkpointing_mode() == env.get_checkpoint_config().get_checkpointing_mode()
    assert env.get_default_savepoint_directory() is None
    assert env.is_changelog_state_backend_enabled() is None
    assert not env.is_unaligned_checkpoints_enabled()
    assert not env.is_force_unaligned_checkpoints()


def test_setters_return_the_environment() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    same = (
        env.set_parallelism(3)
        .set_max_parallelism(7)
        .set_runtime_mode(RuntimeExecutionMode.BATCH)
        .set_buffer_timeout(5)
        .disable_operator_chaining()
        .enable_checkpointing(1000, CheckpointingMode.AT_LEAST_ONCE)
        .enable_changelog_state_backend(True)
        .set_default_savepoint_directory("/savepoints")
        .register_slot_sharing_group(SlotSharingGroup.builder("group").build())
    )
    assert same is env
    assert (env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout()) == (3, 7, 5)
    assert not env.is_chaining_enabled()
    assert env.get_checkpoint_interval() == 1000
    assert env.get_checkpointing_mode() == CheckpointingMode.AT_LEAST_ONCE
    assert env.get_checkpointing_consistency_mode() == CheckpointingMode.AT_LEAST_ONCE
    assert env.is_changelog_state_backend_enabled() is True
    assert env.get_default_savepoint_directory() == "/savepoints"
    assert env.get_config().get_parallelism() == 3
    assert env.get_config().get_max_parallelism() == 7


def test_settings_from_a_configuration() -> None:
    env = environment(
        parallelism_default="3",
        pipeline_max__parallelism="9",
        pipeline_operator__chaining_enabled="false",
        execution_buffer__timeout_interval="7 ms",
        execution_checkpointing_interval="2 s",
        execution_checkpointing_savepoint__dir="/savepoints",
    )
    assert (env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout()) == (3, 9, 7)
    assert not env.is_chaining_enabled()
    assert env.get_checkpoint_interval() == 2000
    assert env.get_default_savepoint_directory() == "/savepoints"


def test_the_last_setting_wins_wherever_it_was_made() -> None:
    env = environment(parallelism_default="3")
    env.set_parallelism(4)
    assert env.get_parallelism() == 4
    env.get_config().set_parallelism(5)
    assert env.get_parallelism() == 5
    env.configure(Configuration.from_dict({"parallelism.default": "6", "execution.runtime-mode": "BATCH"}))
    assert env.get_parallelism() == 6
    assert env._is_batch()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    assert not env._is_batch()
    env.set_parallelism(-1)
    assert env.get_parallelism() == env.get_default_local_parallelism()


def test_a_configuration_belongs_to_its_environment_only() -> None:
    configuration = Configuration.from_dict({"parallelism.default": "3"})
    first = StreamExecutionEnvironment.get_execution_environment(configuration)
    first.set_parallelism(4)
    assert StreamExecutionEnvironment.get_execution_environment(configuration).get_parallelism() == 3


def test_default_local_parallelism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "_default_local_parallelism", 2)
    StreamExecutionEnvironment.get_execution_environment().set_default_local_parallelism(5)
    assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 5
    assert environment(parallelism_default="3").get_parallelism() == 3


@pytest.mark.parametrize("parallelism", [0, -3])
def test_impossible_parallelism(env: StreamExecutionEnvironment, parallelism: int) -> None:
    with pytest.raises(ValueError, match="parallelism must be at least 1"):
        env.set_parallelism(parallelism)


@pytest.mark.parametrize("maximum", [0, 32769])
def test_impossible_max_parallelism(env: StreamExecutionEnvironment, maximum: int) -> None:
    with pytest.raises(ValueError, match=rf"in 1\.\.32768, not {maximum}"):
        env.set_max_parallelism(maximum)


def test_other_impossible_settings(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ValueError, match="buffer timeout"):
        env.set_buffer_timeout(-2)
    with pytest.raises(TypeError, match="takes a RuntimeExecutionMode, not str"):
        env.set_runtime_mode("BATCH")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'FAST' for key 'execution.runtime-mode': .* one of STREAMING, BATCH, AUTO"):
        environment(execution_runtime__mode="FAST")


def test_jars_must_exist(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "helper.jar"
    file.write_text("")
    env.add_jars(f"file://{file}")
    env.add_classpaths(f"file://{file}")
    with pytest.raises(FileNotFoundError, match=r"add_jars\(\) at .*: no such file: /none"):
        env.add_jars("/none")


def test_what_is_not_there_yet_says_so(env: StreamExecutionEnvironment) -> None:
    text = "^pyflink.datastream.StreamExecutionEnvironment.create_input is not in Millrace yet; nearest: "
    with pytest.raises(NotImplementedError, match=text):
        env.create_input(None)


# -- sources ------------------------------------------------------------------------------------------------------


class Counter(SourceFunction[int]):
    def run(self, ctx: Any) -> None:
        for number in range(3):
            ctx.collect(number)

    def cancel(self) -> None:
        pass


def names(env: StreamExecutionEnvironment) -> list[tuple[str, int]]:
    return [(info.name, info.parallelism) for info in env.job_graph().operators]


def test_collections_run_in_one_subtask_in_order(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(range(5))  # type: ignore[arg-type]
    assert run_locally(stream.map(lambda x: x).set_parallelism(1)).collected == [0, 1, 2, 3, 4]
    env.from_collection([1]).print()
    assert names(env)[0] == ("Source: Collection Source", 1)


def test_a_collection_is_taken_as_it_is_now(env: StreamExecutionEnvironment) -> None:
    values = [1, 2]
    stream = env.from_collection(values)
    values.append(3)
    assert sorted(run_locally(stream).collected) == [1, 2]


def test_sequences_and_sources_are_parallel(env: StreamExecutionEnvironment) -> None:
    sequence = env.from_sequence(1, 4)
    assert sequence.get_type() == Types.LONG()
    read = env.from_source(NumberSequenceSource(5, 6), NO_TIME, "numbers")
    assert read.get_type() == Types.LONG()
    declared = env.from_source(NumberSequenceSource(5, 6), NO_TIME, "numbers", Types.DOUBLE())
    assert declared.get_type() == Types.DOUBLE()
    assert sorted(run_locally(sequence.union(read)).collected) == [1, 2, 3, 4, 5, 6]
    assert sorted(run_locally(declared).collected) == [5.0, 6.0]
    read.print()
    assert names(env)[0] == ("Source: numbers", 2)


def test_source_functions(env: StreamExecutionEnvironment) -> None:
    assert sorted(run_locally(env.add_source(Counter(), "counter", Types.INT())).collected) == [0, 1, 2]
    assert env.add_source(Counter()).get_name() == "Custom Source"
    assert run_locally(env.add_source(NumberSequenceSource(1, 1))).collected == [1]  # type: ignore[arg-type]


def test_text_files(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    stream = env.read_text_file(str(tmp_path))
    assert stream.get_type() == Types.STRING()
    assert sorted(run_locally(stream).collected) == ["one", "two"]


# -- programs and jobs --------------------------------------------------------------------------------------------


def test_execute_without_operators(env: StreamExecutionEnvironment) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"^No operators defined in streaming topology. Cannot execute.$"):
            env.job_graph()
        with pytest.raises(RuntimeError):
            env.execute()
        env.from_collection([1])


def test_sources_that_nobody_reads_are_dropped(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1])
    env.from_source(Endless(1, 2), NO_TIME, "endless")
    env.from_collection([2]).name("read").map(abs)
    assert names(env) == [("Source: read", 1), ("Map", 2)]
    assert env._bounded()


def test_a_program_ends_with_its_execution(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).print()
    assert run_locally(env).printed == ["1> 1"]
    with pytest.raises(RuntimeError, match="No operators"):
        env.job_graph()
    env.from_collection([2]).print()
    assert run_locally(env).printed == ["1> 2"]
    env.from_collection([3]).print()
    env.close()
    with pytest.raises(RuntimeError, match="No operators"):
        env.job_graph()


def test_a_new_program_may_go_on_from_handles_of_the_one_before(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2])
    doubled = numbers.map(lambda x: x * 2)
    numbers.print()
    doubled.print()
    run_locally(env)
    doubled.map(lambda x: x + 1).name("next")
    assert [name for name, _ in names(env)] == ["Source: Collection Source", "Map", "next"]
    assert sorted(run_locally(doubled).collected) == [2, 4]
    assert sorted(run_locally(doubled).collected) == [2, 4]
    assert sorted(run_locally(doubled.union(numbers)).collected) == [1, 2, 2, 4]


def job(env: StreamExecutionEnvironment, *sources: Any) -> JobGraph:
    for source in sources:
        env.from_source(source, NO_TIME, "numbers").key_by(lambda x: x % 2).sum()
    return env.job_graph()


BOUNDED, UNBOUNDED = NumberSequenceSource(1, 4), Endless(1, 4)


@pytest.mark.parametrize(
    ("mode", "sources", "operator", "records", "millis"),
    [
        ("STREAMING", [BOUNDED], ReduceOperator, 1_000_000, 10_000),
        ("STREAMING", [BOUNDED, UNBOUNDED], ReduceOperator, 1_000_000, 1_000),
        ("BATCH", [BOUNDED], BatchReduceOperator, None, None),
        ("AUTOMATIC", [BOUNDED], BatchReduceOperator, None, None),
        ("AUTOMATIC", [BOUNDED, UNBOUNDED], ReduceOperator, 1_000_000, 1_000),
    ],
)
def test_modes_and_limits_of_epochs(mode: str, sources: Any, operator: type, records: Any, millis: Any) -> None:
    for env in (
        environment(execution_runtime__mode=mode.lower()),
        environment().set_runtime_mode(RuntimeExecutionMode[mode]),
    ):
        graph = job(env, *sources)
        info = graph.operators[1]
        assert operator_class(info.spec, info.final) is operator
        assert (graph.epoch_records, graph.epoch_millis) == (records, millis)


def test_batch_mode_gives_final_results(env: StreamExecutionEnvironment) -> None:
    def sums() -> DataStream:
        return env.from_sequence(1, 4).key_by(lambda x: x % 2).sum()

    assert sorted(run_locally(sums()).collected) == [1, 2, 4, 6]
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert sorted(run_locally(sums()).collected) == [4, 6]


def test_batch_mode_needs_bounded_sources() -> None:
    with pytest.raises(GraphError, match=r"^operator 'Source: numbers' at .* never ends, but BATCH mode needs bounded"):
        job(environment(execution_runtime__mode="BATCH"), BOUNDED, UNBOUNDED)


def test_limits_of_epochs_are_options() -> None:
    options = {"millrace.epoch.max-records": "7", "millrace.epoch.max-duration-ms": "8"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    graph = job(env, UNBOUNDED)
    assert (graph.epoch_records, graph.epoch_millis) == (7, 8)


def test_names_ids_and_parameters_of_jobs() -> None:
    env = environment(pipeline_name="nightly")
    env.get_config().set_global_job_parameters({"limit": 3})
    env.from_collection([1]).map(abs)
    first, second = env.job_graph(), env.job_graph("given")
    assert (first.name, second.name) == ("nightly", "given")
    assert first.parameters == {"limit": "3"}
    assert len(first.job_id) == 32
    assert first.job_id != second.job_id
    plain = environment()
    plain.from_collection([1]).map(abs)
    assert plain.job_graph().name == "Flink Streaming Job"


def test_settings_reach_the_graph() -> None:
    env = environment(
        parallelism_default="3",
        pipeline_max__parallelism="9",
        pipeline_operator__chaining_chain__operators__with__different__max__parallelism="false",
    )
    env.from_sequence(1, 2).map(abs).set_max_parallelism(8).map(abs).set_max_parallelism(8)
    found = [(info.parallelism, info.max_parallelism, info.chain) for info in env.job_graph().operators]
    assert found == [(3, 9, "Source: Sequence Source"), (3, 8, "Map -> Map"), (3, 8, "Map -> Map")]
    env.disable_operator_chaining()
    assert [info.chain for info in env.job_graph().operators] == ["Source: Sequence Source", "Map", "Map"]


def test_derived_uids_can_be_switched_off(env: StreamExecutionEnvironment) -> None:
    env.get_config().disable_auto_generated_uids()
    source = env.from_collection([1]).uid("source")
    assert run_locally(source).collected == [1]  # the collecting end is not the user's
    source.map(abs)
    with pytest.raises(GraphError, match=r"^operator 'Map' at .* has no uid, and derived uids are disabled"):
        env.job_graph()
