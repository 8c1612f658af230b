"""Every public name of PyFlink is there, or says clearly that it is not."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from millrace.datastream.not_yet import NOT_YET, module_getattr, not_yet

# The __all__ of PyFlink 2.3.0's modules.
PYFLINK = {
    "connectors.cassandra": "MapperOptions",
    "connectors.pulsar": """PulsarSource PulsarSourceBuilder StartCursor StopCursor RangeGenerator PulsarSink
        PulsarSinkBuilder MessageDelayer TopicRoutingMode""",
}
NAMES = [(module, name) for module, names in PYFLINK.items() for name in names.split()]

# pyflink.datastream's __all__, by the module of Millrace that has the name.
DATASTREAM = {
    "async_data_stream": "AsyncDataStream",
    "handles": "BroadcastStream",
    "derived_streams": "BroadcastConnectedStream",
    "windowed_stream": "WindowedStream",
    "functions": """MapFunction CoMapFunction FlatMapFunction CoFlatMapFunction ReduceFunction FilterFunction
        ProcessFunction KeyedProcessFunction CoProcessFunction KeyedCoProcessFunction WindowFunction
        ProcessWindowFunction AggregateFunction BroadcastProcessFunction KeyedBroadcastProcessFunction AsyncFunction
        RuntimeContext TimerService KeySelector Partitioner SourceFunction SinkFunction AsyncRetryPredicate
        AsyncRetryStrategy""",
    "checkpointing_mode": "CheckpointingMode",
    "checkpoint_config": "CheckpointConfig",
    "externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "state_backend": """StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend CustomStateBackend
        PredefinedOptions""",
    "checkpoint_storage": """CheckpointStorage JobManagerCheckpointStorage FileSystemCheckpointStorage
        CustomCheckpointStorage""",
    "execution_mode": "RuntimeExecutionMode",
    "window": """Window TimeWindow CountWindow GlobalWindow WindowAssigner MergingWindowAssigner TriggerResult
        Trigger""",
    "time_domain": "TimeDomain",
    "slot_sharing_group": "SlotSharingGroup MemorySize",
    "output_tag": "OutputTag",
}


def load(module: str) -> ModuleType:
    return importlib.import_module(f"millrace.datastream.{module}")


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_that_is_not_there_says_so(module: str, name: str) -> None:
    imported = getattr(load(module), name)
    refusal = rf"^pyflink\.datastream\.{module}\.{name} is not in Millrace yet; n"
    for use in (imported, lambda: imported.builder):
        with pytest.raises(NotImplementedError, match=refusal):
            use()


def test_every_name_of_pyflinks_front_door_has_a_place() -> None:
    for module, names in DATASTREAM.items():
        for name in names.split():
            assert f"pyflink.datastream.{name}" not in NOT_YET
            assert hasattr(load(module), name), name


def test_importing_works_and_using_shows_the_text_to_the_user() -> None:
    from millrace.datastream.connectors.pulsar import PulsarSink

    with pytest.raises(NotImplementedError) as caught:
        PulsarSink.builder()
    assert str(caught.value) == (
        "pyflink.datastream.connectors.pulsar.PulsarSink is not in Millrace yet; "
        "nearest: a sink written in Python (millrace.common.sink.Sink)"
    )


def test_other_names_are_ordinary_attribute_errors() -> None:
    avro = load("formats.avro")
    with pytest.raises(AttributeError, match=r"module 'millrace.datastream.formats.avro' has no attribute 'Avro'"):
        avro.Avro  # noqa: B018
    assert not hasattr(avro, "__wrapped__")
    with pytest.raises(ImportError):
        from millrace.datastream.formats.avro import Avro  # noqa: F401


def test_the_module_may_be_given_by_either_name() -> None:
    for package in ("millrace", "pyflink"):
        refused = r"^pyflink\.datastream\.connectors\.pulsar\.PulsarSink is not in"
        with pytest.raises(NotImplementedError, match=refused):
            module_getattr(f"{package}.datastream.connectors.pulsar")("PulsarSink")()


def test_what_is_implemented_is_not_in_the_table() -> None:
    modules = {name.removeprefix("pyflink.datastream.").rpartition(".")[0] for name in NOT_YET}
    for module in modules & PYFLINK.keys():
        public = set(getattr(load(module), "__all__", ()))
        assert not {name for name in public if f"pyflink.datastream.{module}.{name}" in NOT_YET}


def test_every_entry_names_an_alternative() -> None:
    assert all(nearest.strip() for nearest in NOT_YET.values())
    assert str(not_yet("pyflink.x.Y", "Z")) == "pyflink.x.Y is not in Millrace yet; nearest: Z"
