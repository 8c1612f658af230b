"""ClickHouse over HTTP: tables read, looked up and written."""
