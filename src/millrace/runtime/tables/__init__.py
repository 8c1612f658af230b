"""The operators of streaming tables: they work on ``Rows``, batches of rows in columns with their row kinds."""
