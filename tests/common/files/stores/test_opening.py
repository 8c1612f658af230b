"""Which file system a URI opens, with which settings: built, not asked anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

from millrace.common.files import object_stores, store_settings
from millrace.common.files.file_systems import open_file_system
from millrace.common.files.object_stores import makes_folders, shows_whole_files

KEYS = {"s3.access-key": "one", "s3.secret-key": "two"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What pyarrow's file system of S3 is made with."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        object_stores.fs, "S3FileSystem", lambda **options: given.update(options) or fs.LocalFileSystem()
    )
    monkeypatch.setattr(object_stores.fs, "resolve_s3_region", lambda bucket: "eu-of-" + bucket)
    return given


def test_s3_with_keys(made: dict[str, Any]) -> None:
    store_settings.use(KEYS)
    assert open_file_system("s3a://mill/a/b")[1] == "mill/a/b"
    assert (made["access_key"], made["secret_key"], made["region"]) == ("one", "two", "eu-of-mill")
    assert "endpoint_override" not in made


def test_s3_of_ones_own(made: dict[str, Any]) -> None:
    store_settings.use({**KEYS, "s3.endpoint": "store:9000", "fs.s3a.connection.ssl.enabled": "false"})
    open_file_system("s3://mill/a")
    assert (made["endpoint_override"], made["scheme"], made["region"]) == ("store:9000", "http", "us-east-1")
    assert made["force_virtual_addressing"] is False
    store_settings.use({**KEYS, "s3.endpoint": "https://store", "s3.path.style.access": "false"})
    open_file_system("s3://mill/a")
    assert made["force_virtual_addressing"] is True


def test_s3_of_the_environment(made: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "three")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "four")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store")
    open_file_system("s3://mill/of-the-environment")
    assert (made["access_key"], made["secret_key"], made["endpoint_override"]) == ("three", "four", "http://store")


def test_s3_as_somebody_else(made: dict[str, Any]) -> None:
    store_settings.use(
        {"fs.s3a.assumed.role.arn": "arn:role", "fs.s3a.connection.timeout": "3s", "s3.attempts.maximum": "2"}
    )
    open_file_system("s3://mill/a")
    assert (made["role_arn"], made["request_timeout"]) == ("arn:role", 3.0)
    store_settings.use({"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"})
    open_file_system("s3://mill/a")
    assert made["anonymous"] is True


def test_google() -> None:
    store_settings.use({"gs.storage.root.url": "http://127.0.0.1:1", "fs.gs.auth.type": "UNAUTHENTICATED"})
    system, path = open_file_system("gs://mill/a/b")
    assert (system.type_name, path) == ("gcs", "mill/a/b")
    assert shows_whole_files(system)


def test_azure() -> None:
    store_settings.use({"fs.azure.account.key.mill.dfs.core.windows.net": "aGFsbG8="})
    system, path = open_file_system("abfss://box@mill.dfs.core.windows.net/a/b")
    assert (system.type_name, path) == ("abfs", "box/a/b")
    assert shows_whole_files(system)
    with pytest.raises(ValueError, match=r"should be abfs://container@account"):
        open_file_system("abfs://box/a")


class StandIn(MemoryFileSystem):  # type: ignore[misc]
    """fsspec's package for OSS has this shape; kept in memory."""

    protocol = "oss"
    cachable = False
    given: dict[str, Any] = {}

    def __init__(self, **options: Any) -> None:
        StandIn.given = options
        super().__init__()


@pytest.fixture
def oss() -> Iterator[None]:
    known = fsspec.registry.get("oss")
    fsspec.register_implementation("oss", StandIn, clobber=True)
    yield
    if known is not None:
        fsspec.register_implementation("oss", known, clobber=True)


def test_oss(oss: None) -> None:
    words = {"endpoint": "http://oss", "accessKeyId": "one", "accessKeySecret": "two", "securityToken": "three"}
    store_settings.use({f"fs.oss.{key}": value for key, value in words.items()})
    system, _ = open_file_system("oss://mill/a")
    wanted = {"endpoint": "http://oss", "key": "one", "secret": "two", "token": "three", "use_listings_cache": False}
    assert StandIn.given == wanted
    assert shows_whole_files(system) and makes_folders(system)


def test_what_nothing_opens() -> None:
    with pytest.raises(ValueError, match=r"no file system for nothing://a: pyarrow says .*, fsspec says"):
        object_stores.open_with_fsspec("nothing://a", {}, "unknown")
