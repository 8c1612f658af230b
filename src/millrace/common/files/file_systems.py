"""Opens the file system behind a path or URI; behind ``hdfs://``, the WebHDFS servers that a name stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pyarrow import fs

from millrace.common.files import object_stores, store_settings
from millrace.common.files.object_stores import AZURE, GOOGLE, open_azure, open_google, open_with_fsspec
from millrace.common.files.store_settings import user

# HDFS

HDFS_SCHEMES = frozenset({"hdfs", "webhdfs", "swebhdfs"})
_URI = re.compile(r"^(\w+)://(?:([^/@]*)@)?([^/:]*)(?::(\d+))?(/[^?]*)?$")
_HTTP, _HTTPS = 9870, 9871
"""default ports of a NameNode's web pages, which also serve WebHDFS"""


def open_hdfs(uri: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    """Open HDFS for a URI; returns the file system and the path inside it.

    :raises ValueError: the URI names no server, or httpx is not installed.
    """
    try:
        from millrace.common.files.webhdfs import WebHdfs
    except ImportError as error:
        needed = "WebHDFS needs httpx (pip install 'millrace-streaming[hdfs]')"
        raise ValueError(f"no file system for {uri}: {needed}") from error
    match = _URI.match(uri)
    if match is None:
        raise ValueError(f"{uri} is no address of HDFS: hdfs://namenode:8020/folder, or hdfs://nameservice/folder")
    kerberos = settings.get("hadoop.security.authentication", "simple").lower() == "kerberos"
    handler = WebHdfs(tuple(addresses(uri, settings)), match[2] or user(), kerberos)
    return fs.PyFileSystem(handler), match[5] or "/"


def addresses(uri: str, settings: Mapping[str, str]) -> list[str]:
    """The servers behind a URI; for a nameservice all of its NameNodes.

    WebHDFS has another port than ``hdfs://host:port`` names: Hadoop's files say which (``dfs.namenode.http-address``),
    else it is the usual one.
    """
    match = _URI.match(uri)
    assert match is not None
    scheme, host, port = match[1], match[3], match[4]
    if scheme == "hdfs" and not host:
        default = settings.get("fs.defaultFS", "")
        if not default.startswith("hdfs://") or default.rstrip("/") == "hdfs:":
            raise ValueError(f"{uri} names no NameNode, and no fs.defaultFS does (core-site.xml in HADOOP_CONF_DIR)")
        return addresses(default, settings)
    secure = scheme == "swebhdfs" or settings.get("dfs.http.policy", "") == "HTTPS_ONLY"
    kind, usual = ("https", _HTTPS) if secure else ("http", _HTTP)
    if scheme != "hdfs":
        return [f"{kind}://{host}:{port or usual}"]
    key = f"dfs.namenode.{kind}-address"
    if nodes := settings.get(f"dfs.ha.namenodes.{host}"):
        named = [settings.get(f"{key}.{host}.{node.strip()}") for node in nodes.split(",")]
        if None in named:
            raise ValueError(f"{uri}: {key}.{host}.<namenode> is missing in hdfs-site.xml")
        return [f"{kind}://{each}" for each in named]
    named_one = settings.get(f"{key}.{host}") or settings.get(key)
    if named_one is None:
        return [f"{kind}://{host}:{usual}"]
    at, _, given = named_one.rpartition(":")
    # Servers listen on 0.0.0.0 and are reached by their name.
    return [f"{kind}://{host if at in ('', '0.0.0.0') else at}:{given}"]


# All schemes

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*)://")


def absolute(path: str | os.PathLike[str]) -> str:
    """The path in a form that is the same in every process: URIs unchanged, local paths absolute.

    One that begins with ``/`` leads where ``fs.default-scheme`` says.
    """
    text = _without_file(os.fspath(path))
    scheme = store_settings.default_scheme()
    if scheme is not None and text.startswith("/") and not os.fspath(path).startswith("file:"):
        return f"{scheme}{text}"
    return _absolute(text)


def _without_file(text: str) -> str:
    if text.startswith("file:") and not text.startswith("file://"):
        text = text[len("file:") :]
    if not text:
        raise ValueError("a path must not be empty")
    return text


def _absolute(text: str) -> str:
    return text if _SCHEME.match(text) else os.path.abspath(os.path.expanduser(text))


class Location:
    """A path inside a file system.

    ``root`` names the file system: the URI that it was opened from, "" for local files.
    """

    __slots__ = ("path", "root")

    def __init__(self, root: str, path: str) -> None:
        self.root = root
        self.path = path

    def file_system(self) -> Any:
        """The ``pyarrow.fs.FileSystem``, opened once a process."""
        return open_file_system(self.root)[0]


def locate(path: str | os.PathLike[str]) -> Location:
    """The location that a path or URI names.

    :raises ValueError: if nothing here opens the URI's scheme.
    """
    uri = _absolute(_without_file(os.fspath(path)))
    match = _SCHEME.match(uri)
    if match is None:
        return Location("", uri)
    if match.group(1) == "file":
        if not uri.startswith("file:///"):
            raise ValueError(f"{uri} names a machine; a path of this one has three slashes: file:///{uri[7:]}")
        return Location("", fs.FileSystem.from_uri(uri)[1])
    return Location(uri, open_file_system(uri)[1])


def open_file_system(root: str) -> tuple[Any, str]:
    """The file system behind a URI ("" for local files) and the path inside it that the URI names."""
    return _opened(root, store_settings.current())


@lru_cache(maxsize=256)
def _opened(root: str, under: tuple[tuple[str, str], ...]) -> tuple[Any, str]:
    """Open a file system, once in a process for the same settings, which are an argument for that reason."""
    if not root:
        return fs.LocalFileSystem(), ""
    scheme, known = root.partition("://")[0].lower(), store_settings.all_settings()
    if scheme in object_stores.S3_SCHEMES:
        return object_stores.open_s3(root, known)
    if scheme in HDFS_SCHEMES:
        return open_hdfs(root, known)
    if scheme in GOOGLE:
        return open_google(root, known)
    if scheme in AZURE:
        return open_azure(root, known)
    try:
        opened: tuple[Any, str] = fs.FileSystem.from_uri(root)
        return opened
    except (ValueError, NotImplementedError) as unknown:
        return open_with_fsspec(root, known, str(unknown))
