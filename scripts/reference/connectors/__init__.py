"""Options of connectors and formats: which there are says the code, what they mean ``options.txt``."""
