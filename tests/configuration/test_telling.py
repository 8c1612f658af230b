"""What is said about settings: errors, typing errors, what does nothing."""

from __future__ import annotations

import logging

import pytest

from millrace.common.configuration import Configuration
from millrace.configuration import registry
from millrace.configuration.registry import ConfigurationError, check, settled, tell_about
from millrace.util.secrets import HIDDEN


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    """What a process says that has said nothing yet."""
    monkeypatch.setattr(registry, "_told", set())
    caplog.set_level(logging.WARNING, "millrace")
    return caplog


def test_a_typing_error_is_told_once_with_what_was_meant(said: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        tell_about({"execution.checkpointing.intervall": "1 s"})
    assert said.messages == [
        "there is no configuration key execution.checkpointing.intervall, did you mean "
        "'execution.checkpointing.interval'?"
    ]


@pytest.mark.parametrize("key", ["exectuion.checkpointing.interval", "paralelism.default", "millrace.mastr"])
def test_a_typing_error_in_the_first_word_is_found_too(key: str) -> None:
    assert "did you mean" in check({key: "1"}).unknown[key]


@pytest.mark.parametrize("key", ["my-app.threshold", "input", "shop.checkpointing.path", "spark.executor.cores"])
def test_ones_own_keys_and_sparks_are_left_alone(key: str) -> None:
    found = check({key: "anything"})
    assert not found.unknown
    assert not found.errors
    assert not found.without_effect


def test_parameters_of_the_job_may_be_called_anything() -> None:
    found = check({"pipeline.global-job-parameters": "state.foo:1,parallelism.deflt:2"})
    assert not found.unknown


def test_few_keys_without_effect_are_told_with_reasons(said: pytest.LogCaptureFixture) -> None:
    tell_about(
        {"state.backend.rocksdb.memory.managed": "false", "heartbeat.timeout": "50 s", "parallelism.default": "2"}
    )
    assert said.messages == [
        "no effect here: state.backend.rocksdb.memory.managed (the store of the on-disk backend is LMDB; nearest: "
        "state.backend.rocksdb.localdir)"
    ]


def test_many_keys_without_effect_are_told_in_one_line(said: pytest.LogCaptureFixture) -> None:
    many = {f"taskmanager.network.netty.{name}": "7" for name in ("num-arenas", "server.backlog", "client.numThreads")}
    tell_about({**many, "heartbeat.timeout": "1 s"})
    tell_about(many)
    assert said.messages == [
        f"no effect here (docs/configuration.md says why): heartbeat.timeout, {', '.join(sorted(many))}"
    ]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("parallelism.default", "many", "wrong value 'many' for key 'parallelism.default': expected is a whole number"),
        ("rest.port", "80.5", "a port, a range as 8081-8090, or none"),
        ("execution.checkpointing.interval", "10 parsecs", "a span of time, as 500 ms, 10 s or 5 min"),
        ("taskmanager.memory.process.size", "big", "a size, as 512 mb or 2 gb"),
        ("python.metric.enabled", "yes", "true or false"),
        ("execution.runtime-mode", "FAST", "one of STREAMING, BATCH, AUTOMATIC"),
        ("state.checkpoints.num-retained", "x", "'state.checkpoints.num-retained': expected is a whole number"),
        ("metrics.reporter.a.interval", "often", "a span of time"),
        ("kubernetes.taskmanager.labels", "no colon", "key:value pairs"),
        ("taskmanager.memory.managed.fraction", "half", "a number"),
    ],
)
def test_values_of_a_wrong_type(key: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        tell_about({key: value})
    assert expected in str(raised.value)
    assert key in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parallelism.default", "-1"),
        ("execution.checkpointing.interval", "PT1M"),
        ("execution.runtime-mode", "batch"),
        ("execution.state-recovery.claim-mode", "no-claim"),
        ("restart-strategy", "fixeddelay"),
        ("state.backend.type", "org.example.MyFactory"),
        ("classloader.parent-first-patterns.additional", "a.;b."),
        ("rest.port", "none"),
        ("rest.port", "8081-8090,9000"),
        ("sql-gateway.endpoint.rest.port", "8083-8090"),
        ("resourcemanager.standalone.start-up-time", "-1"),
        ("mesos.resourcemanager.tasks.gpus", "0"),
    ],
)
def test_values_of_the_right_type(key: str, value: str) -> None:
    assert check({key: value}).errors == []


@pytest.mark.parametrize(
    ("key", "refused", "fine"),
    [
        ("table.exec.sort.default-limit", "200", "-1"),
        ("table.exec.legacy-cast-behaviour", "enabled", "disabled"),
        ("table.rtas-ctas.atomicity-enabled", "true", "FALSE"),
        ("security.ssl.rest.enabled", "true", "false"),
        ("sql-gateway.endpoint.type", "hiveserver2", "rest"),
    ],
)
def test_what_would_be_wrong_to_ignore_is_refused(key: str, refused: str, fine: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{key} = {refused} is refused: .*; nearest: "):
        tell_about({key: refused})
    tell_about({key: fine})


def test_all_errors_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as raised:
        tell_about({"parallelism.default": "x", "rest.port": "y"})
    assert len(str(raised.value).splitlines()) == 2


def test_secrets_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "s3.secret-key"
    monkeypatch.setattr(registry, "is_of", lambda type_, value: False)
    (message,) = check({key: "hunter2"}).errors
    assert "hunter2" not in message
    assert HIDDEN in message


def test_what_a_program_sets_keeps_its_types_and_gets_new_names() -> None:
    configuration = Configuration().set_boolean("state.backend.incremental", True).set_string("my.key", "1")
    copy = settled(configuration)
    assert copy.get_boolean("execution.checkpointing.incremental", False)
    assert copy.get_string("my.key", "") == "1"
    assert not configuration.contains_key("execution.checkpointing.incremental")
