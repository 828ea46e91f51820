"""torch's functions on SparseTensors: a table from function to handler, consulted above autograd.

A function that is not in the table is refused by name; nothing falls back to a dense tensor. `_torch` fills it when the
first SparseTensor is made. A first call would be too late: torch's methods refuse arrays of NumPy before they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._C import _functorch
from torch._C._functorch import is_batchedtensor
from torch.nn import functional

from libsparse._lang.errors import UnsupportedError

handlers: dict[Any, Callable[..., Any]] = {}
passed: set[Any] = set()
"""Questions about a tensor that the wrapper answers as any tensor does."""
loaders: list[Callable[[], None]] = []
"""The function that fills the table, until it has."""


def set_loader(loader: Callable[[], None]) -> None:
    """Says which function fills the table."""
    loaders.append(loader)


def load() -> None:
    """Fills the table, once."""
    while loaders:
        loader = loaders[0]
        loader()  # other threads that come here meanwhile wait for the imports in it
        if loader in loaders:
            loaders.remove(loader)


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], types: Iterable[type] = ()) -> Any:
    """Calls the handler of a function of torch; `types` are those of the arguments which torch asks for results.

    Raises:
        UnsupportedError: There is none.
    """
    if not all(issubclass(kind, torch.Tensor) for kind in types):  # another library's type, or a proxy, has its turn
        return NotImplemented
    handler = handlers.get(func)
    if handler is not None:
        return handler(*args, **kwargs)
    if func in passed or isinstance(func, torch._ops.OpOverload) or getattr(func, "__name__", "") == "__get__":
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    raise UnsupportedError(
        f"{title(func)} is not supported on an ls.SparseTensor{_facts((*args, *kwargs.values()))} yet; "
        f"{_alternative(func)}work on A.values(), its stored entries, or A.to_dense()"
    )


_OURS = {
    **dict.fromkeys(
        ["solve", "solve_ex", "lu_factor", "lu_solve", "inv", "inv_ex", "inverse"], "ls.linalg.solve(A, b)"
    ),
    **dict.fromkeys(["cholesky", "cholesky_solve", "tensorsolve"], "ls.linalg.solve(A, b)"),
    **dict.fromkeys(["eigh", "eigvalsh", "eig", "eigvals"], "ls.linalg.eigsh(A)"),
    **dict.fromkeys(["svd", "svdvals"], "ls.linalg.svds(A)"),
    "lstsq": "scipy.sparse.linalg.lsqr(A.as_linear_operator(), b)",
    **dict.fromkeys(["sort", "argsort", "msort"], "A.topk(k, dim) for the k greatest elements, in their order"),
    "eye": "A.copy_(torch.eye(*A.shape).sparse_mask(A)) in place of torch.nn.init.eye_(A)",
    "index_add_": "A.index_add(dim, index, source)",
    "embedding": "A[ids] for rows of A, which are sparse",
}
"""What there is in place of functions that are torch's alone, by their names without that of the module."""


def _facts(arguments: Iterable[Any]) -> str:
    """Shape and format of the first sparse tensor among arguments, also in lists, in parentheses."""
    for value in arguments:
        found = _facts(value) if isinstance(value, (list, tuple)) else ""
        if hasattr(type(value), "_operand"):
            found = f" ({value._operand()})"
        if found:
            return found
    return ""


def _alternative(func: Any) -> str:
    """A function that serves, or with a close name, as the beginning of an advice; empty where there is none."""
    own = title(func).rpartition(".")[2]
    if own in _OURS:
        return f"use {_OURS[own]}; else "
    names = {title(known).rpartition(".")[2] for known in handlers}
    close = sorted(name for name in names if min(len(name), len(own)) > 4 and _extends(name, own))
    return f"did you mean {' or '.join(close[:3])}? Else " if close else ""


def _extends(first: str, second: str) -> bool:
    """Whether the second name is the first with something before or behind it, or the first is one of its kind.

    `squeeze_` is `squeeze` with something behind, and `spsolve` a kind of `solve`; `embedding_bag` is no `embedding`.
    """
    kind = first.removesuffix(second)
    return second.startswith(first) or second.endswith(first) or (kind != first and kind.isalpha())


def call_aten(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Handles the few operators that torch applies to any tensor below autograd."""
    aten, source = torch.ops.aten, args[0]
    values: Any = getattr(source, "_plain_values", None)
    if not hasattr(type(source), "_operand"):
        raise UnsupportedError(f"{func} is not supported on an ls.SparseTensor{_facts(args)}; use A.to_dense()")
    if func in (aten.detach.default, aten.alias.default):
        return source._rewrapped(None if values is None else values.detach())
    if func is aten.clone.default:
        return source._rewrapped(None if values is None else values.clone())
    if func is aten.zeros_like.default and values is not None:  # the gradient of what a function does not use
        return source._rewrapped(torch.zeros_like(values))
    if func is aten._to_copy.default and values is not None:
        return source._rewrapped(values.to(dtype=kwargs.get("dtype"), copy=True))
    if func in (aten.add.Tensor, aten.add_.Tensor) and len(args) == 2:  # autograd adds gradients of one pattern
        return source._rewrapped(values + args[1]._plain_values)
    if func in (aten.unsqueeze.default, aten.expand.default) and is_batchedtensor(values):
        return _out_of_vmap(source, *args[1:])
    raise UnsupportedError(
        f"{func} is not supported on an ls.SparseTensor{_facts(args)} below autograd; inside of transforms of "
        "torch.func, ls.nn.SparseLinear and functions of ls (ls.matmul(A, x) for A @ x) take one that is "
        "differentiated by; anything takes values: torch.func.grad(lambda v: f(A.with_values(v)))(A.values()) for "
        "torch.func.grad(f)(A). torch.nn.parallel.DistributedDataParallel takes a parameter of values, of which "
        "forward makes the tensor by A.with_values(values), and one that is not trained as an attribute that is no "
        "buffer"
    )


def _out_of_vmap(source: Any, given: Any) -> Any:
    """A result of `torch.vmap`, whose values are a batch on one pattern, as a tensor of one more dimension.

    torch calls unsqueeze with the number of the dimension, then expand with the shape, both below autograd;
    old ones, as 2.6, call expand alone, which is right for the first dimension.
    """
    values = source._held
    if _functorch.is_functorch_wrapped_tensor(_functorch.get_unwrapped(values)):
        raise UnsupportedError(
            "torch.vmap inside of another transform returns no ls.SparseTensor; return its values() instead"
        )
    if isinstance(given, int):
        marked = _unfollowed(source)
        marked._batch_dim = given
        return marked
    dim, level = getattr(source, "_batch_dim", 0), _functorch.maybe_get_level(values)
    if (*given[:dim], *given[dim + 1 :]) != source.shape:
        raise UnsupportedError(f"torch {torch.__version__} returns ls.SparseTensors of torch.vmap with out_dims=0 only")
    with torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.AutogradFunctionality, False):
        rows = _functorch._remove_batch_dim(values, level, given[dim], 0).unbind()
        return _unfollowed(torch.stack([source.with_values(row) for row in rows], dim))


def _unfollowed(source: Any) -> Any:
    """A wrapper of the same values that autograd knows nothing of: torch makes it a view of another."""
    wrapper = source._rewrapped(source._plain_values)
    wrapper._hold(source._operand())
    return wrapper


def title(func: Any) -> str:
    """The name of a function of torch for users."""
    name = str(getattr(func, "__name__", "") or repr(func))
    if name in ("__get__", "__set__", "__delete__"):  # of a property
        return f"torch.Tensor.{getattr(func.__self__, '__name__', '?')}" + (" = x" if name == "__set__" else "")
    owner, home = str(getattr(func, "__qualname__", "")).partition(".")[0], str(getattr(func, "__module__", ""))
    if home.startswith("torch.distributed"):
        return f"torch.distributed.{name}"
    if name == "__getitem__":
        return "A[...]"
    if name.startswith("_sparse_"):
        return f"torch.sparse.{name.removeprefix('_sparse_')}"
    for module in ("linalg", "fft", "special"):
        if name.startswith(f"{module}_"):
            return f"torch.{module}.{name.removeprefix(module + '_')}"
    if getattr(functional, name, None) is func:
        return f"torch.nn.functional.{name}"
    return f"torch.Tensor.{name}" if owner in ("Tensor", "TensorBase", "_TensorBase") else f"torch.{name.lstrip('_')}"
