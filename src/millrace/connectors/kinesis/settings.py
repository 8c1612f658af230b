"""How to reach Amazon: the properties of Flink's connectors, for boto3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MISSING = "boto3 can't be imported, which the Kinesis connector needs: pip install 'millrace-streaming[kinesis]' ({})"
_CREDENTIALS = ("aws.credentials.provider.", "aws.credentials.")
"""what stands before a credential's name: in properties, in options of tables"""
CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 20.0
ATTEMPTS = 3


def boto3() -> Any:
    """The client library. :raises ImportError: it is not installed."""
    try:
        import boto3 as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


def _patience() -> Any:
    """Otherwise an endpoint that is silent would be noticed after five minutes only."""
    from botocore.config import Config

    return Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=ANSWER_SECONDS, retries={"total_max_attempts": ATTEMPTS}
    )


def client(service: str, properties: Mapping[str, str]) -> Any:
    """A client of boto3, which several threads may use.

    :raises ValueError: a property that is none, or that Python cannot follow.
    """
    session = _session(properties)
    more: dict[str, Any] = {"config": _patience()}
    if properties.get("aws.endpoint"):
        more["endpoint_url"] = properties["aws.endpoint"]
    if properties.get("aws.trust.all.certificates", "").lower() == "true":
        more["verify"] = False
    return session.client(service, **more)


def _session(properties: Mapping[str, str]) -> Any:
    def credential(name: str) -> str | None:
        found = [properties[prefix + name] for prefix in _CREDENTIALS if prefix + name in properties]
        return found[0] if found else None

    library = boto3()
    region = properties.get("aws.region")
    key, secret = credential("basic.accesskeyid"), credential("basic.secretkey")
    provider = properties.get("aws.credentials.provider", "BASIC" if key else "AUTO").upper()
    if provider == "BASIC":
        if not key or not secret:
            raise ValueError(
                "'aws.credentials.provider' = 'BASIC' needs an access key and a secret: "
                "'aws.credentials.basic.accesskeyid' and 'aws.credentials.basic.secretkey'"
            )
        return library.Session(aws_access_key_id=key, aws_secret_access_key=secret, region_name=region)
    if provider == "PROFILE":
        if credential("profile.path"):
            raise ValueError("a profile's path is given by AWS_SHARED_CREDENTIALS_FILE, not by a property")
        return library.Session(profile_name=credential("profile.name"), region_name=region)
    if provider in ("AUTO", "ENV_VAR", "WEB_IDENTITY_TOKEN"):
        return library.Session(region_name=region)  # boto3 looks at the same places
    if provider == "ASSUME_ROLE":
        return _assumed(library.Session(region_name=region), credential, region)
    raise ValueError(
        f"'aws.credentials.provider' = '{provider}' is for Java; there are AUTO, BASIC, PROFILE, ENV_VAR, "
        "WEB_IDENTITY_TOKEN and ASSUME_ROLE"
    )


def _assumed(session: Any, credential: Any, region: str | None) -> Any:
    """A session in a role, which takes new credentials by itself before its own end."""
    from botocore.credentials import DeferredRefreshableCredentials
    from botocore.session import get_session

    role = credential("role.arn")
    if not role:
        raise ValueError("'aws.credentials.provider' = 'ASSUME_ROLE' needs 'aws.credentials.role.arn'")
    more = {"ExternalId": credential("role.externalId")} if credential("role.externalId") else {}
    endpoint = credential("role.stsEndpoint")

    def taken() -> dict[str, str]:
        answer = session.client("sts", endpoint_url=endpoint).assume_role(
            RoleArn=role, RoleSessionName=credential("role.sessionName") or "millrace", **more
        )["Credentials"]
        return {
            "access_key": answer["AccessKeyId"],
            "secret_key": answer["SecretAccessKey"],
            "token": answer["SessionToken"],
            "expiry_time": answer["Expiration"].isoformat(),
        }

    inner = get_session()
    inner._credentials = DeferredRefreshableCredentials(taken, "assume-role")
    return boto3().Session(botocore_session=inner, region_name=region)
