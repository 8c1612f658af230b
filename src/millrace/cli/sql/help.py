"""What HELP shows."""

from __future__ import annotations

HELP = """\
Statements end with a semicolon; several may stand in a line, and one may take several lines.

  SELECT ..., WITH ..., VALUES ...     run a query and show its rows; Ctrl-C ends it
  INSERT INTO, INSERT OVERWRITE        start a job that writes; 'table.dml-sync' = 'true' waits for it
  EXECUTE STATEMENT SET BEGIN ... END  several INSERTs as one job
  CREATE, ALTER, DROP, USE, DESCRIBE   tables, views, functions, databases, catalogs
  SUMMARIZE t, DESCRIBE SELECT ...     figures about each column; the columns of a query
  SHOW TABLES, SHOW FUNCTIONS, ...     what there is
  EXPLAIN [details] ...                the plan: CHANGELOG_MODE, ESTIMATED_COST, PLAN_ADVICE, JSON_EXECUTION_PLAN
  SHOW JOBS                            the jobs that this client has started
  DESCRIBE JOB '<id>'                  one of them
  STOP JOB '<id>' [WITH SAVEPOINT] [WITH DRAIN]
  SET; SET '<key>' = '<value>'         show or change settings
  RESET; RESET '<key>'                 put all or one back
  HELP, CLEAR, QUIT (or EXIT)          this text; an empty screen; leave

Settings of the client:

  sql-client.execution.result-mode            tableau: rows as they come; table: a table that changes in place;
                                              changelog: the changes, page by page
  sql-client.execution.max-table-result.rows  how many rows table and changelog keep
  millrace.sql.output                         screen; csv, json, arrow: rows for other programs
  sql-client.verbose                          errors with their traceback
  sql-client.display.print-time-cost          how long statements took
  table.display.max-column-width              characters of a column of text
  execution.runtime-mode                      streaming or batch
"""
