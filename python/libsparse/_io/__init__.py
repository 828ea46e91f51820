"""Files of tensors."""
