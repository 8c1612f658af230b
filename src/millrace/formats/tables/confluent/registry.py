"""A schema registry with Confluent's REST interface: schemas by their id, and ids of schemas."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.formats.tables.options import Options
from millrace.util.exceptions import TableException

URL, SUBJECT, SCHEMA = "url", "subject", "schema"
_OLD = {"schema-registry.url": URL, "schema-registry.subject": SUBJECT, "schema-registry.schema": SCHEMA}
_SETTINGS = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.keystore.password": "ssl.key.password",
    "basic-auth.user-info": "basic.auth.user.info",
    "bearer-auth.token": "bearer.auth.token",
    "bearer-auth.credentials-source": "bearer.auth.credentials.source",
}
_WITHOUT_EFFECT = ("ssl.truststore.password", "basic-auth.credentials-source")
"""of stores that are text; of credentials that are given by themselves"""
OPTIONS = (URL, SUBJECT, SCHEMA, *_OLD, *_SETTINGS, *_WITHOUT_EFFECT, "properties.")
_HEAD = struct.Struct(">bI")
_MAGIC = 0


@dataclass
class Registry:
    """Connects with the first question, and keeps the answers. Pickled into the tasks without them.

    :ivar settings: of Confluent's client; they may have secrets.
    """

    settings: Mapping[str, str] = field(repr=False)
    _client: Any = field(default=None, repr=False, compare=False)
    _schemas: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)
    _ids: dict[tuple[str, str], int] = field(default_factory=dict, repr=False, compare=False)
    _kinds: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": dict(self.settings), "_client": None, "_schemas": {}, "_ids": {}, "_kinds": {}}

    def schema(self, number: int) -> Any:
        """The Avro schema of an id, parsed.

        :raises ValueError: the registry does not know it. :raises ConnectionError: it does not answer.
        """
        if number not in self._schemas:
            import fastavro

            found = self._asked(f"schema {number}", lambda client: client.get_schema(number))
            if found.schema_type != "AVRO":
                raise ValueError(f"schema {number} of the registry is {found.schema_type}, not AVRO")
            named: dict[str, Any] = {}
            for each in found.references or ():
                version = each.subject, each.version
                text = self._asked(f"schema {each.name}", lambda client, v=version: client.get_version(*v))
                fastavro.parse_schema(json.loads(text.schema.schema_str), named_schemas=named)
            self._schemas[number] = fastavro.parse_schema(json.loads(found.schema_str), named_schemas=named)
        return self._schemas[number]

    def check_kind(self, number: int, kind: str) -> None:
        """:raises ValueError: the schema of this id is of another kind, or not known."""
        if number not in self._kinds:
            found = self._asked(f"schema {number}", lambda client: client.get_schema(number))
            self._kinds[number] = found.schema_type
        if self._kinds[number] != kind:
            raise ValueError(f"schema {number} of the registry is {self._kinds[number]}, not {kind}")

    def id_of(self, subject: str, schema: str, kind: str = "AVRO") -> int:
        """The id of a schema under a subject, where it is registered if it was not there.

        :raises ValueError: the registry refuses it, since it is not compatible with earlier ones.
        """
        if (subject, schema) not in self._ids:
            from confluent_kafka.schema_registry import Schema

            self._ids[subject, schema] = self._asked(
                f"subject {subject!r}", lambda client: client.register_schema(subject, Schema(schema, kind))
            )
        return self._ids[subject, schema]

    def _asked(self, what: str, ask: Any) -> Any:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            if self._client is None:
                self._client = client_of(self.settings)
            return ask(self._client)
        except SchemaRegistryError as error:
            raise ValueError(f"the schema registry refuses {what}: {error.error_message}") from error
        except OSError as error:
            raise ConnectionError(f"the schema registry does not answer for {what}: {error}") from error
        except Exception as error:
            if type(error).__module__.startswith(("httpx", "httpcore")):
                raise ConnectionError(
                    f"the schema registry at {self.settings['url']} does not answer for {what}: {error}"
                ) from error
            raise


def client_of(settings: Mapping[str, str]) -> Any:
    """Confluent's client."""
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient.new_client(dict(settings))


def registry_of(options: Options) -> Registry:
    """What the options of a format say.

    :raises TableException: one is missing, wrong, or needs what is not installed.
    """
    given = given_options(options)
    name = options.format
    if URL not in given:
        raise options.problem(f"format '{name}' needs {name}.{URL}")
    settings = {"url": given[URL]}
    for key, value in given.items():
        if key in _SETTINGS:
            settings[_SETTINGS[key]] = value
        elif key.startswith("properties."):
            settings[key.removeprefix("properties.")] = value
    for store in ("ssl.truststore.location", "ssl.keystore.location"):
        if given.get(store, "").lower().endswith((".jks", ".p12", ".pfx")):
            raise options.problem(f"'{name}.{store}' has to be a PEM file: the client of the registry is not Java's")
    try:
        client_of(settings)
    except ImportError as error:
        raise options.problem(
            f"format '{name}' needs Confluent's client of schema registries: "
            f"pip install 'millrace-streaming[registry]' ({error})"
        ) from None
    except (ValueError, TypeError) as error:
        raise options.problem(f"format '{name}': {error}") from None
    return Registry(settings)


def given_options(options: Options) -> dict[str, str]:
    """The options, old names as those of today."""
    return {_OLD.get(key, key): value for key, value in options.table.options.items()}


def subject_of(options: Options) -> str:
    """Under which schemas of written messages are registered."""
    subject = given_options(options).get(SUBJECT) or options.table.subject
    if not subject:
        raise options.problem(f"format '{options.format}' needs {options.format}.{SUBJECT} for writing")
    return subject


def split(message: bytes) -> tuple[int, bytes]:
    """The id of the schema, and the record."""
    if len(message) < _HEAD.size or message[0] != _MAGIC:
        raise ValueError("it does not begin with the id of a schema (a byte 0 and four more)")
    return _HEAD.unpack_from(message)[1], message[_HEAD.size :]


def head(number: int) -> bytes:
    """What a message begins with."""
    return _HEAD.pack(_MAGIC, number)


__all__ = ["OPTIONS", "SCHEMA", "Registry", "TableException", "head", "registry_of", "split", "subject_of"]
