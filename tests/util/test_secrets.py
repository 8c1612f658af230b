"""What is hidden and what is not: the names of real options of Flink, its connectors, Spark and Hadoop."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus

from millrace.util.secrets import HIDDEN, blot, is_secret, mask, mask_options, mask_statement, mask_text

SECRET = [
    "password", "passwd", "PASSWORD", "Password", "db_password", "jdbc.password",
    "security.ssl.internal.key-password", "properties.ssl.truststore.password", "properties.ssl.key.password",
    "properties.ssl.keystore.key", "properties.sasl.jaas.config", "properties.sasl.jaas-config",
    "sasl.oauthbearer.client.secret", "client-secret", "clientSecret", "CLIENT_SECRET", "secret", "s3.secret-key",
    "s3.secret.key", "fs.s3a.secret.key", "aws.secret.key", "s3.access-key", "s3.access.key", "fs.s3a.access.key",
    "aws.access.key.id", "AWS_ACCESS_KEY_ID", "s3.session-token", "token", "auth.token", "bearer-token",
    "accessToken", "access_token", "refreshToken", "oauth2.tokens", "githubToken", "GITHUB_TOKEN", "api-key",
    "api.key", "api_key", "apikey", "apiKey", "openai.api-key", "x-api-key", "fs.azure.account.key",
    "fs.azure.account.key.name.blob.core.windows.net", "fs.azure.sas.container.account", "rest.auth-params",
    "rest.service-key", "http.basic-auth", "metrics.reporter.x.http-headers", "http.headers.Authorization",
    "basic.auth.credentials.source", "schema-registry.basic-auth.user-info",
    "value.avro-confluent.basic-auth.credentials", "private-key", "ssl.private-key", "privateKeyPassphrase",
    "kms.master-key", "encryption.key", "event-hubs.connection-string", "shared_access_signature", "pwd",
    "user.pass",
]  # fmt: skip

OPEN = [
    "connector", "format", "key.format", "key.fields", "key.fields-prefix", "key.json.ignore-parse-errors",
    "value.format", "primary-key", "primary_key", "partition-key", "sink.partition-key-delimiter", "routing-key",
    "message-key", "document-id.key-delimiter", "sink.key-group", "key", "keys", "keyed", "keyspace",
    "keystore.location", "properties.ssl.keystore.location", "ssl.keystore.type", "security.kerberos.login.keytab",
    "properties.key.deserializer", "properties.key.serializer", "map-keys", "compass", "bypass", "pass-through",
    "passthrough", "pipeline.max-parallelism", "tokenizer", "sink.tokenizer-class", "tokenize", "topic",
    "properties.bootstrap.servers", "properties.group.id", "scan.startup.mode", "url", "driver", "username", "user",
    "hostname", "port", "path", "source.monitor-interval", "sink.parallelism", "lookup.cache",
    "table.exec.state.ttl", "execution.checkpointing.dir", "millrace.state.trust-directory",
    "millrace.state.directory", "python.files", "python.executable", "sasl.oauthbearer.token.endpoint.url",
    "oauth2.token-uri", "token-type", "author", "authors", "authority", "design", "signatures-file", "sass",
]  # fmt: skip


@corpus("name", SECRET, 63)
def test_secret(name: str) -> None:
    assert is_secret(name)
    assert mask(name, "s3cret") == HIDDEN == "******"


@corpus("name", OPEN, 63)
def test_open(name: str) -> None:
    assert not is_secret(name)
    assert mask(name, "value") == "value"


VALUES = [
    ("jdbc:postgresql://host:5432/db?user=ann&password=s3cret&ssl=true",
     "jdbc:postgresql://host:5432/db?user=ann&password=******&ssl=true"),
    ("jdbc:sqlserver://host;user=ann;Password=s3cret;encrypt=true",
     "jdbc:sqlserver://host;user=ann;Password=******;encrypt=true"),
    ("jdbc:mysql://ann:s3cret@host/db", "jdbc:mysql://ann:******@host/db"),
    ("jdbc:oracle:thin:ann/s3cret@host:1521:db", "jdbc:oracle:thin:ann/******@host:1521:db"),
    ("https://ann:s3cret@example.org/a?b=c", "https://ann:******@example.org/a?b=c"),
    ("amqp://:s3cret@host", "amqp://:******@host"),
    ("mongodb+srv://ann:p%40ss:word@a,b/db", "mongodb+srv://ann:******@a,b/db"),
    ("https://host/x?access_token=abc.def&page=2", "https://host/x?access_token=******&page=2"),
    ("https://a.blob.core.windows.net/c?sv=2020&sig=abc&sp=r",
     "https://a.blob.core.windows.net/c?sv=2020&sig=******&sp=r"),
    ("Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=abc=",
     "Endpoint=sb://x/;SharedAccessKeyName=******;SharedAccessKey=******"),
    ('PlainLoginModule required username="ann" password="s3 cret";',
     'PlainLoginModule required username="ann" password=******;'),
    ("host=db user=ann password = s3cret port=1", "host=db user=ann password = ****** port=1"),
    ("host=db password='s3 cret' port=1", "host=db password=****** port=1"),
    ("hdfs://name:8020/path", "hdfs://name:8020/path"),
    ("http://host:8081/a@b:c@d", "http://host:8081/a@b:c@d"),
    ("kafka1:9092,kafka2:9092", "kafka1:9092,kafka2:9092"),
    ("/data/password=nothing/x", "/data/password=******"),
    ("a = b", "a = b"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "shown"), VALUES)
def test_credentials_in_values(value: str, shown: str) -> None:
    assert mask("url", value) == shown
    assert mask_text(f"it failed: {value}") == f"it failed: {shown}"


STATEMENTS = [
    ("SET 'a.password' = 's3cret'; SET 'b' = 'c'", "SET 'a.password' = '******'; SET 'b' = 'c'"),
    ("SET s3.secret-key = s3cret;", "SET s3.secret-key = ******;"),
    ("CREATE TABLE t (a INT) WITH ('connector'='x', 'token' = 'it''s', 'key.format'='json')",
     "CREATE TABLE t (a INT) WITH ('connector'='x', 'token' = '******', 'key.format'='json')"),
    ("SELECT * FROM t /*+ OPTIONS('password'='s3cret') */ WHERE key = 'k'",
     "SELECT * FROM t /*+ OPTIONS('password'='******') */ WHERE key = 'k'"),
    ("ALTER TABLE t SET ('url' = 'jdbc:x://a:b@c')", "ALTER TABLE t SET ('url' = 'jdbc:x://a:******@c')"),
    ("SELECT 1 FROM users u, t WHERE u.token = t.id AND token = 'x' AND 'password' <> token",
     "SELECT 1 FROM users u, t WHERE u.token = t.id AND token = 'x' AND 'password' <> token"),
    ("SELECT password, token FROM users WHERE name = 'x'", "SELECT password, token FROM users WHERE name = 'x'"),
]  # fmt: skip


WITH = "CREATE TABLE t (a INT) WITH ("
WRONG = [
    (f"{WITH}'password' /* x */ = 's3cret' 'y')", f"{WITH}'password' /* x */ = '******')"),
    (f"{WITH}'password' -- don't\n = 's3cret')", f"{WITH}'password' -- don't\n = '******')"),
    (f"{WITH}password = 's3cret', a = 'b')", f"{WITH}password = '******', a = 'b')"),
    (f"{WITH}password = s3cret)", f"{WITH}password = ******)"),
    (f"{WITH}password = -s3cret x)", f"{WITH}password = ******)"),
    (f"{WITH}`password` = 's3cret')", f"{WITH}`password` = '******')"),
    (f'{WITH}"password" = "s3cret")', f'{WITH}"password" = "******")'),
    (f"{WITH}'password' = `s3cret`)", f"{WITH}'password' = `******`)"),
    (f"{WITH}'password' : 's3cret')", f"{WITH}'password' : '******')"),
    (f"{WITH}'password' == 's3cret')", f"{WITH}'password' == '******')"),
    (f"{WITH}'password' => 's3cret')", f"{WITH}'password' => '******')"),
    (f"{WITH}'password' 's3cret')", f"{WITH}'password' '******')"),
    (f"{WITH}'password = 's3cret')", f"{WITH}'password = '******"),
    (f"{WITH}'password = s3cret')", f"{WITH}'password = ******')"),
    (f"{WITH}password' = 's3cret')", f"{WITH}password' = '******"),
    (f"{WITH}'password' = s3cret')", f"{WITH}'password' = ******"),
    (f"{WITH}'password' = 's3cret)", f"{WITH}'password' = '******"),
    (f"{WITH}'a' = 'b' 'password' = 's3cret')", f"{WITH}'a' = 'b' 'password' = '******')"),
    (f"{WITH}'password' = /* s */ 's3cret')", f"{WITH}'password' = /* s */ '******')"),
    (f"-- 'password' = 's3cret'\n{WITH}'a' = 'b')", f"-- 'password' = '******'\n{WITH}'a' = 'b')"),
    (f"-- it isn't\n{WITH}'url' = 'x://a:s3cret@h/b')", f"-- it isn't\n{WITH}'url' = 'x://a:******@h/b')"),
    ("SELECT 1 FROM t /*+ OPTIONS(password = s3cret) */ x", "SELECT 1 FROM t /*+ OPTIONS(password = ******) */ x"),
    ("ALTER TABLE t SET (password = 's3cret')", "ALTER TABLE t SET (password = '******')"),
    ("SET 'a.password' = s3cret x; SELECT 1", "SET 'a.password' = ******; SELECT 1"),
    ("SET a.password='s3cret'", "SET a.password='******'"),
    (f"{WITH}'url' = 'host=x password=''s3cret x''')", f"{WITH}'url' = 'host=x password=******'')"),
    ("CREATE VIEW v AS SELECT 1 FROM t WHERE token = 'x'", "CREATE VIEW v AS SELECT 1 FROM t WHERE token = 'x'"),
    ("CREATE TABLE t (password STRING, token INT COMMENT 'secret') WITH ('a' = 'b')",
     "CREATE TABLE t (password STRING, token INT COMMENT 'secret') WITH ('a' = 'b')"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "shown"), WRONG)
def test_statements_that_cannot_be_read(statement: str, shown: str) -> None:
    assert mask_statement(statement) == shown
    assert "s3cret" not in blot(statement) and len(blot(statement)) == len(statement)


@pytest.mark.parametrize("text", ["a" * 50_000, "a." * 25_000, "a=" * 25_000, "'" * 50_001, "x://" * 10_000])
def test_long_texts_take_no_time(text: str) -> None:
    begun = time.process_time()
    blot(f"SELECT '{text}")
    mask_text(text)
    assert time.process_time() - begun < 20, "the time grows with the square of the length"


@pytest.mark.parametrize(("statement", "shown"), STATEMENTS)
def test_statements(statement: str, shown: str) -> None:
    assert mask_statement(statement) == shown
    assert mask_statement(shown) == shown


def test_options_keep_their_order_and_names() -> None:
    shown = mask_options({"url": "x://a:b@c", "password": "p", "a": "1"})
    assert list(shown.items()) == [("url", "x://a:******@c"), ("password", HIDDEN), ("a", "1")]


@pytest.mark.parametrize("statement", [statement for statement, _ in STATEMENTS])
def test_places_stay_where_text_is_blotted_out(statement: str) -> None:
    blotted = blot(statement)
    assert len(blotted) == len(statement) and "s3cret" not in blotted
    assert all(a in (b, "*") for a, b in zip(blotted, statement))
    assert blot("'password'\n= 'two\nlines'") == "'password'\n= '***\n*****'"


@given(st.text(), st.text())
def test_any_text_can_be_masked(name: str, text: str) -> None:
    mask(name, text)
    mask_text(text)
    mask_statement(text)
    assert len(blot(text)) == len(text)
