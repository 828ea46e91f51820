"""The suites: each measures one question, prints a table with its bars, and returns what goes into the JSON."""
