"""JSON and variants."""

from __future__ import annotations

from .entry import Entry

TOPICS = {
    "JSON": (
        Entry("IS_JSON", "'{\"a\": 1}' IS JSON OBJECT", "the text is JSON; `VALUE`, `SCALAR`, `ARRAY`, `OBJECT` say which", ("IS JSON",)),
        Entry("JSON_EXISTS", "JSON_EXISTS('{\"a\": 1}', '$.a' FALSE ON ERROR)", "the path leads to something"),
        Entry("JSON_VALUE", "JSON_VALUE('{\"a\": 1}', '$.a' RETURNING INT DEFAULT 0 ON EMPTY)", "the number, text or BOOLEAN at a path"),
        Entry("JSON_QUERY", "JSON_QUERY('{\"a\": [1, 2]}', '$.a' EMPTY ARRAY ON EMPTY)", "the JSON at a path"),
        Entry("JSON_OBJECT", "JSON_OBJECT(KEY 'k' VALUE 1, KEY 'n' VALUE NULLIF(1, 1) ABSENT ON NULL)", "an object as text"),
        Entry("JSON_ARRAY", "JSON_ARRAY(1, 'a', NULLIF(1, 1) NULL ON NULL)", "an array as text"),
        Entry("JSON", "JSON_OBJECT(KEY 'k' VALUE JSON('[1]'))", "within JSON_OBJECT and JSON_ARRAY: a text that is JSON already"),
        Entry("JSON_STRING", "JSON_STRING(ARRAY[1, 2])", "a value as JSON"),
        Entry("JSON_QUOTE", "JSON_QUOTE('say \"hi\"')", "a text as a JSON string"),
        Entry("JSON_UNQUOTE", "JSON_UNQUOTE('\"say \\\"hi\\\"\"')", "back from that"),
    ),
    "Variants": (
        Entry("PARSE_JSON", "PARSE_JSON('{\"a\": 1}')['a']", "a VARIANT of JSON, here a field of it; an error if it is none"),
        Entry("TRY_PARSE_JSON", "TRY_PARSE_JSON('{\"a\"')", "the same; NULL if it is none"),
    ),
}  # fmt: skip
