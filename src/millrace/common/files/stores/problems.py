"""What the errors of object stores mean, and what can be done about them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from millrace.util.room import no_room
from millrace.util.secrets import mask_text

__all__ = ["explain", "explaining"]

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
    """Errors of the store that is asked inside say where, and what they mean."""
    try:
        yield
    except OSError as error:
        better = explain(error, uri)
        if better is error:
            raise
        raise better from error


def explain(error: OSError, uri: str) -> OSError:
    """The same kind of error with a text for people; the same error if nothing more is known."""
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
