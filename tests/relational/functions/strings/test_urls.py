"""PARSE_URL, URL_ENCODE, URL_DECODE, INET_ATON, INET_NTOA."""

from __future__ import annotations

import ipaddress

from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, FLINK, JAVA, PYTHON, SOURCE, Example, null, of

from millrace.relational import types as t

URL = "http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1"
FULL = "https://user:pw@example.org:8080/a/b?x=1#top"

EXAMPLES = [
    Example("PARSE_URL", [URL, "HOST"], "facebook.com", DOCS),
    Example("PARSE_URL", [URL, "QUERY", "k1"], "v1", DOCS),
    Example("PARSE_URL", [URL, "QUERY", "k2"], "v2", DOCS),
    Example("PARSE_URL", [URL, "QUERY", "k3"], None, SOURCE),
    Example("PARSE_URL", [URL, "HOST", "k1"], None, SOURCE),
    Example("PARSE_URL", [URL, "PATH"], "/path1/p.php", JAVA),
    Example("PARSE_URL", [URL, "QUERY"], "k1=v1&k2=v2", JAVA),
    Example("PARSE_URL", [URL, "REF"], "Ref1", JAVA),
    Example("PARSE_URL", [URL, "PROTOCOL"], "http", JAVA),
    Example("PARSE_URL", [URL, "FILE"], "/path1/p.php?k1=v1&k2=v2", JAVA),
    Example("PARSE_URL", [URL, "USERINFO"], None, JAVA),
    Example("PARSE_URL", [URL, "host"], None, SOURCE),
    Example("PARSE_URL", [FULL, "AUTHORITY"], "user:pw@example.org:8080", JAVA),
    Example("PARSE_URL", [FULL, "USERINFO"], "user:pw", JAVA),
    Example("PARSE_URL", [FULL, "HOST"], "example.org", JAVA),
    Example("PARSE_URL", ["not a url", "HOST"], None, SOURCE),
    Example("PARSE_URL", ["strange://host", "HOST"], None, JAVA),
    Example("PARSE_URL", [URL, null(t.string())], None, DOCS),
    Example("URL_ENCODE", ["a b&c=d/é~*"], "a+b%26c%3Dd%2F%C3%A9%7E*", JAVA),
    Example("URL_ENCODE", ["https://flink.apache.org/"], "https%3A%2F%2Fflink.apache.org%2F", SOURCE),
    Example("URL_ENCODE", [""], "", JAVA),
    Example("URL_DECODE", ["https%3A%2F%2Fflink.apache.org%2F"], "https://flink.apache.org/", SOURCE),
    Example("URL_DECODE", ["a+b%C3%A9"], "a bé", JAVA),
    Example("URL_DECODE", ["%2"], None, DOCS),
    Example("URL_DECODE", ["%zz"], None, DOCS),
    Example("INET_ATON", ["127.0.0.1"], of(t.BigIntType(), 2130706433), DOCS),
    Example("INET_ATON", ["127.1"], 2130706433, SOURCE),
    Example("INET_ATON", ["10.0.1"], 167772161, SOURCE),
    Example("INET_ATON", ["1"], 1, SOURCE),
    Example("INET_ATON", ["256.0.0.1"], None, SOURCE),
    Example("INET_ATON", ["1.2.3.4.5"], None, SOURCE),
    Example("INET_ATON", ["1..2"], None, SOURCE),
    Example("INET_NTOA", [2130706433], "127.0.0.1", SOURCE),
    Example("INET_NTOA", [of(t.IntType(), -1)], None, FLINK),
    Example("INET_NTOA", [of(t.BigIntType(), 2**32)], None, SOURCE),
    Example("INET_NTOA", [of(t.BigIntType(), -1)], None, SOURCE),
]


@corpus("example", EXAMPLES, 36)
def test_example(example: Example) -> None:
    example.check()


@given(st.ip_addresses(v=4))
def test_addresses_are_those_of_python(address: ipaddress.IPv4Address) -> None:
    Example("INET_ATON", [str(address)], int(address), PYTHON).check()
    Example("INET_NTOA", [of(t.BigIntType(), int(address))], str(address), PYTHON).check()


@given(st.text())
def test_what_is_encoded_is_decoded(text: str) -> None:
    (encoded,) = Example("URL_ENCODE", [text]).run(Example("URL_ENCODE", [text]).call([0]), [[text]])
    Example("URL_DECODE", [encoded], text).check()
