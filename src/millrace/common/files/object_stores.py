"""File systems of object stores: S3, Google's and Azure's by pyarrow, all others by fsspec. Their opening, their
differences from a disk, atomic creation of a file, and explanations of their errors."""

from __future__ import annotations

import contextlib
import datetime
import logging
import re
import uuid
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pyarrow import fs

from millrace.util.secrets import mask_text
from millrace.util.system import no_room

# Differences of file systems

_OBJECT_STORES = ("S3FileSystem", "GcsFileSystem", "AzureFileSystem")
_OF_FSSPEC = frozenset({"s3", "s3a", "gs", "gcs", "oss", "abfs", "az", "adl", "obs", "cos", "cosn"})


def is_local(file_system: Any) -> bool:
    """Whether files are local: they can be truncated and appended to by calls of the operating system."""
    return isinstance(file_system, fs.LocalFileSystem)


def shows_whole_files(file_system: Any) -> bool:
    """Whether a file becomes visible when it is closed, and not before, as in an object store, which renames by
    copying."""
    if type(file_system).__name__ in _OBJECT_STORES:
        return True
    protocol = getattr(getattr(getattr(file_system, "handler", None), "fs", None), "protocol", ())
    return bool(_OF_FSSPEC & {protocol} if isinstance(protocol, str) else _OF_FSSPEC.intersection(protocol))


def makes_folders(file_system: Any) -> bool:
    """Whether folders need not be created: the store has none, or creates them with a file."""
    return shows_whole_files(file_system) or getattr(file_system, "type_name", "") == "py::webhdfs"


# S3

S3_SCHEMES = frozenset({"s3", "s3a", "s3n", "s3p"})
"""Schemes of S3 in Flink and Hadoop"""
ATTEMPTS = 7
"""largest number of attempts of one request; with growing pauses they take about 25 s"""
CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 60.0
_URI = re.compile(r"^[A-Za-z0-9]+://([^/?#]*)/?([^?]*)")
_PREFIXES = ("s3.", "s3a.", "fs.s3a.")
_ANONYMOUS = "AnonymousAWSCredentialsProvider"


def options(settings: Mapping[str, str], bucket: str) -> dict[str, str]:
    """The settings of a bucket, under Hadoop's names without their prefix (``access.key``)."""
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
        # Flink's default; here only on request, since most self-hosted servers need the other style.
        wanted["force_virtual_addressing"] = given.get("path.style.access", "true").lower() == "false"
    region = _region(given, settings) or (None if endpoint is None else "us-east-1")
    wanted["region"] = region or _found_region(bucket)
    if host := given.get("proxy.host"):
        wanted["proxy_options"] = _proxy(host, given)
    return fs.S3FileSystem(**wanted), f"{bucket}/{key}" if key else bucket


def s3_client(uri: str, settings: Mapping[str, str]) -> Any:
    """boto3's client for a bucket, for operations that pyarrow does not have."""
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
        return None  # opening a file will raise the error


def _seconds(value: str | None, default: float) -> float:
    """A duration in Hadoop's form (s); without a unit it is milliseconds."""
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


# Google, Azure, fsspec

GOOGLE = frozenset({"gs", "gcs"})
AZURE = frozenset({"abfs", "abfss", "wasb", "wasbs"})
RETRY_SECONDS = 60
_AZURE_URI = re.compile(r"^(\w+)://([^@/]+)@([^/.]+)\.([^/]+)(?:/([^?]*))?$")


def open_google(uri: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    """Open ``gs://bucket/key``. Credentials are those of Google's libraries (GOOGLE_APPLICATION_CREDENTIALS) unless
    keys override them."""
    bucket, key = bucket_and_key(uri)
    wanted: dict[str, Any] = {"retry_time_limit": datetime.timedelta(seconds=RETRY_SECONDS)}
    endpoint = settings.get("gs.storage.root.url") or settings.get("fs.gs.storage.root.url")
    if endpoint:
        scheme, _, rest = endpoint.rstrip("/").rpartition("://")
        wanted |= {"endpoint_override": rest, "scheme": scheme or "https"}
    if settings.get("fs.gs.auth.type", "").upper() == "UNAUTHENTICATED":
        wanted["anonymous"] = True
    if account := settings.get("fs.gs.auth.impersonation.service.account"):
        wanted["target_service_account"] = account
    if project := settings.get("fs.gs.project.id"):
        wanted["project_id"] = project
    return fs.GcsFileSystem(**wanted), f"{bucket}/{key}" if key else bucket


def open_azure(uri: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    """Open ``abfs://container@account.dfs.core.windows.net/key``.

    :raises ValueError: the URI is no such.
    """
    match = _AZURE_URI.match(uri)
    if match is None:
        raise ValueError(f"{uri} should be abfs://container@account.dfs.core.windows.net/folder")
    container, account, host, key = match[2], match[3], match[4], (match[5] or "").rstrip("/")
    name = f"{account}.{host}"
    wanted: dict[str, Any] = {}
    if secret := settings.get(f"fs.azure.account.key.{name}") or settings.get("fs.azure.account.key"):
        wanted["account_key"] = secret
    elif sas := settings.get(f"fs.azure.sas.fixed.token.{name}") or settings.get("fs.azure.sas.fixed.token"):
        wanted["sas_token"] = sas
    elif identity := settings.get("fs.azure.account.oauth2.client.id"):
        wanted["client_id"] = identity
        if secret := settings.get("fs.azure.account.oauth2.client.secret"):
            endpoint = settings.get("fs.azure.account.oauth2.client.endpoint", "")
            tenant = re.search(r"microsoftonline\.com/([^/]+)/", endpoint)
            wanted |= {"client_secret": secret, "tenant_id": tenant[1] if tenant else None}
    suffix = host.removeprefix("dfs.").removeprefix("blob.")
    if suffix != "core.windows.net":
        wanted |= {"blob_storage_authority": f".blob.{suffix}", "dfs_storage_authority": f".dfs.{suffix}"}
    return fs.AzureFileSystem(account, **wanted), f"{container}/{key}" if key else container


def open_with_fsspec(uri: str, settings: Mapping[str, str], unknown: str) -> tuple[Any, str]:
    """What pyarrow does not open.

    :param unknown: why it does not.
    :raises ValueError: nothing installed here opens it.
    """
    scheme = uri.partition("://")[0]
    try:
        import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ValueError(
            f"no file system for {uri}: pyarrow says '{unknown}', and fsspec, which opens more schemes, "
            f"is not installed (pip install fsspec and its package for {scheme}://)"
        ) from None
    # What it remembers of listings would hide what others have written since.
    options: dict[str, Any] = {"use_listings_cache": False, **_of_scheme(scheme, settings)}
    try:
        file_system, path = fsspec.core.url_to_fs(uri, **options)
    except (ValueError, ImportError) as error:
        raise ValueError(f"no file system for {uri}: pyarrow says '{unknown}', fsspec says '{error}'") from error
    return fs.PyFileSystem(fs.FSSpecHandler(file_system)), path


def _of_scheme(scheme: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """The options of fsspec's package for a scheme, from Hadoop's keys."""
    if scheme != "oss":
        return {}
    words = {"endpoint": "endpoint", "accessKeyId": "key", "accessKeySecret": "secret", "securityToken": "token"}
    return {word: settings[f"fs.oss.{key}"] for key, word in words.items() if f"fs.oss.{key}" in settings}


# Files that are created once

logger = logging.getLogger(__name__)
_CONFLICT = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")


def create_once(uri: str, file_system: Any, path: str, content: bytes, settings: Mapping[str, str]) -> bool:
    """Write a file unless it exists; returns whether it has this content now.

    An existing file with the same content counts as written: the answer to an earlier attempt may have been lost. S3
    and
    HDFS do this atomically. For other stores existence is checked first, and two concurrent writers may both pass.

    :param uri: of the file system.
    """
    if type(file_system).__name__ == "S3FileSystem" and "?" not in uri:
        made = _on_s3(uri, path, content, settings)
        if made is not None:
            return made is _MADE or _content(file_system, path) == content
    if not shows_whole_files(file_system):
        return _by_renaming(file_system, path, content)
    if file_system.get_file_info(path).type != fs.FileType.NotFound:
        return _content(file_system, path) == content
    with file_system.open_output_stream(path) as stream:
        stream.write(content)
    return True


_MADE, _THERE = "made", "there"


def _on_s3(uri: str, path: str, content: bytes, settings: Mapping[str, str]) -> str | None:
    """Create the object only if it does not exist; None: boto3, which can do this, is not installed."""
    try:
        store = _client(bucket_and_key(uri)[0], tuple(sorted(settings.items())))
    except ImportError:
        logger.warning(
            "boto3 is not installed (pip install 'millrace-streaming[s3]'): a second driver of a job may go unnoticed"
        )
        return None
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, key = path.partition("/")
    try:
        store.put_object(Bucket=bucket, Key=key, Body=content, IfNoneMatch="*")
    except ClientError as error:
        if str(error.response.get("Error", {}).get("Code")) in _CONFLICT:
            return _THERE
        raise OSError(f"botocore: {error}") from error
    except BotoCoreError as error:
        raise OSError(f"botocore: {error}") from error
    return _MADE


@lru_cache(maxsize=4)
def _client(bucket: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """The cached client: making one takes longer than using it."""
    return s3_client(f"s3://{bucket}", dict(settings))


def _by_renaming(file_system: Any, path: str, content: bytes) -> bool:
    aside = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
    if not makes_folders(file_system):
        file_system.create_dir(path.rpartition("/")[0], recursive=True)
    with file_system.open_output_stream(aside) as stream:
        stream.write(content)
    move_new = getattr(getattr(file_system, "handler", None), "move_new", None)
    if move_new is not None:
        if move_new(aside, path):
            return True
    elif file_system.get_file_info(path).type == fs.FileType.NotFound:
        file_system.move(aside, path)
        return True
    file_system.delete_file(aside)
    return _content(file_system, path) == content


def _content(file_system: Any, path: str) -> bytes:
    with file_system.open_input_file(path) as file:
        return bytes(file.read())


# Errors

_MEANT = (
    (
        "INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|EXPIRED_TOKEN|INVALID_TOKEN|ExpiredToken|InvalidAccessKeyId"
        "|SignatureDoesNotMatch|INVALID_CLIENT_TOKEN_ID",
        "the store does not know these credentials, or they have expired; see s3.access-key, s3.secret-key, "
        "fs.s3a.session.token, or the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        "ACCESS_DENIED|AccessDenied|HTTP status 403|Forbidden",
        "the store does not know these credentials, or they may not do this; see s3.access-key, s3.secret-key, and "
        "the rights on the bucket",
    ),
    ("NO_SUCH_BUCKET|NoSuchBucket", "there is no such bucket; Millrace makes none"),
    (
        "SLOW_DOWN|SlowDown|THROTTLING|REQUEST_LIMIT|HTTP status 503|SERVICE_UNAVAILABLE",
        "the store answers that it is asked too often, also after growing pauses; see fs.s3a.attempts.maximum, or "
        "write less often (execution.checkpointing.interval)",
    ),
    (
        "NETWORK_CONNECTION|REQUEST_TIMEOUT|curlCode|Could not connect",
        "the store was not reached, also not after several attempts; see s3.endpoint",
    ),
    ("MovedPermanently|PERMANENT_REDIRECT|301", "the bucket is in another region; see fs.s3a.endpoint.region"),
)
_OF_STORES = re.compile(r"AWS Error|google::cloud|Azure|botocore|GCS")


@contextlib.contextmanager
def explaining(uri: str) -> Iterator[None]:
    """Errors of a store that the code inside raises name the URI and their meaning."""
    try:
        yield
    except OSError as error:
        better = explain(error, uri)
        if better is error:
            raise
        raise better from error


def explain(error: OSError, uri: str) -> OSError:
    """An error of the same class whose text says where it occurred and what it means; the error itself if its meaning
    is unknown."""
    crowded = no_room(error, mask_text(uri))
    if crowded is not error:
        return crowded
    text = str(error)
    if not _OF_STORES.search(text):
        return error
    for pattern, meaning in _MEANT:
        if re.search(pattern, text):
            return type(error)(f"{mask_text(uri)}: {meaning}. The store's words: {mask_text(text)}")
    return error
