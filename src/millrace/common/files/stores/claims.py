"""Files that may be written once only, so that of two drivers one fails."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pyarrow import fs

from millrace.common.files.stores import s3
from millrace.common.files.stores.kinds import makes_folders, shows_whole_files

__all__ = ["create"]

logger = logging.getLogger(__name__)
_CONFLICT = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")


def create(uri: str, file_system: Any, path: str, content: bytes, settings: Mapping[str, str]) -> bool:
    """Write a file unless it is there; whether it is this content now. One that is there with the same content is this
    one: the answer to an earlier attempt may have been lost.

    S3 and HDFS see to it themselves. Of other stores it is looked first, which two who come at the same time may both
    pass.

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
    """None: boto3, which can ask for this, is not installed."""
    try:
        store = _client(s3.bucket_and_key(uri)[0], tuple(sorted(settings.items())))
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
    """To make one takes longer than to use it."""
    return s3.client(f"s3://{bucket}", dict(settings))


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
