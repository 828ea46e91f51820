"""Problems and prepared kernel calls, on patterns and plain torch tensors."""
