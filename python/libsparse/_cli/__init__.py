"""The command line: `libsparse`, or `python -m libsparse`."""
