"""The operators of streaming tables. They process ``Rows``: batches of rows in columns, with the kind of each row."""
