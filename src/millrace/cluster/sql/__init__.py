"""SQL statements of one user: session, jobs, completion. The SQL client and the SQL gateway build on it."""
