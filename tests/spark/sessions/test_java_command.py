"""What is remembered of Spark's launcher, and when it holds. Without a JVM: a script answers as the launcher does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millrace.spark import java as java_command
from millrace.spark.java import JavaInfo, remember, remembered

LAUNCHER = """#!/bin/sh
# Spark's launcher prints its words with a zero behind each, after an empty one and a line end.
printf 'a warning\\n\\0\\n'
set -- -cp 'jars/*' -Xmx137m -Dmillrace.options=here --add-opens=x org.apache.spark.deploy.SparkSubmit --conf a=b
for word in "$0" "$@"
do printf '%s\\0' "$word"; done
"""


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A home of Spark, a Java that answers, and a cache, all made up."""
    home, java = tmp_path / "pyspark", tmp_path / "java" / "bin" / "java"
    (home / "jars").mkdir(parents=True)
    (home / "version.py").write_text("")
    java.parent.mkdir(parents=True)
    java.write_text(LAUNCHER)
    java.chmod(0o755)
    (tmp_path / "classes.jsa").write_text("")
    monkeypatch.setattr(java_command, "spark_home", lambda: str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    remember(JavaInfo(str(java), 17), str(tmp_path / "classes.jsa"))
    return {"JAVA_HOME": str(tmp_path / "java"), "HOME": "/home/me"}


def test_it_starts_what_the_launcher_would(surroundings: dict[str, str]) -> None:
    command = remembered(surroundings)
    assert command is not None
    java = os.path.join(surroundings["JAVA_HOME"], "bin", "java")
    assert command.java == JavaInfo(java, 17)
    assert command.line("768m", ["-Da=1", "-Db=2"]) == [
        *(java, "-cp", "jars/*", "-Xmx768m", "-Da=1", "-Db=2", "--add-opens=x"),
        "org.apache.spark.api.python.PythonGatewayServer",
    ]


@pytest.mark.parametrize("variable", ["SPARK_HOME", "PYSPARK_SUBMIT_ARGS", "HADOOP_CONF_DIR", "SPARK_SUBMIT_OPTS"])
def test_variables_that_sparks_scripts_read_are_left_to_them(surroundings: dict[str, str], variable: str) -> None:
    assert remembered({**surroundings, variable: "x"}) is None


def test_variables_that_only_the_session_reads_do_not_matter(surroundings: dict[str, str]) -> None:
    assert remembered({**surroundings, "PYSPARK_PYTHON": "python3", "SPARK_LOCAL_IP": "127.0.0.1"}) is not None


@pytest.mark.parametrize("changed", ["java/bin/java", "pyspark/version.py", "pyspark/jars/new.jar"])
def test_another_java_or_pyspark_is_asked_again(surroundings: dict[str, str], changed: str, tmp_path: Path) -> None:
    file = tmp_path / changed
    file.touch()
    for path in (file, file.parent):
        os.utime(path, ns=(1, 1))
    assert remembered(surroundings) is None


def test_sparks_own_files_of_settings_count(surroundings: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "pyspark" / "conf").mkdir()
    assert remembered(surroundings) is not None
    (tmp_path / "pyspark" / "conf" / "spark-defaults.conf").write_text("spark.driver.memory 2g")
    assert remembered(surroundings) is None


def test_without_the_archive_or_the_cache_there_is_nothing(surroundings: dict[str, str], tmp_path: Path) -> None:
    cached = next((tmp_path / "cache").rglob("java-command-*.json"))
    assert cached.stat().st_mode & 0o777 == 0o600
    (tmp_path / "classes.jsa").unlink()
    assert remembered(surroundings) is None
    (tmp_path / "classes.jsa").touch()
    cached.write_text("{not ours")
    assert remembered(surroundings) is None
    cached.unlink()
    assert remembered(surroundings) is None


def test_an_answer_that_is_not_understood_is_not_kept(surroundings: dict[str, str], tmp_path: Path) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.write_text("#!/bin/sh\necho usage\n")
    next((tmp_path / "cache").rglob("java-command-*.json")).unlink()
    remember(JavaInfo(str(java), 17), str(tmp_path / "classes.jsa"))
    assert remembered(surroundings) is None
