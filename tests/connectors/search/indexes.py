"""Search servers, asked without the code that is tested, and table programs that use them."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
from tests.connectors.tables.message_tables import MessageTables

from millrace.testing.services.search import SearchServer

CONNECTORS = {"OpenSearch": "opensearch", "Elasticsearch": "elasticsearch-7"}


class Indexes:
    """A server. Indexes have names of their own."""

    def __init__(self, server: SearchServer) -> None:
        self.server = server
        self.url = server.url
        self.connector = CONNECTORS[server.name]
        self.client = httpx.Client(base_url=server.url, trust_env=False, timeout=60)

    def new(self) -> str:
        return f"i-{uuid.uuid4().hex[:10]}"

    def create(self, properties: dict[str, Any], **settings: Any) -> str:
        name = self.new()
        body = {"mappings": {"properties": properties}, "settings": {"number_of_replicas": 0, **settings}}
        self.client.put(f"/{name}", json=body).raise_for_status()
        return name

    def put(self, index: str, documents: dict[str, dict[str, Any]]) -> None:
        for id, document in documents.items():
            self.client.put(f"/{index}/_doc/{id}", json=document).raise_for_status()
        self.refresh()

    def refresh(self) -> None:
        self.client.post("/_refresh").raise_for_status()

    def hits(self, index: str) -> list[dict[str, Any]]:
        self.refresh()
        answer = self.client.post(f"/{index}/_search", json={"size": 10_000, "version": True})
        if answer.status_code == 404:
            return []
        found: list[dict[str, Any]] = answer.raise_for_status().json()["hits"]["hits"]
        return found

    def documents(self, index: str) -> dict[str, dict[str, Any]]:
        """By their ids."""
        return {each["_id"]: each["_source"] for each in self.hits(index)}

    def close(self) -> None:
        self.client.close()


class SearchTables(MessageTables):
    """Table programs that run without Spark."""

    def over(self, at: Indexes | tuple[str, str], index: str, columns: str, **more: str) -> str:
        """A table of Millrace over an index; its name. :param at: or (connector, hosts)."""
        connector, hosts = (at.connector, at.url) if isinstance(at, Indexes) else at
        options = {"connector": connector, "hosts": hosts, "index": index, **more}
        given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        name = f"m_{uuid.uuid4().hex[:10]}"
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({given})")
        return name
