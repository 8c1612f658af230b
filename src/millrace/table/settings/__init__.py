"""What a program chooses: modes, settings, kinds of changes. ``millrace.table`` has the public names."""
