"""Problems, and calls that compute them, on patterns and plain torch tensors."""
