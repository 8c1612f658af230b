"""The description of the API as an OpenAPI 3.1 document, made of the table of routes and the types that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict

import msgspec

import millrace
from millrace.cluster.rest.web.operation import Operation
from millrace.cluster.rest.web.parameters import IN_PATHS, Query


class Errors(TypedDict):
    """What went wrong; the first text is what to look at."""

    errors: list[str]


def describe(operations: Sequence[Operation]) -> bytes:
    """The document for these operations, as JSON text. Both forms of a path are one: ``/v1`` is a server of its own."""
    types = [Errors]
    for each in operations:
        types += [kind for kind in (each.answer, each.request) if kind is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of = {id(kind): schema for kind, schema in zip(types, schemas)}
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schema_of)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Millrace",
            "version": millrace.__version__,
            "description": "Flink's REST API, and what Millrace has beyond it. All paths are also served under /v1, "
            "but for /openapi.json.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
    return msgspec.json.encode(document)


def _operation(operation: Operation, schema_of: dict[int, Any]) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", operation.path)
    described: dict[str, Any] = {
        "operationId": _id(operation),
        "summary": operation.summary,
        "parameters": [_in_path(name) for name in names] + [_in_query(each) for each in operation.query],
        "responses": _responses(operation, schema_of),
    }
    if operation.upload:
        file = {"type": "object", "properties": {"jarfile": {"type": "string", "format": "binary"}}}
        described["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": file}}}
    elif operation.request is not None:
        content = {"application/json": {"schema": schema_of[id(operation.request)]}}
        described["requestBody"] = {"required": False, "content": content}
    if operation.is_protected:
        described["security"] = [{"token": []}]
    return described


def _id(operation: Operation) -> str:
    words = re.findall(r"\w+", operation.path)
    return operation.method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": IN_PATHS[name].schema}


def _in_query(query: Query) -> dict[str, Any]:
    schema = {"type": "array", "items": query.kind.schema} if query.many else query.kind.schema
    shown = {"name": query.name, "in": "query", "required": False, "schema": schema}
    return {**shown, "style": "form", "explode": False} if query.many else shown


def _responses(operation: Operation, schema_of: dict[int, Any]) -> dict[str, Any]:
    failed = {"description": "What went wrong.", "content": {"application/json": {"schema": schema_of[id(Errors)]}}}
    responses: dict[str, Any] = {"3XX": failed, "4XX": failed, "5XX": failed}
    if operation.status >= 300:
        return {str(operation.status): failed, **responses}
    schema = {"type": "object"} if operation.answer is None else schema_of[id(operation.answer)]
    content = {operation.media: {"schema": schema}}
    return {str(operation.status): {"description": operation.summary, "content": content}, **responses}
