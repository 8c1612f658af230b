"""The grammar of queries, expressions and types: functions that read from a ``Cursor`` and give trees."""
