"""What a cluster is started with: files below options, and machines of the configuration directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.cli.cluster.lifecycle import Wanted, wanted
from millrace.cluster.processes.spark_layout import Host, Hosts, MasterLine

HERE = Host("localhost")


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("MILLRACE_CONF_DIR", raising=False)
    (tmp_path / "flink-conf.yaml").write_text("parallelism.default: 4\nrest.port: 9000\n")
    return tmp_path


def test_files_count_less_than_options(conf: Path) -> None:
    found = wanted({"parallelism.default": "2"}, None, None)
    files = {"rest.port": "9000", "rest.bind-port": "9000"}
    assert found == Wanted({"parallelism.default": "2", **files}, files, None)


def test_machines_of_the_directory(conf: Path) -> None:
    (conf / "workers").write_text("localhost\nlocalhost\n")
    (conf / "masters").write_text("localhost:8085\n")
    found = wanted({}, None, None)
    assert found.hosts == Hosts((HERE, HERE), MasterLine(HERE, 8085))
    assert [found.configuration[key] for key in ("rest.port", "rest.bind-port")] == ["8085", "8085"]
    assert wanted({"rest.port": "1"}, None, 1).configuration["rest.port"] == "1"
    assert wanted({}, None, 1).hosts == Hosts((HERE,), MasterLine(HERE, 8085))


@pytest.mark.parametrize("key", ["millrace.master", "spark.master"])
def test_a_spark_of_the_users_rules_them_out(conf: Path, key: str) -> None:
    (conf / "workers").write_text("localhost\n")
    for found in (wanted({}, "spark://a:1", None), wanted({key: "spark://a:1"}, None, None)):
        assert found.hosts is None
        assert found.configuration["millrace.master"] == "spark://a:1"
    with pytest.raises(ValueError, match=r"is to run on spark://a:1: .* \(leave --workers out\)"):
        wanted({key: "spark://a:1"}, None, 2)


def test_a_master_in_the_files_counts_less_than_a_number_of_workers(conf: Path) -> None:
    with open(conf / "flink-conf.yaml", "a") as file:
        file.write("millrace.master: spark://a:1\n")
    assert wanted({}, None, None).configuration["millrace.master"] == "spark://a:1"
    found = wanted({}, None, 2)
    assert found.hosts is not None and "millrace.master" not in found.configuration


@pytest.mark.parametrize("ours", [False, True])
def test_workers_of_somebody_elses_folder_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    for variable in ("FLINK_CONF_DIR", "MILLRACE_CONF_DIR"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "workers").write_text("localhost\n")
    monkeypatch.chdir(tmp_path)
    if ours:
        (tmp_path / "conf" / "flink-conf.yaml").write_text("parallelism.default: 4\n")
    assert wanted({}, None, None).hosts == (Hosts((HERE,), MasterLine(HERE)) if ours else None)
