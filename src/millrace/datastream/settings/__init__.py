"""Settings of environments and jobs beyond those of PyFlink."""
