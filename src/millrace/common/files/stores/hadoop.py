"""``hdfs://``: which WebHDFS servers stand behind a name, and the file system that asks them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyarrow import fs

from millrace.common.files.stores.settings import user

__all__ = ["SCHEMES", "addresses", "open_hdfs"]

SCHEMES = frozenset({"hdfs", "webhdfs", "swebhdfs"})
_URI = re.compile(r"^(\w+)://(?:([^/@]*)@)?([^/:]*)(?::(\d+))?(/[^?]*)?$")
_HTTP, _HTTPS = 9870, 9871
"""the ports of a NameNode's pages, where WebHDFS is, too"""


def open_hdfs(uri: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    """The file system behind a URI, and the path inside it.

    :raises ValueError: the URI names nobody, or httpx is not installed.
    """
    try:
        from millrace.common.files.stores.webhdfs import WebHdfs
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
    """The servers behind a URI: of a nameservice all its NameNodes.

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
