"""What all packages use: names, errors, records, folders, logs, secrets, processes (PyFlink: ``pyflink.util``)."""
