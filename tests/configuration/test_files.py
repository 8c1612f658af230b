"""Configuration files: where they are, how they are read, and what counts more than them."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millrace.cli.main import main
from millrace.cli.options import ProgramOptions
from millrace.cli.program import Program, run_settings
from millrace.common.configuration import Configuration
from millrace.configuration.files import configuration_directory, file_settings, read_directory
from millrace.configuration.registry import ConfigurationError, Findings, check
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, TableEnvironment

NESTED = """
# a comment
parallelism:
  default: 3
execution:
  checkpointing:
    interval: 10 s
    unaligned: {enabled: false}
  runtime-mode: BATCH
restart-strategy:
  type: fixed-delay
  fixed-delay: {attempts: 7, delay: 1 s}
pipeline:
  global-job-parameters: {region: "eu, west", who: me}
  cached-files: [{name: a, path: /x}, {name: b, path: /y}]
  jars:
    - file:///a.jar
    - file:///b.jar
env.java.opts.all: "-Da=b -Dc=d"   # flat among nested ones
io.tmp.dirs: ~
table.local-time-zone:
rest.port: 8081
"""
WANTED = {
    "parallelism.default": "3",
    "execution.checkpointing.interval": "10 s",
    "execution.checkpointing.unaligned.enabled": "false",
    "execution.runtime-mode": "BATCH",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "7",
    "restart-strategy.fixed-delay.delay": "1 s",
    "pipeline.global-job-parameters": "region:'eu, west',who:me",
    "pipeline.cached-files": "name:a,path:/x;name:b,path:/y",
    "pipeline.jars": "file:///a.jar;file:///b.jar",
    "env.java.opts.all": "-Da=b -Dc=d",
    "rest.port": "8081",
}
FLAT = """
# the older form
jobmanager.rpc.address: localhost
parallelism.default: 5   # a comment
state.backend: rocksdb
env.java.opts: -Da=b#c: d
fs.default-scheme: hdfs://host:9000/
env.java.home:
"""


def conf(directory: Path, text: str, name: str = "config.yaml") -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(text)
    return directory


def of_command(tmp_path: Path, **options: Any) -> dict[str, str]:
    return run_settings(ProgramOptions(**options), Program("sql", True, ()), str(tmp_path)).configuration


def test_yaml_nested_and_flat(tmp_path: Path) -> None:
    assert read_directory(conf(tmp_path, NESTED)) == WANTED


def test_values_stay_as_they_are_written(tmp_path: Path) -> None:
    """YAML would make a number of 1:30, a boolean of on, and a date of the last one."""
    text = "a.x: 1:30\na.y: on\na.z: 007\na.d: 2024-01-01\na.e: 1e3\n"
    assert read_directory(conf(tmp_path, text)) == {
        "a.x": "1:30", "a.y": "on", "a.z": "007", "a.d": "2024-01-01", "a.e": "1e3"
    }  # fmt: skip


def test_the_older_form(tmp_path: Path) -> None:
    assert read_directory(conf(tmp_path, FLAT, "flink-conf.yaml")) == {
        "jobmanager.rpc.address": "localhost",
        "parallelism.default": "5",
        "state.backend": "rocksdb",
        "env.java.opts": "-Da=b#c: d",
        "fs.default-scheme": "hdfs://host:9000/",
    }


@pytest.mark.parametrize("name", ["flink-conf.yaml", "config.yaml"])
def test_defaults_may_be_copied_from_flinks_documents(tmp_path: Path, name: str) -> None:
    text = 'rest.address: (none)\nrest.bind-address: "0.0.0.0"\nenv.java.opts: \'-Da="b"\'\n'
    assert read_directory(conf(tmp_path, text, name)) == {
        "rest.bind-address": "0.0.0.0",
        "env.java.opts": '-Da="b"',
    }


def test_the_older_form_needs_no_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert read_directory(conf(tmp_path / "old", FLAT, "flink-conf.yaml"))["parallelism.default"] == "5"
    with pytest.raises(ConfigurationError, match=r"needs the package PyYAML: pip install '.*\[config\]'"):
        read_directory(conf(tmp_path / "new", NESTED))


def test_two_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    conf(tmp_path, FLAT, "flink-conf.yaml")
    with caplog.at_level(logging.WARNING, "millrace"):
        assert read_directory(conf(tmp_path, "parallelism.default: 9")) == {"parallelism.default": "9"}
    assert "flink-conf.yaml is not read" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("config.yaml", "ok: 1\na: [1", "config.yaml, line 2: this is no YAML"),
        ("config.yaml", "password: *hunter2", "config.yaml, line 1: this is no YAML; a value with special characters"),
        ("config.yaml", "password: @hunter2", "config.yaml, line 1: this is no YAML"),
        ("config.yaml", "- a\n- b", "expected are keys and values"),
        ("config.yaml", "just text", "expected are keys and values"),
        (
            "flink-conf.yaml",
            "ok: 1\npassword:hunter2",
            "line 2: expected is 'key: value', with a space after the colon",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_directory(conf(tmp_path, text, name))
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_empty_files(tmp_path: Path) -> None:
    assert read_directory(conf(tmp_path / "a", "# nothing\n")) == {}
    assert read_directory(conf(tmp_path / "b", "\n", "flink-conf.yaml")) == {}


# -- where they are -----------------------------------------------------------------------------------------------


def test_the_order_of_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert configuration_directory() == (None, False)
    assert file_settings() == {}
    for number, where in enumerate(("conf", "flink", "own", "named"), 1):
        conf(tmp_path / where, f"parallelism.default: {number}")
    assert file_settings()["parallelism.default"] == "1"
    monkeypatch.setenv("FLINK_CONF_DIR", "flink")
    assert file_settings()["parallelism.default"] == "2"
    monkeypatch.setenv("MILLRACE_CONF_DIR", "own")
    assert file_settings()["parallelism.default"] == "3"
    assert file_settings("named")["parallelism.default"] == "4"


def test_a_named_directory_must_have_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"there is neither config.yaml nor flink-conf.yaml in "):
        file_settings()


@pytest.mark.parametrize("text", ["db:\n  driver: mysql\nlr: 0.1\n", "- a\n", "{{ jinja }}: ["])
def test_the_conf_folder_of_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    conf(tmp_path / "conf", text)
    monkeypatch.chdir(tmp_path)
    assert file_settings() == {}


# -- what counts more ---------------------------------------------------------------------------------------------


def test_environments_begin_with_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "parallelism.default: 3\nstate.checkpoints.dir: /old\nexecution.checkpointing.interval: 7 s\n"
    text += "table.exec.state.ttl: 1 h\nmy.key: x"
    monkeypatch.setenv("FLINK_CONF_DIR", str(conf(tmp_path, text)))
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_parallelism() == 3
    assert env.get_checkpoint_interval() == 7_000
    assert env._configuration.get_string("execution.checkpointing.dir", "") == "/old"
    config = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).get_config()
    assert config.get_idle_state_retention().total_seconds() == 3600
    assert config.get("my.key", "") == "x"


def test_a_program_counts_more_than_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "parallelism.default: 3\nexecution.checkpointing.dir: /file\nstate.backend.type: hashmap\n"
    monkeypatch.setenv("FLINK_CONF_DIR", str(conf(tmp_path, text)))
    # Under an older name, too.
    configuration = (
        Configuration().set_integer("parallelism.default", 4).set_string("state.checkpoints.dir", "/program")
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    assert env.get_parallelism() == 4
    assert env._configuration.get_string("execution.checkpointing.dir", "") == "/program"
    env.configure(Configuration().set_string("state.backend", "rocksdb"))
    assert env._configuration.get_string("state.backend.type", "") == "rocksdb"


def test_a_table_setting_counts_more_under_its_older_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = "table.exec.async-scalar.max-concurrent-operations"
    monkeypatch.setenv("FLINK_CONF_DIR", str(conf(tmp_path, f"{new}: 40")))
    config = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).get_config()
    assert config.get(new, "") == "40"
    config.set("table.exec.async-scalar.buffer-capacity", "50")
    assert config.get(new, "") == "50"


def test_options_of_a_command_count_more_than_the_files(tmp_path: Path) -> None:
    folder = conf(tmp_path, "parallelism.default: 3\nspark.master: local[7]\nstate.backend.type: hashmap\n")
    found = of_command(tmp_path, config_dir=str(folder), properties=(("state.backend", "rocksdb"),))
    assert found["parallelism.default"] == "3"
    assert found["millrace.master"] == "local[7]"
    assert found["state.backend.type"] == "rocksdb"
    assert of_command(tmp_path, config_dir=str(folder), parallelism=5)["parallelism.default"] == "5"
    masters = (("millrace.master", "local[2]"),)
    assert of_command(tmp_path, config_dir=str(folder), properties=masters)["millrace.master"] == "local[2]"
    assert of_command(tmp_path, config_dir=str(folder), master="local[4]")["millrace.master"] == "local[4]"


def test_a_directory_that_a_command_names(tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["info", "--config-dir", str(tmp_path), "-pym", "this"])
    assert found.exit_code == 2
    assert "there is neither config.yaml nor flink-conf.yaml in" in found.stderr
    assert CliRunner().invoke(main, ["info", "--configDir", str(tmp_path), "-pym", "this"]).exit_code == 2


@pytest.mark.parametrize("option", ["parallelism.default=lots", "table.exec.sort.default-limit=3"])
def test_wrong_options_of_a_command(option: str) -> None:
    found = CliRunner().invoke(main, ["run", "-D", option, "-pym", "this"])
    assert found.exit_code == 2
    assert option.partition("=")[0] in found.stderr


def test_the_files_that_flink_comes_with_say_nothing_new(tmp_path: Path) -> None:
    text = "jobmanager: {bind-host: localhost, rpc: {address: localhost, port: 6123}, memory.process.size: 1600m}\n"
    text += "taskmanager: {bind-host: localhost, host: localhost, numberOfTaskSlots: 1, memory.process.size: 1728m}\n"
    text += "parallelism.default: 1\njobmanager.execution.failover-strategy: region\n"
    text += "rest: {address: localhost, bind-address: localhost}\nenv.java.opts.all: --add-opens=a/b=ALL-UNNAMED"
    found = check(read_directory(conf(tmp_path, text)))
    assert found == Findings()


def test_wrong_files_stop_everything_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLINK_CONF_DIR", str(conf(tmp_path, "parallelism.default: lots")))
    with pytest.raises(ConfigurationError, match=r"wrong value 'lots' for key 'parallelism\.default'"):
        StreamExecutionEnvironment.get_execution_environment()
