"""How everything here is measured: turns in random order, checked results, and what the machine can do."""
