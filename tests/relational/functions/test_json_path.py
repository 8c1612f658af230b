from __future__ import annotations

from typing import Any

import pytest

from millrace.relational.functions.json_reading import InvalidPath, MissingPath, read_path
from millrace.relational.functions.json_text import read_json

# the store of the article in which JSON paths were proposed
STORE = read_json("""{"store": {"book": [
  {"category": "reference", "author": "Rees", "title": "Sayings", "price": 8.95},
  {"category": "fiction", "author": "Waugh", "title": "Sword", "price": 12.99},
  {"category": "fiction", "author": "Melville", "title": "Moby Dick", "isbn": "0-553", "price": 8.99},
  {"category": "fiction", "author": "Tolkien", "title": "The Lord", "isbn": "0-395", "price": 22.99}],
  "bicycle": {"color": "red", "price": 19.95}}, "none": null, "a b": {"c.d": 1}}""")
AUTHORS = ["Rees", "Waugh", "Melville", "Tolkien"]


@pytest.mark.parametrize(
    ("path", "gives"),
    [
        ("$.store.bicycle.color", "red"),
        ("store.bicycle.color", "red"),
        ("$['store']['bicycle']['color']", "red"),
        ("$.store.book[0].author", "Rees"),
        ("$.store.book[-1].author", "Tolkien"),
        ("$.store.book[last].author", "Tolkien"),
        ("$.['a b'].['c.d']", 1),
        ('$["a b"]["c.d"]', 1),
        ("$.none", None),
        ("$.store.bicycle['color', 'size']", {"color": "red"}),
        ("$.store.book[*].author", AUTHORS),
        ("$..author", AUTHORS),
        ("$..book[2].title", ["Moby Dick"]),
        ("$.store.book[0,1].author", AUTHORS[:2]),
        ("$.store.book[1:3].author", AUTHORS[1:3]),
        ("$.store.book[:2].author", AUTHORS[:2]),
        ("$.store.book[-2:].author", AUTHORS[2:]),
        ("$.store.book[*].isbn", ["0-553", "0-395"]),
        ("$.store.bicycle.*", ["red", STORE["store"]["bicycle"]["price"]]),
        ("$.store.bicycle[*][*]", []),
        ("$..*", None),
        ("$.store.book[?(@.isbn)].author", AUTHORS[2:]),
        ("$.store.book[?(!(@.isbn))].author", AUTHORS[:2]),
        ("$.store.book[?(@.price < 10)].author", ["Rees", "Melville"]),
        ("$.store.book[?(@.price < 10 && @.category == 'fiction')].author", ["Melville"]),
        ("$.store.book[?(@.author == 'Rees' || @['price'] >= 22.99)].author", ["Rees", "Tolkien"]),
        ("$.store.book[?(@.title =~ /the.*/i)].author", ["Tolkien"]),
        ("$.store.book[?(@.title < 10)].author", []),
        ("lax $.store.nothing.more", None),
        ("LAX $.store.nothing[*]", []),
        ("strict  $.store.bicycle.color", "red"),
    ],
)
def test_paths_lead_to(path: str, gives: Any) -> None:
    found = read_path(path).find(STORE)
    if path == "$..*":
        assert len(found) == 30
    else:
        assert found == gives


@pytest.mark.parametrize(
    "path", ["$.nothing", "$.store.nothing.more", "$.store[0]", "$.none.more", "$.store.book[9]", "$.store.book.author"]
)
def test_strict_paths_that_lead_nowhere_are_errors(path: str) -> None:
    with pytest.raises(MissingPath):
        read_path(path).find(STORE)


@pytest.mark.parametrize("path", ["", "  ", "$.", "$[", "$.a[", "$.a[]", "$.a[x]", "$['a'", "$.a b"])
def test_wrong_paths_are_refused(path: str) -> None:
    with pytest.raises(InvalidPath):
        read_path(path)


@pytest.mark.parametrize("path", ["$.a.keys()", "$.a[?(@.b in ['x'])]", "$.a[?(1 +)]"])
def test_what_is_not_supported_says_so(path: str) -> None:
    with pytest.raises(NotImplementedError, match="JSON path"):
        read_path(path)


@pytest.mark.parametrize(
    ("document", "path", "gives"),
    [
        ({"a": [1, 2]}, "$.a.size()", 2),
        ({"a": {"b": 1}}, "$.a.length()", 1),
        ({"a": "text"}, "$.a.length()", 4),
        ([[], [1]], "$.length()", 2),
    ],
)
def test_sizes(document: object, path: str, gives: int) -> None:
    assert read_path(path).find(document) == gives


def test_a_number_has_no_size() -> None:
    with pytest.raises(MissingPath):
        read_path("$.a.size()").find({"a": 1})
    assert read_path("lax $.a.size()").find({"a": 1}) is None
