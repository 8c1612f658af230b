"""The relational core: data types, bound expressions, the nodes of a plan, built-in functions. Nothing here runs."""
