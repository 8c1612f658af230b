"""What a cluster is started with: the configuration files, what the command line says, and the Spark under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.cluster.standalone.layout import Hosts

MASTER, SPARK_MASTER = "millrace.master", "spark.master"
PORT, BIND_PORT = "rest.port", "rest.bind-port"


@dataclass(frozen=True)
class Wanted:
    """What was asked for."""

    configuration: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    """the part of it that only the configuration files say"""
    hosts: Hosts | None = None
    """machines for a Spark of its own"""


def wanted(properties: Mapping[str, str], master: str | None, workers: int | None) -> Wanted:
    """What options and files ask for; options count more.

    :raises ValueError: a setting that is wrong, or one that another rules out.
    """
    from millrace.cluster.standalone.layout import find_hosts
    from millrace.configuration.files import configuration_directory, file_settings
    from millrace.configuration.registry import with_new_names
    from millrace.configuration.telling import tell_about

    tell_about(dict(properties))
    given = with_new_names(properties)
    files = file_settings()
    said = master or given.get(MASTER) or given.get(SPARK_MASTER)
    if said is not None and workers is not None:
        raise ValueError(f"the cluster is to run on {said}: that has workers of its own (leave --workers out)")
    named = said or (None if workers is not None else files.get(MASTER) or files.get(SPARK_MASTER))
    configuration: dict[str, str] = {**files, **given}
    for key in (MASTER, SPARK_MASTER):
        configuration.pop(key, None)
    directory, sure = configuration_directory()
    hosts = None
    if named is None:
        hosts = find_hosts(directory if sure or files else None, workers)
    else:
        configuration[MASTER] = named
    if hosts is not None and hosts.master.host.here and hosts.master.port is not None and PORT not in given:
        # As Flink's script hands it to its job manager.
        binds = configuration.get(BIND_PORT)
        configuration |= {PORT: str(hosts.master.port), BIND_PORT: str(hosts.master.port)}
        if binds is not None and binds != files.get(PORT):
            configuration[BIND_PORT] = binds  # that was said by itself
    return Wanted(configuration, {key: value for key, value in files.items() if key not in given}, hosts)
