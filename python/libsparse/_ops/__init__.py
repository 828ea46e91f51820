"""Operations on operands: einsum, assignments, products, elementwise functions and reductions.

They take users' tensors or operands, and return operands; `_tensor` makes tensors of these.
"""

from libsparse._autograd import tape

from . import expression_gradient, product_gradient

tape.register(product=product_gradient.compute, expression=expression_gradient.compute)
