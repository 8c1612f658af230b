"""JDBC URLs: the database, the place, who comes; and errors that name what is wrong without showing a password."""

from __future__ import annotations

import pytest

from millrace.connectors.jdbc.jdbc_database import parse_url, with_database


def test_everything_that_a_url_can_say() -> None:
    dialect, target = parse_url("jdbc:postgresql://a:1,b/sales%20eu?user=u&password=p%26q&sslmode=require")
    assert dialect.title == "PostgreSQL"
    assert target.hosts == (("a", 1), ("b", 5432))
    assert (target.database, target.user, target.password) == ("sales eu", "u", "p&q")
    assert target.properties == {"sslmode": "require"}


def test_options_go_before_the_url() -> None:
    _, target = parse_url("jdbc:mysql://h/d?user=u&password=p&useSSL=false", "me", "mine", {"useSSL": "true"})
    assert (target.user, target.password, target.properties) == ("me", "mine", {"useSSL": "true"})
    assert target.hosts == (("h", 3306),)


def test_addresses_of_version_6_and_files() -> None:
    assert parse_url("jdbc:mariadb://[::1]:3307/d")[1].hosts == (("::1", 3307),)
    dialect, target = parse_url("jdbc:sqlite:/tmp/a b.db")
    assert (dialect.title, target.database, target.hosts) == ("SQLite", "/tmp/a b.db", ())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://h/d", "is no JDBC URL: it begins with one of jdbc:postgresql:, jdbc:mysql:"),
        ("jdbc:oracle:thin:@h:1521:x", "'jdbc:oracle:' is a database that Millrace has no driver for"),
        ("jdbc:postgresql:d", "names no host"),
        ("jdbc:mysql://u:secret@h/d", "are options of their own"),
        ("jdbc:mysql://h:x/d", "is no host with a port"),
    ],
)
def test_what_is_wrong(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"is|are|no") as caught:
        parse_url(url)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_another_database_at_the_same_place() -> None:
    assert with_database("jdbc:postgresql://h:1", "a b") == "jdbc:postgresql://h:1/a%20b"
    assert with_database("jdbc:mysql://h:1/x?useSSL=false", "y") == "jdbc:mysql://h:1/y?useSSL=false"
    assert with_database("jdbc:sqlite:/x", "main") == "jdbc:sqlite:/x"


def test_passwords_do_not_show() -> None:
    shown = repr(parse_url("jdbc:postgresql://h/d", "u", "very-secret", {"sslkey": "also"}))
    assert "very-secret" not in shown
    assert "also" not in shown
