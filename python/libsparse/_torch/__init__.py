"""torch's own functions and layouts, computed by libsparse."""

from . import autograd, elementwise, products, shape, unary  # they register what they implement

__all__ = ["autograd", "elementwise", "products", "shape", "unary"]
