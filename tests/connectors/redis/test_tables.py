"""Tables of keys: written by commands, looked up, compared with what a client of Redis sees."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from tests.connectors.tables.message_tables import MessageTables

from millrace.connectors.redis.redis_client import RedisNode
from millrace.connectors.redis.redis_table_commands import Expiry, RedisLookup, Shape, layout_of
from millrace.relational.rex import Field
from millrace.relational.types import string
from millrace.runtime.failure import JobFailedError
from millrace.util.exceptions import TableException

NOW = dt.datetime(2024, 5, 6, 10, 0, tzinfo=dt.timezone.utc)


class RedisTables(MessageTables):
    def __init__(self, url: str = "redis://127.0.0.1:1") -> None:
        super().__init__()
        self.url = url

    def over(self, columns: str, command: str, **options: str) -> str:
        name = f"t_{uuid.uuid4().hex[:8]}"
        given = {"connector": "redis", "command": command, "url": self.url}
        given |= {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items() if value)
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({texts})")
        return name

    def joined(self, table: str, keys: list[Any], on: str = "r.k = l.k", kind: str = "LEFT", what: str = "r.*") -> Any:
        values = ", ".join(f"({each!r})" if not isinstance(each, tuple) else repr(each) for each in keys)
        names = "k" if not isinstance(keys[0], tuple) else "k, f"
        query = (
            f"SELECT l.k, {what} FROM (SELECT *, PROCTIME() AS p FROM (VALUES {values}) AS t({names})) AS l {kind} "
            f"JOIN {table} FOR SYSTEM_TIME AS OF l.p AS r ON {on}"
        )
        return sorted((tuple(row) for _, row in self.query(query)), key=repr)


@pytest.fixture
def client(redis_server: Any) -> Iterator[Any]:
    made = redis.Redis.from_url(redis_server.url, decode_responses=True)
    made.flushall()  # of other modules
    yield made
    made.flushall()
    made.close()


@pytest.fixture
def tables(redis_server: Any, client: Any) -> RedisTables:
    return RedisTables(redis_server.url)


services = pytest.mark.services


@services
def test_values(tables: RedisTables, client: Any) -> None:
    table = tables.over("k STRING, v DECIMAL(10, 2)", "SET")
    tables.insert(f"INSERT INTO {table} VALUES ('a', 1.5), ('b ä', -2), ('a', 3)")
    assert {key: client.get(key) for key in client.scan_iter()} == {"a": "3.00", "b ä": "-2.00"}
    assert [row[2] for row in tables.joined(table, ["a", "b ä"])] == [3, -2]
    assert tables.joined(table, ["c"]) == [("c", None, None)]
    assert tables.joined(table, ["a"], "r.k = l.k AND r.v > 5", "INNER") == []


@services
def test_changes_leave_what_a_dictionary_would_have(tables: RedisTables, client: Any) -> None:
    table = tables.over("k STRING, total BIGINT, PRIMARY KEY (k) NOT ENFORCED", "set")
    dice = random.Random(3)
    rows = [(f"k{dice.randrange(20)}", dice.randrange(-9, 10)) for _ in range(200)]
    values = ", ".join(map(repr, rows))
    tables.insert(
        f"INSERT INTO {table} SELECT k, SUM(v) FROM (VALUES {values}) AS t(k, v) GROUP BY k HAVING SUM(v) >= 0",
        epoch_records=20,
    )
    sums: dict[str, int] = {}
    for key, value in rows:
        sums[key] = sums.get(key, 0) + value
    assert {key: int(client.get(key)) for key in client.scan_iter()} == {key: n for key, n in sums.items() if n >= 0}


@services
def test_hashes_by_field(tables: RedisTables, client: Any) -> None:
    table = tables.over("k STRING, f STRING, v INT", "HSET")
    tables.insert(f"INSERT INTO {table} VALUES ('a', 'x', 1), ('a', 'y', 2), ('b', 'x', 3), ('a', 'x', 4)")
    assert client.hgetall("a") == {"x": "4", "y": "2"}
    both = tables.joined(table, [("a", "x"), ("b", "y")], "r.k = l.k AND r.f = l.f")
    assert both == [("a", "a", "x", 4), ("b", None, None, None)]
    assert tables.joined(table, ["a", "b"]) == [("a", "a", "x", 4), ("a", "a", "y", 2), ("b", "b", "x", 3)]


@services
def test_hashes_as_rows(tables: RedisTables, client: Any) -> None:
    table = tables.over("k STRING, name STRING, `at` DATE, ok BOOLEAN", "HMSET")
    tables.insert(f"INSERT INTO {table} VALUES ('a', 'x', DATE '2024-05-06', TRUE), ('b', CAST(NULL AS STRING), "
                  "CAST(NULL AS DATE), FALSE)")  # fmt: skip
    assert client.hgetall("a") == {"name": "x", "at": "2024-05-06", "ok": "true"}
    assert client.hgetall("b") == {"ok": "false"}
    wanted = [("a", "a", "x", dt.date(2024, 5, 6), True), ("b", "b", None, None, False)]
    assert tables.joined(table, ["a", "b", "c"])[:2] == wanted
    tables.insert(f"INSERT INTO {table} SELECT 'a', CAST(NULL AS STRING), DATE '2024-05-07', TRUE")
    assert client.hgetall("a") == {"at": "2024-05-07", "ok": "true"}


@services
def test_lists_and_sets(tables: RedisTables, client: Any) -> None:
    for command, wanted in (("LPUSH", ["3", "2", "1"]), ("RPUSH", ["1", "2", "3"])):
        client.flushall()
        table = tables.over("k STRING, v INT", command)
        tables.insert(f"INSERT INTO {table} VALUES ('l', 1), ('l', 2), ('l', 3)", 1)
        assert client.lrange("l", 0, -1) == wanted
        assert [row[2] for row in tables.joined(table, ["l"])] == [1, 2, 3]
    part = tables.over("k STRING, v INT", "LRANGE", scan__range__start="1", scan__range__stop="1")
    assert tables.joined(part, ["l"]) == [("l", "l", 2)]
    table = tables.over("k STRING, m STRING", "SADD")
    tables.insert(
        f"INSERT INTO {table} SELECT k, m FROM (VALUES ('s', 'x', 1), ('s', 'y', 1), ('s', 'x', -1)) AS t(k, m, n) "
        "GROUP BY k, m HAVING SUM(n) > 0",
        1,
        epoch_records=2,
    )
    assert client.smembers("s") == {"y"}
    assert tables.joined(table, ["s"]) == [("s", "s", "y")]
    on = "r.k = l.k AND r.m = l.f"
    assert tables.joined(table, [("s", "y"), ("s", "x")], on) == [("s", "s", "y"), ("s", None, None)]


@services
def test_sorted_sets(tables: RedisTables, client: Any) -> None:
    table = tables.over("k STRING, score DOUBLE, m STRING", "ZADD")
    tables.insert(f"INSERT INTO {table} VALUES ('z', 1.5, 'x'), ('z', -3, 'y'), ('z', 2.25, 'x')", 1)
    assert client.zrange("z", 0, -1, withscores=True) == [("y", -3.0), ("x", 2.25)]
    assert tables.joined(table, ["z"]) == [("z", "z", -3.0, "y"), ("z", "z", 2.25, "x")]
    assert tables.joined(table, [("z", "x")], "r.k = l.k AND r.m = l.f") == [("z", "z", 2.25, "x")]
    more = tables.over("k STRING, n DOUBLE, m STRING", "ZINCRBY")
    tables.insert(f"INSERT INTO {more} VALUES ('z', 0.75, 'x')")
    assert client.zscore("z", "x") == 3.0


@services
def test_numbers_that_are_added_follow_a_changing_table(tables: RedisTables, client: Any) -> None:
    table = tables.over("k STRING, n BIGINT", "INCRBY")
    rows = "('a', 1), ('b', 5), ('a', 2), ('a', 4)"
    tables.insert(f"INSERT INTO {table} SELECT k, SUM(n) FROM (VALUES {rows}) AS t(k, n) GROUP BY k", epoch_records=1)
    assert (client.get("a"), client.get("b")) == ("7", "5")
    assert tables.joined(table, ["a"]) == [("a", "a", 7)]
    hashed = tables.over("k STRING, f STRING, n DOUBLE", "HINCRBYFLOAT")
    tables.insert(f"INSERT INTO {hashed} VALUES ('h', 'x', 0.5), ('h', 'x', 0.25)")
    assert client.hgetall("h") == {"x": "0.75"}
    down = tables.over("k STRING, n INT", "DECRBY")
    tables.insert(f"INSERT INTO {down} VALUES ('a', 10)")
    assert client.get("a") == "-3"


@services
def test_commands_that_take_away_and_those_that_pass_by(tables: RedisTables, client: Any) -> None:
    client.mset({"a": 1, "b": 2})
    client.hset("h", mapping={"x": 1, "y": 2})
    client.sadd("s", "x", "y")
    client.zadd("z", {"x": 1, "y": 2})
    for command, columns, row in [
        ("DEL", "k STRING", "('a')"),
        ("HDEL", "k STRING, f STRING", "('h', 'x')"),
        ("SREM", "k STRING, m STRING", "('s', 'x')"),
        ("ZREM", "k STRING, m STRING", "('z', 'x')"),
        ("PFADD", "k STRING, v STRING", "('p', 'x')"),
        ("XADD", "k STRING, v STRING, w INT", "('q', 'x', 1)"),
    ]:
        tables.insert(f"INSERT INTO {tables.over(columns, command)} VALUES {row}")
    assert not client.exists("a")
    assert client.hgetall("h") == {"y": "2"}
    assert client.smembers("s") == {"y"}
    assert client.zrange("z", 0, -1) == ["y"]
    assert client.pfcount("p") == 1
    assert [fields for _, fields in client.xrange("q")] == [{"v": "x", "w": "1"}]
    with client.pubsub() as listening:
        listening.subscribe("c")
        assert listening.get_message(timeout=10)["type"] == "subscribe"
        tables.insert(f"INSERT INTO {tables.over('k STRING, v STRING', 'PUBLISH')} VALUES ('c', 'hi')")
        assert listening.get_message(timeout=10)["data"] == "hi"


@services
def test_whole_rows_as_values(tables: RedisTables, client: Any) -> None:
    columns = "k STRING, n INT, t STRING"
    row = tables.over(columns, "SET", value__data__structure="row")
    tables.insert(f"INSERT INTO {row} VALUES ('a', 1, 'x'), ('b', CAST(NULL AS INT), '')")
    assert client.get("a") == "a\x011\x01x"
    assert tables.joined(row, ["a", "b"]) == [("a", "a", 1, "x"), ("b", "b", None, "")]
    json = tables.over(f"{columns}, more ROW<y ARRAY<INT>>", "HSET", value__format="json")
    tables.insert(f"INSERT INTO {json} VALUES ('h', 7, 'z', ROW(ARRAY[1, 2]))")
    assert client.hgetall("h") == {"7": '{"k":"h","n":7,"t":"z","more":{"y":[1,2]}}'}
    assert tables.joined(json, ["h"], what="r.n, r.t, r.more.y[2]") == [("h", 7, "z", 2)]
    client.set("bare", '{"t": "without its key"}')
    bare = tables.over("k STRING, t STRING", "GET", value__format="json")
    assert tables.joined(bare, ["bare"]) == [("bare", "bare", "without its key")]
    client.set("bad", "{")
    with pytest.raises(JobFailedError, match="look up keys"):
        tables.joined(bare, ["bad"])


@services
def test_keys_expire_and_may_be_left_alone(tables: RedisTables, client: Any) -> None:
    tables.insert(f"INSERT INTO {tables.over('k STRING, v STRING', 'SET', ttl='100')} VALUES ('a', 'x')")
    assert 90 < client.ttl("a") <= 100
    short = tables.over("k STRING, f STRING, v STRING", "HSET", ttl="1 h", ttl__key__not__absent="true")
    tables.insert(f"INSERT INTO {short} VALUES ('h', 'f', 'x')")
    assert 3500 < client.ttl("h") <= 3600
    client.expire("h", 50)
    tables.insert(f"INSERT INTO {short} VALUES ('h', 'f', 'y')")
    assert client.ttl("h") <= 50
    for command, columns, row in (("SET", "k STRING, v STRING", "('a', 'new')"),
                                  ("HSET", "k STRING, f STRING, v STRING", "('h', 'f', 'new')")):  # fmt: skip
        tables.insert(f"INSERT INTO {tables.over(columns, command, set__if__absent='true')} VALUES {row}")
    assert (client.get("a"), client.hget("h", "f")) == ("x", "y")


def test_when_a_key_expires() -> None:
    assert Expiry().command(b"k", NOW) is None
    assert Expiry(5, None, True).command(b"k", NOW) == ("EXPIRE", b"k", 5, "NX")
    for hour, day in ((11, 6), (9, 7)):
        then = dt.datetime(2024, 5, day, hour, tzinfo=dt.timezone.utc)
        assert Expiry(None, dt.time(hour)).command(b"k", NOW) == ("EXPIREAT", b"k", int(then.timestamp()))


@services
def test_a_batch_of_keys_is_one_request(tables: RedisTables, client: Any) -> None:
    client.mset({f"k{number}": number for number in range(2_500)})
    source = RedisLookup(
        RedisNode("127.0.0.1", int(tables.url.rpartition(":")[2])),
        Shape(layout_of("GET"), (Field("k", string()), Field("v", string()))),
        (0,), 0, {}, "Redis",
    )  # fmt: skip
    source.open()
    before = client.info("commandstats")
    found = list(source.lookup([(f"k{number}",) for number in range(2_600)]))
    after = client.info("commandstats")
    source.close()
    assert [row[0][1] for row in found[:2_500]] == list(map(str, range(2_500)))
    assert found[2_500:] == [[]] * 100
    assert after["cmdstat_mget"]["calls"] - before.get("cmdstat_mget", {"calls": 0})["calls"] == 3
    assert "cmdstat_get" not in after or after["cmdstat_get"] == before.get("cmdstat_get")


@services
def test_a_job_writes_exactly_once(tables: RedisTables, client: Any) -> None:
    table = tables.over("k STRING, n BIGINT", "INCRBY", **{"sink__delivery-guarantee": "exactly-once"})
    rows = ", ".join(f"('k{number % 7}', 1)" for number in range(100))
    tables.insert(f"INSERT INTO {table} VALUES {rows}", epoch_records=10)
    assert sum(int(client.get(f"k{number}")) for number in range(7)) == 100
    assert client.keys("millrace:written:*")


@services
def test_errors_name_table_and_place(tables: RedisTables, client: Any) -> None:
    client.set("a", "text")
    for command, columns, row in (("HSET", "k STRING, f STRING, v STRING", "('a', 'f', 'v')"),
                                  ("INCRBY", "k STRING, n INT", "('a', 1)")):  # fmt: skip
        table = tables.over(columns, command)
        with pytest.raises(JobFailedError, match=rf"table .*{table}: Redis at 127.0.0.1:\d+: "):
            tables.insert(f"INSERT INTO {table} VALUES {row}")
    with pytest.raises(JobFailedError, match=r"column 'v' INT"):
        tables.joined(tables.over("k STRING, v INT", "GET"), ["a"])
    with pytest.raises(JobFailedError, match="WRONGTYPE"):
        tables.joined(tables.over("k STRING, f STRING, v STRING", "HGET"), ["a"])
    with pytest.raises(JobFailedError, match="column 'v' must not be NULL for SET"):
        tables.insert(f"INSERT INTO {tables.over('k STRING, v STRING', 'SET')} SELECT 'a', CAST(NULL AS STRING)")


@services
def test_a_wrong_password(redis_server: Any, client: Any) -> None:
    client.acl_setuser("me", enabled=True, passwords=["+word"], categories=["+@all"], keys=["*"])
    where = redis_server.url.removeprefix("redis://")
    good = RedisTables(f"redis://me:word@{where}/2")
    good.insert(f"INSERT INTO {good.over('k STRING, v STRING', 'SET')} VALUES ('a', 'x')")
    assert (client.get("a"), client.info("keyspace")["db2"]["keys"]) == (None, 1)
    bad = RedisTables(f"redis://me:hush@{where}")
    with pytest.raises(JobFailedError, match="invalid username-password") as failure:
        bad.joined(bad.over("k STRING, v STRING", "GET"), ["a"])
    assert "hush" not in str(failure.value)
    client.acl_deluser("me")


def test_nobody_listens() -> None:
    tables = RedisTables()
    none = {"lookup__max_retries": "0", "sink__max_retries": "0", "timeout": "2000"}
    options = {key.replace("max_retries", "max-retries"): value for key, value in none.items()}
    with pytest.raises(JobFailedError, match=r"Redis at 127.0.0.1:1: .*refused"):
        tables.joined(tables.over("k STRING, v STRING", "GET", **options), ["a"])
    with pytest.raises(JobFailedError, match=r"Redis at 127.0.0.1:1: .*refused"):
        tables.insert(f"INSERT INTO {tables.over('k STRING, v STRING', 'SET', **options)} VALUES ('a', 'x')")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("k STRING, v STRING", {"command": "GETSET"}, r"'command' is one of SET, HSET"),
        ("k STRING", {"command": "SET"}, r"SET has the columns key, value: 2, not 1"),
        ("k STRING", {"command": "HMSET"}, r"2 columns at least"),
        ("k STRING, n INT", {"command": "INCRBY", "value.format": "json"}, r"has no value that could be a whole row"),
        ("k STRING, v STRING", {"redis-mode": "three"}, r"'redis-mode' is one of single, cluster, sentinel"),
        ("k STRING, v STRING", {"mode": "cluster", "cluster-nodes": "a:x"}, r"an address is host:port, not 'a:x'"),
        ("k STRING, v STRING", {"mode": "cluster", "cluster-nodes": "a:1", "database": "1"}, r"no other database"),
        ("k STRING, v STRING", {"mode": "sentinel"}, r"'master.name' and 'sentinels.info'"),
        ("k STRING, v STRING", {"url": "http://x"}, r"'url' is redis://"),
        ("k STRING, v STRING", {"url": ""}, r"needs 'url' or 'host'"),
        ("k STRING, v STRING", {"ttl": "0"}, r"'ttl' is a second or more"),
        ("k STRING, v STRING", {"ttl.on.time": "noon"}, r"is a time of day"),
        ("k STRING, v STRING, PRIMARY KEY (v) NOT ENFORCED", {}, r"the PRIMARY KEY of what SET writes is \(k\)"),
        (
            "k STRING, v STRING",
            {"mode": "cluster", "cluster-nodes": "a:1", "sink.delivery-guarantee": "exactly-once"},
            r"a cluster of Redis has no transactions",
        ),
    ],
)
def test_options_that_cannot_be(columns: str, options: dict[str, str], message: str) -> None:
    tables = RedisTables()
    command = options.pop("command", "SET")
    table = tables.over(columns, command, **{"url": options.pop("url", tables.url), **options})
    with pytest.raises(TableException, match=message):
        tables.insert(f"INSERT INTO {table} VALUES ('a', 'b')")


@pytest.mark.parametrize(
    ("command", "columns", "on", "message"),
    [
        ("PUBLISH", "k STRING, v STRING", "r.k = l.k", r"what PUBLISH writes cannot be looked up"),
        ("XADD", "k STRING, v STRING", "r.k = l.k", r"what XADD writes cannot be looked up"),
        ("DEL", "k STRING", "r.k = l.k", r"DEL writes only"),
        ("GET", "k STRING, v STRING", "r.v = l.k", r"Redis finds rows by their key: compare 'k'"),
    ],
)
def test_look_ups_that_cannot_be(command: str, columns: str, on: str, message: str) -> None:
    tables = RedisTables()
    with pytest.raises(TableException, match=message):
        tables.joined(tables.over(columns, command), ["a"], on)
    with pytest.raises(TableException, match="use PARTIAL"):
        tables.joined(tables.over("k STRING, v STRING", "GET", lookup__cache="FULL"), ["a"])
