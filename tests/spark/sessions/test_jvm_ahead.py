"""Which sessions get the JVM that was begun before they asked. The JVM is a process that waits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.spark.java import JavaInfo
from millrace.spark.sessions.early_daemon import Waiting
from millrace.spark.sessions.own_jvm import EarlyJvm, OwnJvm
from millrace.spark.sessions.settings import SessionWishes, all_settings


@pytest.fixture
def jvm(tmp_path: Path) -> Iterator[EarlyJvm]:
    folder = tmp_path / "jvm"
    folder.mkdir()
    log = folder / "jvm.log"
    log.touch()
    asked = all_settings("local", str(log), SessionWishes(1), "-Xshare:auto")
    process, daemon = (subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(2))
    waiting = OwnJvm(process, str(folder), Waiting(daemon))
    memory, options = asked["spark.driver.memory"], asked["spark.driver.extraJavaOptions"]
    yield EarlyJvm(waiting, JavaInfo("java", 17), str(log), memory, options, {})
    waiting.end()
    daemon.wait()


def fits(jvm: EarlyJvm, configuration: dict[str, str] | None = None, **wishes: object) -> bool:
    """Whether it fits; begun just now, since pytest changes the environment with each test."""
    ours = ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")
    jvm.environment = {name: value for name, value in os.environ.items() if name not in ours}
    configuration = configuration or {}
    asked = SessionWishes(3, configuration, **wishes)  # type: ignore[arg-type]
    master = configuration.get("millrace.master", "local[3]")
    return jvm.fits(all_settings(master, jvm.log_file, asked, "-Xshare:auto"))


def test_most_sessions_get_it(jvm: EarlyJvm) -> None:
    assert fits(jvm)
    assert fits(jvm, {"millrace.master": "local[*]", "spark.sql.shuffle.partitions": "7", "pipeline.name": "mine"})
    assert fits(jvm, computes=True)


@pytest.mark.parametrize(
    "configuration",
    [
        {"millrace.master": "spark://host:7077"},
        {"millrace.master": "local-cluster[2,1,1024]"},
        {"spark.driver.memory": "3g"},
        {"spark.driver.extraJavaOptions": "-Dmine=1"},
        {"env.java.opts.all": "-Dmine=1"},
        {"spark.jars": "mine.jar"},
        {"spark.jars.packages": "org:name:1"},
        {"spark.driver.extraClassPath": "/jars"},
        {"spark.files": "data.csv"},
    ],
    ids=lambda configuration: next(iter(configuration)),
)
def test_sessions_whose_jvm_is_another_do_not(jvm: EarlyJvm, configuration: dict[str, str]) -> None:
    assert not fits(jvm, configuration)


def test_jars_of_a_program_are_on_the_class_path_of_another(jvm: EarlyJvm) -> None:
    assert not fits(jvm, jars=("mine.jar",))


def test_the_environment_of_the_program_reaches_jvm_and_workers(jvm: EarlyJvm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python")  # which Millrace sets itself
    assert fits(jvm)
    monkeypatch.setenv("AWS_REGION", "nowhere")
    assert not jvm.fits(all_settings("local[3]", jvm.log_file, SessionWishes(3), "-Xshare:auto"))


def test_what_no_session_wants_leaves_nothing_behind(jvm: EarlyJvm) -> None:
    settings = all_settings("local[2]", jvm.log_file, SessionWishes(2), "-Xmx3g")
    assert jvm.connect(settings, f"{jvm.jvm.folder}/../mine.log") is None
    assert jvm.jvm.process.poll() is not None
    assert jvm.jvm.daemon.process.wait(60) == 0
    assert not os.path.exists(jvm.jvm.folder)


def test_one_that_has_died_is_not_waited_for(jvm: EarlyJvm) -> None:
    assert fits(jvm)
    settings = all_settings("local[2]", jvm.log_file, SessionWishes(2), "-Xshare:auto")
    assert jvm.jvm.process.stdin is not None
    jvm.jvm.process.stdin.close()
    jvm.jvm.process.wait()
    assert jvm.connect(settings, f"{jvm.jvm.folder}/../mine.log") is None
