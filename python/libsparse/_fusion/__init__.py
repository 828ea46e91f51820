"""`ls.compile`: the operations of one call are noted down, put together where one expression computes several, and run."""
