"""The data that the learned model is trained on, and its training."""
