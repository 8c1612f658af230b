"""SQL: from text to statements, and from statements to plans."""
