"""Elasticsearch 8: what it is sent, and what becomes of answers as it gives them. **On a stand-in**: the last server
that is free software is 7.10."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.connectors.search.fake import PRODUCT, Answer, Asked, Fake, done, serving
from tests.connectors.search.indexes import SearchTables

COLUMNS = "id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
DOCUMENTS = [{"id": number, "name": f"n{number}"} for number in range(25)]
MAPPING = {"i": {"mappings": {"properties": {"id": {"type": "long"}, "name": {"type": "keyword"}}}}}


class Server:
    """One index, with what is asked of it here."""

    def __init__(self) -> None:
        self.open: dict[str, int] = {}
        """points in time -> how often they were asked"""
        self.closed: list[str] = []

    def __call__(self, asked: Asked) -> Answer:
        path, _, _ = asked.path.partition("?")
        if path == "/i/_pit":
            name = f"pit-{len(self.open)}-0"
            self.open[name] = 0
            return 200, {"id": name}
        if path == "/_pit":
            self.closed.append(asked.lines[0]["id"])
            return 200, {"succeeded": True, "num_freed": 1}
        if path == "/_search":
            return 200, self._searched(asked.lines[0])
        if path == "/i/_mapping":
            return 200, MAPPING
        if path == "/i/_mget":
            return 200, {"docs": [self._found(each) for each in asked.lines[0]["ids"]]}
        if path == "/_msearch":
            queries = asked.lines[1::2]
            return 200, {"responses": [self._response([self._named(each)]) for each in queries]}
        return done(asked)

    def _searched(self, body: dict[str, Any]) -> dict[str, Any]:
        # The name of a point in time may change with each answer, and the last one counts.
        known = body["pit"]["id"]
        assert known in self.open and known not in self.closed
        number, turn = known.split("-")[1:]
        name = f"pit-{number}-{int(turn) + 1}"
        self.open[name] = self.open.pop(known) + 1
        part = body.get("slice", {"id": 0, "max": 1})
        hits = [(at, each) for at, each in enumerate(DOCUMENTS) if at % part["max"] == part["id"]]
        (after,) = body.get("search_after", [-1])
        page = [(at, each) for at, each in hits if at > after][: body["size"]]
        return {**self._response([[at, each] for at, each in page]), "pit_id": name}

    def _response(self, hits: list[Any]) -> dict[str, Any]:
        shown = [
            {"_index": "i", "_id": str(each["id"]), "_score": None, "_source": each, "sort": [at]} for at, each in hits
        ]
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        total = {"value": len(shown), "relation": "eq"}
        return {
            "took": 1,
            "timed_out": False,
            "_shards": shards,
            "hits": {"total": total, "hits": shown},
            "status": 200,
        }

    def _found(self, id: str) -> dict[str, Any]:
        known = {str(each["id"]): each for each in DOCUMENTS}
        if id not in known:
            return {"_index": "i", "_id": id, "found": False}
        return {"_index": "i", "_id": id, "_version": 1, "found": True, "_source": known[id]}

    def _named(self, query: dict[str, Any]) -> list[Any]:
        name = query["query"]["bool"]["filter"][0]["term"]["name"]["value"]
        return next([at, each] for at, each in enumerate(DOCUMENTS) if each["name"] == name)


def over(tables: SearchTables, fake: Fake, columns: str = COLUMNS, **options: str) -> str:
    return tables.over(("elasticsearch-8", fake.url), "i", columns, **options)


@pytest.mark.parametrize("slices", [1, 3])
def test_pages_of_a_point_in_time(tables: SearchTables, slices: int) -> None:
    server = Server()
    with serving("elasticsearch-8", server, PRODUCT) as fake:
        name = over(tables, fake, **{"scan.slices": str(slices), "scan.fetch-size": "4"})
        assert tables.rows(f"SELECT * FROM {name} WHERE id >= 0") == [(each["id"], each["name"]) for each in DOCUMENTS]
        searches = [each.lines[0] for each in fake.asked if each.path.startswith("/_search")]
    assert len(server.closed) == slices and sorted(server.closed) == sorted(server.open)
    first = searches[0]
    assert first["sort"] == ["_shard_doc"] and first["_source"] == ["id", "name"] and "search_after" not in first
    assert first["query"] == {"bool": {"filter": [{"bool": {"filter": [{"range": {"id": {"gte": 0}}}]}}]}}
    assert first.get("slice") == (None if slices == 1 else {"field": "_id", "id": first["slice"]["id"], "max": 3})
    assert all("allow_partial_search_results=false" in each.path for each in fake.asked if "/_search" in each.path)


def test_parts_of_an_index_that_fail(tables: SearchTables) -> None:
    server = Server()

    def script(asked: Asked) -> Answer:
        status, found = server(asked)
        if asked.path.startswith("/_search"):
            found = json.loads(json.dumps(found))
            found["_shards"]["failed"] = 1
        return status, found

    with serving("elasticsearch-8", script, PRODUCT) as fake, pytest.raises(Exception, match="1 shards of what"):
        tables.rows(f"SELECT * FROM {over(tables, fake)}")


def test_a_point_in_time_that_is_gone(tables: SearchTables) -> None:
    server = Server()

    def script(asked: Asked) -> Answer:
        if asked.path.startswith("/_search") and "search_after" in asked.lines[0]:
            return 404, {"error": {"type": "search_context_missing_exception", "reason": "No search context found"}}
        return server(asked)

    with serving("elasticsearch-8", script, PRODUCT) as fake, pytest.raises(Exception, match="No search context found"):
        tables.rows(f"SELECT * FROM {over(tables, fake, **{'scan.fetch-size': '4'})}")


def test_look_ups(tables: SearchTables) -> None:
    with serving("elasticsearch-8", Server(), PRODUCT) as fake:
        name = over(tables, fake)
        left = "(SELECT k, PROCTIME() AS p FROM (VALUES (3), (99), (7)) AS x(k)) AS l"
        joined = f"SELECT l.k, r.name FROM {left} LEFT JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
        assert sorted(row for _, row in tables.query(joined, 1)) == [(3, "n3"), (7, "n7"), (99, None)]
        left = "(SELECT k, PROCTIME() AS p FROM (VALUES ('n3'), ('n9')) AS x(k)) AS l"
        joined = f"SELECT l.k, r.id FROM {left} JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.name = l.k"
        assert sorted(row for _, row in tables.query(joined, 1)) == [("n3", 3), ("n9", 9)]
        # All keys of a batch are asked for together.
        assert sum("/_mget" in each.path for each in fake.asked) == 1
        assert sum("/_msearch" in each.path for each in fake.asked) == 1


def test_what_is_written(tables: SearchTables) -> None:
    with serving("elasticsearch-8", Server(), PRODUCT) as fake:
        tables.insert(f"INSERT INTO {over(tables, fake)} VALUES (1, 'a')", 1)
        plain = over(tables, fake, "id BIGINT, name STRING", **{"connection.api-key": "a-key"})
        tables.insert(f"INSERT INTO {plain} VALUES (1, 'a')", 1)
        versioned = over(tables, fake, **{"sink.version.column": "id"})
        tables.insert(f"INSERT INTO {versioned} VALUES (1, 'a')", 1)
        bulks = fake.bulks
    assert [each.lines for each in bulks] == [
        [{"update": {"_index": "i", "_id": "1", "retry_on_conflict": 3}},
         {"doc": {"id": 1, "name": "a"}, "doc_as_upsert": True}],
        [{"create": {"_index": "i"}}, {"id": 1, "name": "a"}],
        [{"index": {"_index": "i", "_id": "1", "version_type": "external_gte", "version": 1}},
         {"id": 1, "name": "a"}],
    ]  # fmt: skip
    assert [each.headers.get("Authorization") for each in bulks] == [None, "ApiKey a-key", None]
    assert {each.headers["Content-Type"] for each in bulks} == {
        "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
    }
