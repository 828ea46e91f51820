"""How tensors are stored: formats, their levels, the arrays of a pattern, and checks of them."""
