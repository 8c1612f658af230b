"""Cassandra: tables read, looked up and written, and PyFlink's sink."""
