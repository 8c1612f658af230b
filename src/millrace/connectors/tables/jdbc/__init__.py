"""The table connector ``jdbc``: tables of databases, read, looked up and written."""
