"""Requests to the compiler and the kernels that it answers with; knows formats, but no tensors."""
