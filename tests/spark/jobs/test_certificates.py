"""Certificates of jobs, made by Java's ``keytool`` where Spark encrypts its connections."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from millrace.spark.jobs.certificates import ENCRYPTING, CertificateError, job_certificate
from millrace.spark.workers.encryption import encrypted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CLUSTER = "spark://there:7077"


def context(spark: SparkSession, master: str = CLUSTER, **settings: str) -> Any:
    """A context like that of the session, with another master and with other settings."""
    ours: Any = spark.sparkContext
    return SimpleNamespace(
        master=master,
        getConf=lambda: settings,
        _jvm=ours._jvm,
        _gateway=ours._gateway,
    )


def test_both_ends_take_it_and_it_has_its_key(spark: SparkSession) -> None:
    tls = job_certificate(context(spark, **dict.fromkeys(ENCRYPTING, "true")))
    assert tls is not None
    made = x509.load_pem_x509_certificate(tls.certificate.encode())
    key: Any = load_pem_private_key(tls.key.encode(), None)
    assert key.public_key() == made.public_key()
    near, far = socket.socketpair()
    ends: list[socket.socket] = []
    thread = threading.Thread(target=lambda: ends.append(encrypted(far, tls, server=True)))
    thread.start()
    with encrypted(near, tls, server=False) as link:
        thread.join()
        link.sendall(b"hello")
        assert ends[0].recv(5) == b"hello"
        ends[0].close()


def test_each_job_has_its_own(spark: SparkSession) -> None:
    one, other = (job_certificate(context(spark, **{"spark.ssl.rpc.enabled": " TRUE"})) for _ in range(2))
    assert one is not None
    assert other is not None
    assert one.key != other.key


@pytest.mark.parametrize(
    ("master", "settings"),
    [
        (CLUSTER, {}),
        (CLUSTER, dict.fromkeys(ENCRYPTING, "false")),
        (CLUSTER, {"spark.ssl.enabled": "true"}),
        ("local[2]", dict.fromkeys(ENCRYPTING, "true")),
    ],
)
def test_there_is_none_where_spark_encrypts_nothing(spark: SparkSession, master: str, settings: dict[str, str]) -> None:
    assert job_certificate(context(spark, master, **settings)) is None


@pytest.mark.parametrize("setting", ENCRYPTING)
def test_a_java_without_keytool_is_named_with_the_setting(spark: SparkSession, setting: str, tmp_path: Path) -> None:
    there = context(spark, **{setting: "true"})
    there._jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=System(str(tmp_path)))))
    text = rf"^{setting} is true, so .* to be encrypted, and the certificate .* No such file .*{tmp_path}/bin/keytool"
    with pytest.raises(CertificateError, match=text):
        job_certificate(there)


class System:
    """Java's, of an installation elsewhere."""

    def __init__(self, home: str) -> None:
        self._home = home

    def getProperty(self, name: str) -> str:
        return {"java.home": self._home}[name]
