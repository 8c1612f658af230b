"""Settings of object stores and HDFS: addresses, credentials, users. They are a value of the job that needs them.

File systems are opened far below the job, by sources, sinks and checkpoints, so the value is in a context variable: it
is set where the job is submitted, and the threads of the job (``JobThread``, ``JobPool``) take it over, so that two
jobs of one process may have two keys for one bucket. The driver ships it to the workers. What has no job (the command,
a program that is being written) uses the settings of the process: those of its configuration files and options.
"""

from __future__ import annotations

import getpass
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "Stores",
    "current",
    "default_scheme",
    "all_settings",
    "shipped",
    "stores_of",
    "take",
    "use",
    "use_in_process",
    "user",
    "within",
]

Stores = tuple[tuple[str, str], ...]
"""names and values of settings, in the order of the names"""

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

_of_job: ContextVar[Stores | None] = ContextVar("millrace-stores", default=None)
_of_process: Stores = ()
"""for threads without a job"""


def stores_of(configuration: Mapping[str, str]) -> Stores:
    """The settings of stores in a configuration; those that are in use here if it has none."""
    return _named(configuration) or current()


def _named(configuration: Mapping[str, str]) -> Stores:
    found = {key: value for key, value in configuration.items() if key.startswith(_PREFIXES) or key in _KEYS}
    return tuple(sorted(found.items()))


@contextmanager
def within(stores: Stores) -> Iterator[None]:
    """Open file systems with these settings, on this thread and those of the job that begin here."""
    token = _of_job.set(stores)
    try:
        yield
    finally:
        _of_job.reset(token)


def use(configuration: Mapping[str, str]) -> None:
    """Let this thread open file systems with what a configuration says; one that says nothing changes nothing."""
    _of_job.set(stores_of(configuration))


def use_in_process(configuration: Mapping[str, str]) -> None:
    """Let all threads without settings of their own use what a configuration says; one that says nothing changes
    nothing."""
    global _of_process
    _of_process = _named(configuration) or _of_process


def take(settings: Mapping[str, str]) -> None:
    """In a worker, which serves one job at a time: exactly what the driver has shipped."""
    global _of_process
    _of_process = tuple(sorted(settings.items()))
    _of_job.set(_of_process)


def current() -> Stores:
    """The settings of the job at hand, else those of the process."""
    found = _of_job.get()
    return _of_process if found is None else found


def all_settings() -> dict[str, str]:
    """The settings, completed from this process's environment and from Hadoop's files."""
    variables = {name: value for name in _VARIABLES if (value := os.environ.get(name))}
    given = {key.removeprefix("flink.hadoop."): value for key, value in current()}
    folder = given.get("env.hadoop.conf.dir") or os.environ.get("HADOOP_CONF_DIR")
    return {**variables, **(_hadoops_files(folder) if folder else {}), **given}


def shipped() -> dict[str, str]:
    """The settings that the workers of a job get."""
    found = all_settings()
    found.setdefault("HADOOP_USER_NAME", user())
    return found


def user() -> str:
    """The user name for servers that do not authenticate it."""
    try:
        return all_settings().get("HADOOP_USER_NAME") or getpass.getuser()
    except (KeyError, OSError):  # there is no such user on this machine
        return str(os.getuid())


def default_scheme() -> str | None:
    """Where paths without a scheme lead (``fs.default-scheme``), None for this machine."""
    scheme = dict(current()).get("fs.default-scheme", "").rstrip("/")
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
