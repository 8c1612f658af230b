"""What processes know of stores: from configuration, environment and Hadoop's files; shipped with a job."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from millrace.common.configuration import Configuration
from millrace.common.files import store_settings
from millrace.common.files.file_systems import absolute
from millrace.common.files.object_stores import bucket_and_key, options
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.workers.shipping import WorkerSurroundings


def test_a_configuration_without_stores_changes_nothing() -> None:
    store_settings.use({"s3.endpoint": "http://one", "parallelism.default": "3"})
    store_settings.use({"parallelism.default": "4"})
    assert dict(store_settings.current()) == {"s3.endpoint": "http://one"}
    store_settings.use({"fs.s3a.endpoint": "http://two"})
    assert dict(store_settings.current()) == {"fs.s3a.endpoint": "http://two"}


def test_an_environment_makes_its_configuration_known() -> None:
    given = Configuration.from_dict({"s3.access-key": "one"})
    StreamExecutionEnvironment.get_execution_environment(given)
    assert dict(store_settings.current()) == {"s3.access-key": "one"}
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.configure(Configuration.from_dict({"s3.access-key": "two"}))
    assert dict(store_settings.current())["s3.access-key"] == "two"


def test_workers_are_told_and_no_text_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-of-the-environment")
    store_settings.use({"s3.secret-key": "hidden-of-the-configuration"})
    around = WorkerSurroundings(stores=store_settings.shipped())
    assert "hidden" not in repr(around)
    store_settings.take({})
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    pickle.loads(pickle.dumps(around)).enter("job")
    assert store_settings.all_settings()["s3.secret-key"] == "hidden-of-the-configuration"
    assert store_settings.all_settings()["AWS_SECRET_ACCESS_KEY"] == "hidden-of-the-environment"


def test_the_user_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "miller")
    shipped = store_settings.shipped()
    monkeypatch.setenv("HADOOP_USER_NAME", "executor")
    store_settings.take(shipped)
    assert store_settings.user() == "miller"


def test_hadoops_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = "<property><name>fs.defaultFS</name><value>hdfs://mill</value></property>"
    (tmp_path / "core-site.xml").write_text(f"<configuration>{core}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert store_settings.all_settings()["fs.defaultFS"] == "hdfs://mill"
    store_settings.use({"flink.hadoop.fs.defaultFS": "hdfs://other"})
    assert store_settings.all_settings()["fs.defaultFS"] == "hdfs://other"
    (tmp_path / "hdfs-site.xml").write_text("<configuration>")
    with pytest.raises(ValueError, match=r"hdfs-site\.xml is no XML"):
        store_settings.all_settings()


def test_a_default_scheme() -> None:
    assert absolute("/folder") == "/folder"
    store_settings.use({"fs.default-scheme": "hdfs://namenode:8020/"})
    assert absolute("/folder") == "hdfs://namenode:8020/folder"
    assert absolute("file:/folder") == "/folder"
    assert absolute("s3://bucket/folder") == "s3://bucket/folder"
    store_settings.use({"fs.default-scheme": "file:///"})
    assert absolute("/folder") == "/folder"


def test_keys_of_s3_in_every_spelling() -> None:
    given = {"s3.access-key": "one", "fs.s3a.secret.key": "two", "s3a.path-style-access": "false", "gs.x": "no"}
    assert options(given, "mill") == {"access.key": "one", "secret.key": "two", "path.style.access": "false"}
    assert options({**given, "fs.s3a.bucket.mill.access.key": "own"}, "mill")["access.key"] == "own"
    assert options({**given, "fs.s3a.bucket.mill.access.key": "own"}, "other")["access.key"] == "one"


def test_buckets() -> None:
    assert bucket_and_key("s3a://mill/a/b/") == ("mill", "a/b")
    assert bucket_and_key("s3://mill") == ("mill", "")
    with pytest.raises(ValueError, match="names no bucket"):
        bucket_and_key("s3:///a")
