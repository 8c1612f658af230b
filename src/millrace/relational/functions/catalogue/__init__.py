"""The list of all built-in functions: this room imports all others, so none may import it but when it is needed."""
