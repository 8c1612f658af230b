"""Values and types between Python, pandas, streams and tables, and their text."""
