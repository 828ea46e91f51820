"""`ls.compile`: operations of one call, put together where one expression computes several."""
