"""The columns of files, found out from the files themselves."""
