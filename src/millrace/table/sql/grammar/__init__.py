"""The grammar of queries, expressions, types and statements: functions that read from a ``Cursor``.

    cursor  <-  types  <-  expressions  <-  clauses  <-  calls  <-  queries  <-  create, alter  <-  parser

Expressions hold calls and queries: they reach those rules through ``Cursor.upper``.
"""
