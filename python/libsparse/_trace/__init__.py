"""Tracing: the operators of `torch.ops.libsparse`, through which torch's compilers see what the package computes."""
