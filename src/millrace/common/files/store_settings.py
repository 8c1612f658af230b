"""A process's settings for object stores and HDFS: addresses, credentials, users. The driver ships them to the workers.

As in Flink they belong to the process, not to a job: the last configuration that sets any replaces the earlier ones.
"""

from __future__ import annotations

import getpass
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

__all__ = ["current", "default_scheme", "known", "shipped", "take", "use", "user"]


_PREFIXES = ("s3.", "s3a.", "gs.", "fs.", "flink.hadoop.fs.", "flink.hadoop.dfs.", "flink.hadoop.hadoop.security.")
_KEYS = frozenset({"env.hadoop.conf.dir"})
_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "HADOOP_USER_NAME",
)
"""Environment variables of the driver that workers on other machines need; Spark passes them to its executors."""
_OF_HADOOP = (
    "fs.defaultFS",
    "dfs.nameservices",
    "dfs.ha.namenodes.",
    "dfs.namenode.http",
    "dfs.http.policy",
    "hadoop.security.authentication",
)

_current: tuple[tuple[str, str], ...] = ()


def use(configuration: Mapping[str, str]) -> None:
    """Use the store settings of a configuration in this process; a configuration without any changes nothing."""
    global _current
    found = {key: value for key, value in configuration.items() if key.startswith(_PREFIXES) or key in _KEYS}
    if found:
        _current = tuple(sorted(found.items()))


def take(settings: Mapping[str, str]) -> None:
    """Use exactly the settings that the driver has shipped; called in a worker."""
    global _current
    _current = tuple(sorted(settings.items()))


def current() -> tuple[tuple[str, str], ...]:
    """The settings, sorted by name."""
    return _current


def known() -> dict[str, str]:
    """The settings, completed from this process's environment and from Hadoop's files."""
    variables = {name: value for name in _VARIABLES if (value := os.environ.get(name))}
    given = {key.removeprefix("flink.hadoop."): value for key, value in _current}
    folder = given.get("env.hadoop.conf.dir") or os.environ.get("HADOOP_CONF_DIR")
    return {**variables, **(_hadoops_files(folder) if folder else {}), **given}


def shipped() -> dict[str, str]:
    """The settings that the workers of a job get."""
    found = known()
    found.setdefault("HADOOP_USER_NAME", user())
    return found


def user() -> str:
    """The user name for servers that do not authenticate it."""
    try:
        return known().get("HADOOP_USER_NAME") or getpass.getuser()
    except (KeyError, OSError):  # there is no such user on this machine
        return str(os.getuid())


def default_scheme() -> str | None:
    """The file system of paths without a scheme (``fs.default-scheme``); None: this machine."""
    scheme = dict(_current).get("fs.default-scheme", "").rstrip("/")
    return None if not scheme or scheme.startswith("file:") else scheme


def _hadoops_files(folder: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("core-site.xml", "hdfs-site.xml"):
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        try:
            root = ElementTree.parse(path).getroot()
        except ElementTree.ParseError as error:
            raise ValueError(f"{path} is no XML: {error}") from None
        for each in root.iter("property"):
            key, value = each.findtext("name", "").strip(), each.findtext("value", "").strip()
            if key.startswith(_OF_HADOOP):
                found[key] = value
    return found
