"""S3, and whatever speaks like it: pyarrow's file system, made as Flink's and Hadoop's keys say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyarrow import fs

__all__ = ["SCHEMES", "bucket_and_key", "client", "open_s3", "options"]

SCHEMES = frozenset({"s3", "s3a", "s3n", "s3p"})
"""as Flink's and Hadoop's file systems are called"""
ATTEMPTS = 7
"""of one request, with growing pauses: about 25 s in all"""
CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 60.0
_URI = re.compile(r"^[A-Za-z0-9]+://([^/?#]*)/?([^?]*)")
_PREFIXES = ("s3.", "s3a.", "fs.s3a.")
_ANONYMOUS = "AnonymousAWSCredentialsProvider"


def options(settings: Mapping[str, str], bucket: str) -> dict[str, str]:
    """What settings say about a bucket, under Hadoop's names without their prefix (``access.key``)."""
    found: dict[str, str] = {}
    for prefix in (*_PREFIXES, f"fs.s3a.bucket.{bucket}."):
        for key, value in settings.items():
            if key.startswith(prefix):
                found[key.removeprefix(prefix).replace("-", ".")] = value.strip()
    return found


def bucket_and_key(uri: str) -> tuple[str, str]:
    """The parts of ``s3://bucket/key``. :raises ValueError: there is no bucket."""
    match = _URI.match(uri)
    if match is None or not match[1]:
        raise ValueError(f"{uri} names no bucket: s3://bucket/folder")
    return match[1], match[2].rstrip("/")


def open_s3(uri: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    """The file system of a bucket, and the path inside it."""
    bucket, key = bucket_and_key(uri)
    if "?" in uri or "@" in bucket:  # what the URI itself says, in pyarrow's words
        opened: tuple[Any, str] = fs.FileSystem.from_uri(re.sub(r"^\w+", "s3", uri))
        return opened
    given = options(settings, bucket)
    wanted: dict[str, Any] = {
        "connect_timeout": _seconds(given.get("connection.establish.timeout"), CONNECT_SECONDS),
        "request_timeout": _seconds(given.get("connection.timeout"), REQUEST_SECONDS),
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=int(given.get("attempts.maximum", ATTEMPTS))),
        # A small file is one request instead of three.
        "allow_delayed_open": True,
    }
    access, secret, token = _credentials(given, settings)
    if access:
        wanted |= {"access_key": access, "secret_key": secret, "session_token": token}
    elif _ANONYMOUS in given.get("aws.credentials.provider", ""):
        wanted["anonymous"] = True
    elif role := given.get("assumed.role.arn"):
        wanted |= {"role_arn": role, "session_name": given.get("assumed.role.session.name", "millrace")}
    endpoint = _endpoint(given, settings)
    if endpoint:
        wanted["endpoint_override"] = endpoint
        if "://" not in endpoint:
            wanted["scheme"] = "http" if given.get("connection.ssl.enabled", "true").lower() == "false" else "https"
        # Flink's default; here only for who says so, since most servers of one's own want the other way.
        wanted["force_virtual_addressing"] = given.get("path.style.access", "true").lower() == "false"
    region = _region(given, settings) or (None if endpoint is None else "us-east-1")
    wanted["region"] = region or _found_region(bucket)
    if host := given.get("proxy.host"):
        wanted["proxy_options"] = _proxy(host, given)
    return fs.S3FileSystem(**wanted), f"{bucket}/{key}" if key else bucket


def client(uri: str, settings: Mapping[str, str]) -> Any:
    """boto3's client for a bucket: for the few things that pyarrow does not ask for. :raises ImportError: no boto3."""
    import boto3
    from botocore.config import Config

    given = options(settings, bucket_and_key(uri)[0])
    access, secret, token = _credentials(given, settings)
    endpoint = _endpoint(given, settings)
    if endpoint is not None and "://" not in endpoint:
        plain = given.get("connection.ssl.enabled", "true").lower() == "false"
        endpoint = f"{'http' if plain else 'https'}://{endpoint}"
    style = "path" if endpoint and given.get("path.style.access", "true").lower() != "false" else "auto"
    how = Config(
        connect_timeout=_seconds(given.get("connection.establish.timeout"), CONNECT_SECONDS),
        read_timeout=_seconds(given.get("connection.timeout"), REQUEST_SECONDS),
        retries={"max_attempts": int(given.get("attempts.maximum", ATTEMPTS)), "mode": "standard"},
        s3={"addressing_style": style},
    )
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        aws_session_token=token,
        region_name=_region(given, settings) or ("us-east-1" if endpoint else None),
        config=how,
    )


def _credentials(given: Mapping[str, str], settings: Mapping[str, str]) -> tuple[str | None, str | None, str | None]:
    if given.get("access.key"):
        return given["access.key"], given.get("secret.key"), given.get("session.token")
    return tuple(  # type: ignore[return-value]
        settings.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    )


def _endpoint(given: Mapping[str, str], settings: Mapping[str, str]) -> str | None:
    return given.get("endpoint") or settings.get("AWS_ENDPOINT_URL_S3") or settings.get("AWS_ENDPOINT_URL") or None


def _region(given: Mapping[str, str], settings: Mapping[str, str]) -> str | None:
    named = given.get("endpoint.region") or given.get("region")
    return named or settings.get("AWS_REGION") or settings.get("AWS_DEFAULT_REGION")


def _found_region(bucket: str) -> str | None:
    try:
        found: str = fs.resolve_s3_region(bucket)
        return found
    except OSError:
        return None  # whoever asks for a file hears what is wrong


def _seconds(value: str | None, default: float) -> float:
    """Hadoop's times: milliseconds unless they have a unit."""
    match = re.fullmatch(r"(\d+)\s*(ms|s|m|h)?", value or "")
    if match is None:
        return default
    return int(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}[match[2] or "ms"]


def _proxy(host: str, given: Mapping[str, str]) -> dict[str, Any]:
    scheme = "https" if given.get("proxy.ssl.enabled", "").lower() == "true" else "http"
    found: dict[str, Any] = {"scheme": scheme, "host": host, "port": int(given.get("proxy.port", "80"))}
    if "proxy.username" in given:
        found |= {"username": given["proxy.username"], "password": given.get("proxy.password", "")}
    return found
