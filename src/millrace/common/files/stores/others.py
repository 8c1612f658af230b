"""Google's and Azure's stores by pyarrow, and all others by fsspec."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from pyarrow import fs

from millrace.common.files.stores.s3 import bucket_and_key

__all__ = ["AZURE", "GOOGLE", "open_azure", "open_google", "open_with_fsspec"]

GOOGLE = frozenset({"gs", "gcs"})
AZURE = frozenset({"abfs", "abfss", "wasb", "wasbs"})
RETRY_SECONDS = 60
_AZURE_URI = re.compile(r"^(\w+)://([^@/]+)@([^/.]+)\.([^/]+)(?:/([^?]*))?$")


def open_google(uri: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    """``gs://bucket/key``. Credentials are those of Google's libraries (GOOGLE_APPLICATION_CREDENTIALS) unless keys say
    otherwise."""
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
    """``abfs://container@account.dfs.core.windows.net/key``.

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
    """Hadoop's keys for a scheme, in the words of fsspec's package."""
    if scheme != "oss":
        return {}
    words = {"endpoint": "endpoint", "accessKeyId": "key", "accessKeySecret": "secret", "securityToken": "token"}
    return {word: settings[f"fs.oss.{key}"] for key, word in words.items() if f"fs.oss.{key}" in settings}
