"""PyFlink's helpers that mean something without Java: exceptions and stability marks."""
