"""Built-in functions of SQL and the Table API."""
