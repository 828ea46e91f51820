"""The operations as users call them: they take tensors and return tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

import torch
from torch import Tensor

from libsparse._ops import products
from libsparse._ops.attention import attention as _attention
from libsparse._ops.einsum import einsum as _einsum
from libsparse._ops.evaluate import evaluate as _evaluate
from libsparse._storage.format import Format
from libsparse._storage.ordinary import in_transform
from libsparse._trace.tracers import leave_alone

from . import repeated
from .in_transforms import seen
from .recording import current, recorders
from .sparse_tensor import SparseTensor, operations

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _first(values: Any) -> Any:
    """The first SparseTensor among some arguments, also in lists."""
    for value in values:
        found = _first(value) if isinstance(value, (list, tuple)) else value
        if isinstance(found, SparseTensor):
            return found
    return None


def _of_tensors(operation: Callable[_Arguments, Any]) -> Callable[_Arguments, Any]:
    """An operation that returns tensors in place of operands."""

    @functools.wraps(operation)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Any:
        if torch.compiler.is_dynamo_compiling():
            found = _first((*args, *kwargs.values()))
            if found is not None:
                return found._operation(name, *args, **kwargs)
        if recorders and (recorder := current()) is not None:
            return recorder.take(call, args, kwargs)
        if in_transform() is not None:
            args, kwargs = tuple(map(seen, args)), {key: seen(value) for key, value in kwargs.items()}  # type: ignore[assignment]
        return repeated.call(call, operation, args, kwargs)

    name = operation.__name__
    operations[name] = operation

    call.__module__ = "libsparse"
    # help() and the reference show that a tensor is returned, and would follow __wrapped__ to the operation's own.
    call.__signature__ = inspect.signature(operation).replace(return_annotation="Tensor")  # type: ignore[attr-defined]
    del call.__wrapped__
    return call


leave_alone(_of_tensors(products.sddmm))  # and with it all of them, whose code it has


def _typed(call: Callable[_Arguments, Any], kind: type[_Result]) -> Callable[_Arguments, _Result]:
    """A function whose results are always of one kind, for type checkers."""
    return call


if TYPE_CHECKING:
    _Sparse = Literal["csr", "csc", "coo", "dcsr", "dcsc", "csf", "dia", "ell", "ds", "ss", "s"]

    @overload
    def einsum(
        equation: Any, *operands: Any, format: _Sparse, reduce: str = "sum", combine: str = "mul"
    ) -> SparseTensor: ...
    @overload
    def einsum(
        equation: Any,
        *operands: Any,
        format: str | Format | None = None,
        reduce: str = "sum",
        combine: str = "mul",
    ) -> Tensor | SparseTensor: ...
    def einsum(equation: Any, *operands: Any, **options: Any) -> Any: ...

    @overload
    def evaluate(
        text: str, *, format: _Sparse, reduce: str = "sum", combine: str = "mul", **operands: Any
    ) -> SparseTensor: ...
    @overload
    def evaluate(
        text: str, *, format: str | Format | None = None, reduce: str = "sum", combine: str = "mul", **operands: Any
    ) -> Tensor | SparseTensor: ...
    def evaluate(text: str, **operands: Any) -> Any: ...

    @overload
    def matmul(a: SparseTensor, b: SparseTensor, reduce: str = "sum", format: None = None) -> SparseTensor: ...
    @overload
    def matmul(a: Any, b: Any, reduce: str = "sum", *, format: _Sparse) -> SparseTensor: ...
    @overload
    def matmul(a: Any, b: Any, reduce: str = "sum", format: str | Format | None = None) -> Tensor: ...
    def matmul(a: Any, b: Any, reduce: str = "sum", format: Any = None) -> Any: ...

else:
    einsum = _of_tensors(_einsum)
    evaluate = _of_tensors(_evaluate)
    matmul = _of_tensors(products.matmul)
mm = mv = spmm = spmv = spgemm = matmul
sddmm = _typed(_of_tensors(products.sddmm), SparseTensor)
mttkrp = _typed(_of_tensors(products.mttkrp), Tensor)
attention = _typed(_of_tensors(_attention), Tensor)
