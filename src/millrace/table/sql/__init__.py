"""SQL: text to statements, statements to plans."""
