"""What Spark's launcher is given. Without a JVM."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from millrace.spark.sessions.settings import SessionWishes, all_settings, secret_settings, settings_in_file
from millrace.spark.standalone_daemons import SECRET

CLUSTER = "local-cluster[2,1,512]"


def settings(master: str, tmp_path: Path, **configuration: str) -> dict[str, str]:
    given = {f"spark.{key.replace('_', '.')}": value for key, value in configuration.items()}
    return all_settings(master, str(tmp_path / "x.log"), SessionWishes(2, given), "")


@pytest.mark.parametrize(("master", "asks"), [("local[2]", True), (CLUSTER, True), ("yarn", False)])
def test_sessions_on_this_machine_ask_for_a_secret_and_have_no_page(master: str, asks: bool, tmp_path: Path) -> None:
    found = settings(master, tmp_path)
    assert found.get("spark.authenticate") == ("true" if asks else None)
    assert found.get("spark.driver.host") == ("127.0.0.1" if asks else None)
    assert (found["spark.ui.enabled"], found["spark.ui.killEnabled"]) == ("false", "false")
    said = settings(master, tmp_path, ui_enabled="true", authenticate="false")
    assert (said["spark.ui.enabled"], said["spark.authenticate"]) == ("true", "false"), "the user's word counts more"


def test_only_several_processes_need_a_secret_of_ours(tmp_path: Path) -> None:
    for master in ("local[2]", "yarn", "spark://host:7077"):
        assert secret_settings(master, settings(master, tmp_path)) == {}
    first, other = (secret_settings(CLUSTER, settings(CLUSTER, tmp_path)) for _ in range(2))
    assert first[SECRET] != other[SECRET]
    assert first["spark.ui.filters"] == "org.apache.spark.ui.JWSFilter"
    mine = settings(CLUSTER, tmp_path, authenticate_secret="mine", ui_enabled="true")
    assert secret_settings(CLUSTER, mine) == {}


def test_settings_are_in_a_file_of_this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with settings_in_file({SECRET: "word", "spark.x": " a\\b\nc", "spark.hadoop.a:b": "="}):
        option, path, *others = os.environ["PYSPARK_SUBMIT_ARGS"].split()
        assert (option, others) == ("--properties-file", ["--load-spark-defaults", "pyspark-shell"])
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        text = Path(path).read_text()
        assert text == f"{SECRET} word\nspark.x \\ a\\\\b\\nc\nspark.hadoop.a\\:b =\n"
    assert not os.path.exists(path)
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ


def test_what_the_environment_says_already_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings come after those of a file that is named there: Spark reads one only."""
    mine = tmp_path / "mine.conf"
    mine.write_text("spark.mine yes")
    before = f"--conf spark.a=b --properties-file {mine} --load-spark-defaults pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", before)
    with settings_in_file({"spark.ours": "yes"}):
        _, path, *others = os.environ["PYSPARK_SUBMIT_ARGS"].split()
        assert others == ["--conf", "spark.a=b", "--load-spark-defaults", "pyspark-shell"]
        assert Path(path).read_text() == "spark.mine yes\nspark.ours yes\n"
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == before
