"""Operations on operands: einsum, assignments, products, elementwise functions and reductions."""
