"""Which cluster takes the jobs of a SQL session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from millrace.cluster.remote.addresses import named_in, same_address

if TYPE_CHECKING:
    from millrace.cluster.remote.handing_over import Cluster

TARGET = "execution.target"
LOCAL, REMOTE = "local", "remote"
_MASTERS = ("spark.master", "millrace.master")


def asked_for(settings: Mapping[str, str]) -> Cluster | None:
    """The cluster that settings ask for; None: they do not.

    :raises NoClusterError: it is not there.
    """
    if settings.get(TARGET) != REMOTE:
        return None
    from millrace.cluster.remote.handing_over import cluster_named

    return cluster_named(settings)


def nearest(settings: Mapping[str, str]) -> Cluster | None:
    """The cluster that settings ask for, else the one that runs; None: none does, or they want a Spark of their own.

    :raises NoClusterError: the one that they ask for is not there, or several run.
    """
    if settings.get(TARGET) == LOCAL:
        return None
    from millrace.cluster.remote.handing_over import NoClusterError, cluster_named, clusters

    if settings.get(TARGET) == REMOTE:
        return cluster_named(settings)
    if any(key in settings for key in _MASTERS):
        return None
    found = clusters()
    if len(found) > 1:
        shown = ", ".join(each.url for each in found)
        named = named_in(settings)
        meant = [each for each in found if named is not None and same_address(named, each.url)]
        if "rest.port" not in settings or not meant:
            raise NoClusterError(
                f"several clusters run ({shown}): give -m with the address of one, or {TARGET}={LOCAL} for none of them"
            )
        return meant[0]
    return found[0] if found else None
