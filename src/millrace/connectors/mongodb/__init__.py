"""MongoDB: collections read, looked up and written."""
