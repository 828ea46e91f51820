"""Operations on operands: einsum, assignments, products, elementwise functions and reductions.

They take users' tensors or operands, and return operands; `_tensor` makes tensors of these.
"""
