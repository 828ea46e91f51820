"""The kernels that are measured: their operands, and references in float64."""

from . import elementwise, products, sampled, sparse_products, structure, tensors
from .kernel import Kernel

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for group in (products, sampled, sparse_products, elementwise, tensors, structure)
    for kernel in group.KERNELS
}
