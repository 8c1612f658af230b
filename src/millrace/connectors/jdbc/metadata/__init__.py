"""What a database says about its own tables: names, columns and their types, keys, sizes."""
