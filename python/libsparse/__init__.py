"""libsparse: a sparse tensor compiler for PyTorch.

    import libsparse as ls
    A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
    y = A @ torch.ones(2, 3)

Importing the package starts no compiler and loads no native code; the first new expression does.
"""

from __future__ import annotations as _annotations

import gc as _gc
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

# Nothing that an import makes is garbage soon, and a collection looks through torch's objects as well.
_collects = _gc.isenabled()
_gc.disable()
try:
    from ._autograd.tape import register as _register_gradients
    from ._autograd.tape import register_others as _register_others
    from ._autograd.transforms import compute as _compute_transformed
    from ._autograd.transforms import dual as _compute_dual
    from ._compiler.settings import options
    from ._compiler.settings import set_tuner as _set_tuner
    from ._compiler.version import VERSION as __version__
    from ._lang.errors import (
        DenseResultWarning,
        DivisionByZeroError,
        DtypeError,
        FormatError,
        IndexBoundsError,
        InternalError,
        LibsparseError,
        ShapeError,
        ToolchainError,
        UnsupportedError,
    )
    from ._lang.errors import MissingAttributeError as _MissingAttributeError
    from ._lang.user_functions import register, unregister
    from ._ops import product_gradient as _product_gradient
    from ._ops.tracing import Operators as _Operators
    from ._ops.tracing import operators as _traced_operators
    from ._runtime.conversion import carry as _carry
    from ._runtime.conversion import convert as _convert
    from ._storage.conversion import set_converter as _set_converter
    from ._storage.pattern import restore_pattern as _restore_pattern  # noqa: F401  # files name it
    from ._storage.sorting import in_c as _sorting_in_c
    from ._tensor import sparse_tensor as _sparse_tensor  # noqa: F401  # what is unpickled needs the class
    from ._tensor.copying import restore_tensor as _restore_tensor  # noqa: F401  # files name it
    from ._tensor.dispatch_table import load as _load_functions
    from ._tensor.dispatch_table import set_loader as _set_loader
    from ._tensor.missing import function_suggestion as _function_suggestion
    from ._torch import imports as _imports
    from ._trace.building import assemble as _assemble_traced
    from ._trace.building import checked as _checked
    from ._trace.compute import compute as _compute_traced
    from ._trace.moves import move as _move
finally:
    if _collects:
        _gc.enable()

if _TYPE_CHECKING:
    from collections.abc import Sequence as _Sequence

    from . import dglsp, linalg, nn, sampling
    from ._compiler.cache import cache
    from ._fusion.compiled import compile
    from ._io.files import read, write
    from ._runtime.problem import Operand as _Operand
    from ._runtime.problem import Problem as _Problem
    from ._runtime.steps import Result as _Result
    from ._storage.format import Format
    from ._storage.pattern import Pattern
    from ._tensor.constructors import from_coo, from_edge_index, from_mask, from_topk, tensor
    from ._tensor.from_arrays import from_bsr, from_csc, from_csr, from_levels
    from ._tensor.functions import attention, einsum, evaluate, matmul, mm, mttkrp, mv, sddmm, spgemm, spmm, spmv
    from ._tensor.generators import diag, eye, random
    from ._tensor.sparse_tensor import SparseTensor
    from ._tools.doctor import doctor
    from ._tools.explain import explain
    from ._tools.schedule import Schedule, schedule
    from ._tools.tune import tune
    from ._torch.interop import from_scipy, from_torch
    from ._torch.overrides import disable, enable, override

# The modules of the classes. To read a class's name is to want all of its methods, with their documentation.
_CLASSES = {"Format": "_storage.format", "Pattern": "_storage.pattern", "SparseTensor": "_tensor.sparse_tensor"}

# Parts of the package that users name, which load with their first use.
_MODULES = ("dglsp", "linalg", "nn", "sampling")

# The modules of names that load with the first use of one: a program uses few of them.
_LAZY = {
    **_CLASSES,
    "cache": "_compiler.cache",
    "compile": "_fusion.compiled",
    **dict.fromkeys(("read", "write"), "_io.files"),
    **dict.fromkeys(("from_coo", "from_edge_index", "from_mask", "from_topk", "tensor"), "_tensor.constructors"),
    **dict.fromkeys(("from_bsr", "from_csc", "from_csr", "from_levels"), "_tensor.from_arrays"),
    **dict.fromkeys(
        ("attention", "einsum", "evaluate", "matmul", "mm", "mttkrp", "mv", "sddmm", "spgemm", "spmm", "spmv"),
        "_tensor.functions",
    ),
    **dict.fromkeys(("diag", "eye", "random"), "_tensor.generators"),
    "doctor": "_tools.doctor",
    "explain": "_tools.explain",
    **dict.fromkeys(("Schedule", "schedule"), "_tools.schedule"),
    "tune": "_tools.tune",
    **dict.fromkeys(("from_scipy", "from_torch"), "_torch.interop"),
    **dict.fromkeys(("disable", "enable", "override"), "_torch.overrides"),
}

__all__ = [
    "DenseResultWarning",
    "DivisionByZeroError",
    "DtypeError",
    "Format",
    "FormatError",
    "IndexBoundsError",
    "InternalError",
    "LibsparseError",
    "Pattern",
    "Schedule",
    "ShapeError",
    "SparseTensor",
    "ToolchainError",
    "UnsupportedError",
    "__version__",
    "attention",
    "cache",
    "compile",
    "dglsp",
    "diag",
    "disable",
    "doctor",
    "einsum",
    "enable",
    "evaluate",
    "explain",
    "eye",
    "from_bsr",
    "from_coo",
    "from_csc",
    "from_csr",
    "from_edge_index",
    "from_levels",
    "from_mask",
    "from_scipy",
    "from_topk",
    "from_torch",
    "linalg",
    "matmul",
    "mm",
    "mttkrp",
    "mv",
    "nn",
    "options",
    "override",
    "random",
    "read",
    "register",
    "sampling",
    "schedule",
    "sddmm",
    "spgemm",
    "spmm",
    "spmv",
    "tensor",
    "tune",
    "unregister",
    "write",
]


def __dir__() -> list[str]:
    """The names that users find; everything else is private."""
    return [*__all__, *(name for name in globals() if name.startswith("__") and name not in __all__)]


def __getattr__(name: str) -> object:
    """Python calls it for a name that the package does not have, or has not loaded yet."""
    if name in _CLASSES:
        _load_functions()
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    if name in _LAZY:
        found = getattr(_import_module(f"{__name__}.{_LAZY[name]}"), name)
        globals()[name] = found
        return found
    raise _MissingAttributeError(
        f"libsparse has no {name!r}; {_function_suggestion(name, __all__) or 'dir(ls) lists its names'}"
    )


def _differentiate_expression(problem: _Problem, operands: _Sequence[_Operand]) -> _Result:
    """Computes a problem that is no sum of products, followed by autograd."""
    from ._ops import expression_gradient  # a large module, which products do without

    return expression_gradient.compute(problem, operands)


def _register_functions() -> None:
    """Registers the handlers of torch's functions, and writes examples into the documentation of methods.

    The target that every request names is found out as well, and the module loaded that looks at patterns, so that the
    first call need not wait for them.
    """
    from ._compiler.target import identity
    from ._tools.examples import attach  # and some forty modules, which programs without sparse tensors do without
    from ._torch import functions

    attach(functions.CLASSES)
    identity()
    _sorting_in_c()


def _tune_in_background() -> None:
    from ._tools.background import manager  # few programs do

    manager.apply()


# What lies below calls functions that lie above: patterns are converted, and problems differentiated, by kernels.
_set_converter(_convert, _carry)
_traced_operators.append(_Operators(_move, _assemble_traced, _checked))
_register_others(_compute_traced, _compute_dual, _compute_transformed)
_register_gradients(product=_product_gradient.compute, expression=_differentiate_expression)
_set_loader(_register_functions)
_set_tuner(_tune_in_background)


def _accept_in_geometric() -> None:
    """Makes PyG's layers take SparseTensors; an import of PyG never fails for it."""
    try:
        from .nn import geometric

        geometric.accept()
    except Exception as error:
        import warnings

        warnings.warn(f"libsparse does not know this version of torch_geometric: {error!r}", stacklevel=2)


_imports.when_imported("torch_geometric.nn", _accept_in_geometric)
