"""Table connectors that capture databases: ``postgres-cdc``, and by name those that are not here."""
