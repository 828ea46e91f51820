"""Problems, and calls that compute them, on patterns and plain torch tensors."""

from . import conversion as conversion  # registers how patterns are brought to other formats
