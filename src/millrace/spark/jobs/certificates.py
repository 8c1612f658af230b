"""The certificate of a job whose processes encrypt their connections to each other.

It is made where Spark's own connections are encrypted, by the ``keytool`` of the Java that Spark runs on: Python's own
modules can't make one, and nothing has to be installed for it.
"""

from __future__ import annotations

import os
import secrets
import ssl
import subprocess
import tempfile
from base64 import encodebytes
from typing import Any

from pyspark import SparkContext

from millrace.spark.sessions.settings import one_process
from millrace.spark.workers.encryption import Certificate

ENCRYPTING = ("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption", "spark.ssl.rpc.enabled")
"""Settings that let Spark encrypt what its processes send to each other. ``spark.ssl.enabled`` does not: it is for web
pages, and RPC doesn't inherit it."""
SECONDS = 60.0
"""Seconds that ``keytool`` may take; usually it takes less than one."""
_ALIAS = "job"
_PASSWORD = "MILLRACE_KEYSTORE_PASSWORD"
"""environment variable, since every user of a machine sees command lines"""


class CertificateError(RuntimeError):
    """The connections of a job have to be encrypted, and no certificate could be made for it."""


def job_certificate(context: SparkContext) -> Certificate | None:
    """Make a certificate for a job; None: Spark doesn't encrypt, or runs in one process.

    :raises CertificateError: Java's ``keytool`` is missing or has failed.
    """
    settings = context.getConf()
    if one_process(context.master):
        return None
    for key in ENCRYPTING:
        if (settings.get(key) or "false").strip().lower() == "true":
            return _made(context, key)
    return None


def _made(context: SparkContext, setting: str) -> Certificate:
    """Let ``keytool`` make a key store, and Spark's JVM read it.

    :param setting: the setting of Spark that is the reason, for the error.
    """
    jvm: Any = context._jvm
    password = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory(prefix="millrace-") as folder:
        store = os.path.join(folder, "store")
        try:
            _make_store(os.path.join(jvm.java.lang.System.getProperty("java.home"), "bin", "keytool"), store, password)
        except (OSError, subprocess.SubprocessError) as error:
            output = getattr(error, "output", None) or ""
            raise CertificateError(
                f"{setting} is true, so what the processes of a job send to each other is to be encrypted, and the "
                f"certificate for that could not be made: {error} {output}".rstrip()
            ) from None
        letters = jvm.java.nio.CharBuffer.allocate(len(password)).put(password).array()
        keys = jvm.java.security.KeyStore.getInstance("PKCS12")
        stream = jvm.java.io.FileInputStream(store)
        try:
            keys.load(stream, letters)
        finally:
            stream.close()
        key = _encoded(context, "java.security.Key", keys.getKey(_ALIAS, letters))
        certificate = _encoded(context, "java.security.cert.Certificate", keys.getCertificate(_ALIAS))
    body = encodebytes(key).decode()
    return Certificate(
        ssl.DER_cert_to_PEM_cert(certificate), f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n"
    )


def _make_store(keytool: str, store: str, password: str) -> None:
    # It is valid from a week ago, so that the clocks of machines may differ, and for longer than any job runs.
    subprocess.run(
        [
            *(keytool, "-genkeypair", "-alias", _ALIAS, "-keyalg", "EC", "-groupname", "secp256r1"),
            *("-dname", "CN=millrace", "-startdate", "-7d", "-validity", "36500"),
            *("-storetype", "PKCS12", "-keystore", store, "-storepass:env", _PASSWORD),
            "-J-XX:TieredStopAtLevel=1",
        ],
        env={**os.environ, _PASSWORD: password},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=True,
    )


def _encoded(context: SparkContext, kind: str, found: Any) -> bytes:
    """The DER bytes of a key or certificate in the JVM. Its class is one that Java hides, so the method is looked up in
    the public class ``kind``."""
    jvm, gateway = context._jvm, context._gateway
    assert jvm is not None and gateway is not None
    lang: Any = jvm.java.lang
    method = lang.Class.forName(kind).getMethod("getEncoded", gateway.new_array(lang.Class, 0))
    return bytes(method.invoke(found, gateway.new_array(lang.Object, 0)))
