"""Keys of security and of high availability: ``security.*``, ``high-availability.*``, ``zookeeper.*``."""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, mapped, works
from millrace.configuration.rules.control import CLUSTER

_NO_LEADER = "a driver that dies is started again by `millrace run`, from the last checkpoint; there is no second one"
_SPARKS_KEYS = "Spark's own secret protects what its processes say to each other; nearest: spark.authenticate.*"

TITLE = "Security and high availability"
RULES = (
    works("security.rest.auth", CLUSTER, "`token`, or `none` for a server that listens on loopback only"),
    mapped("security.kerberos.login.keytab", "spark.kerberos.keytab"),
    mapped("security.kerberos.login.principal", "spark.kerberos.principal"),
    mapped("security.kerberos.access.hadoopFileSystems", "spark.kerberos.access.hadoopFileSystems"),
    mapped("security.kerberos.relogin.period", "spark.kerberos.relogin.period"),
    mapped(
        "security.ssl.internal.enabled",
        "spark.authenticate spark.network.crypto.enabled spark.io.encryption.enabled",
        "Spark's encryption of what its processes send, with a secret of Spark's own",
    ),
    mapped("security.ssl.enabled", "spark.authenticate spark.network.crypto.enabled spark.io.encryption.enabled"),
    ignored("security.ssl.*", _SPARKS_KEYS),
    ignored("blob.service.ssl.enabled taskmanager.data.ssl.enabled pekko.ssl.enabled", _SPARKS_KEYS),
    ignored("security.delegation.*", "nearest: spark.security.credentials.*"),
    ignored("security.kerberos.*", "nearest: spark.kerberos.*, and what the machine's kinit gives"),
    ignored("security.context.* security.module.*", "there is no Java class to load"),
    ignored("high-availability.type", _NO_LEADER, "NONE"),
    ignored("high-availability.*", _NO_LEADER),
    ignored("zookeeper.*", _NO_LEADER),
)
