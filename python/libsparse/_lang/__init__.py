"""The notation: einsum specifications, assignments, the functions that they call, scalar types, and errors."""
