"""torch's own functions on SparseTensors: a table from function to handler, consulted above autograd.

What is not in the table is refused by name; nothing falls back to a dense tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops import division, einsum, elementwise, products, reductions
from libsparse._tensor import sparse_tensor

Handler = Callable[..., Any]

# Functions f with f(0) = 0, for some of them with the right arguments only: they act on the stored values alone.
_ZERO_PRESERVING = [
    "abs",
    "absolute",
    "neg",
    "negative",
    "positive",
    "sqrt",
    "square",
    "sign",
    "sgn",
    "sin",
    "tan",
    "sinh",
    "tanh",
    "asin",
    "arcsin",
    "atan",
    "arctan",
    "asinh",
    "arcsinh",
    "atanh",
    "arctanh",
    "expm1",
    "log1p",
    "erf",
    "erfinv",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fix",
    "frac",
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "hardtanh",
    "hardswish",
    "softsign",
    "tanhshrink",
    "softshrink",
    "hardshrink",
    "deg2rad",
    "rad2deg",
    "nan_to_num",
    "conj",
    "conj_physical",
    "resolve_conj",
    "resolve_neg",
    "real",
    "imag",
    "angle",
]
# Questions about a tensor that the wrapper answers as any tensor does.
_PASSED = [
    "dim",
    "ndimension",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "element_size",
    "is_contiguous",
    "__hash__",
    "stride",
    "storage_offset",
    "is_same_size",
    "is_conj",
    "is_neg",
    "is_inference",
    "__setattr__",
    "__dir__",
    "type",
    "__format__",
]
_CONVERSIONS = {
    "bool": torch.bool,
    "byte": torch.uint8,
    "char": torch.int8,
    "short": torch.int16,
    "int": torch.int32,
    "long": torch.int64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "float": torch.float32,
    "double": torch.float64,
    "cfloat": torch.complex64,
    "cdouble": torch.complex128,
}
_table: dict[Any, Handler] = {}
_passed: set[Any] = set()


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the handler of a function of torch.

    Raises:
        UnsupportedError: There is none.
    """
    handler = _table.get(func)
    if handler is not None:
        return handler(*args, **kwargs)
    if func in _passed or getattr(func, "__name__", "") == "__get__":
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    raise UnsupportedError(
        f"{_title(func)} is not supported on an ls.SparseTensor yet; work on A.values() or A.to_dense()"
    )


def _title(func: Any) -> str:
    """What users call a function of torch."""
    name = str(getattr(func, "__name__", "") or repr(func))
    owner = str(getattr(func, "__qualname__", "")).partition(".")[0]
    if name == "__getitem__":
        return "A[...]"
    if name.startswith("_sparse_"):
        return f"torch.sparse.{name.removeprefix('_sparse_')}"
    return f"torch.Tensor.{name}" if owner in ("Tensor", "TensorBase", "_TensorBase") else f"torch.{name.lstrip('_')}"


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Handles the few operators that torch applies to any tensor below autograd."""
    aten = torch.ops.aten
    if func in (aten.detach.default, aten.alias.default):
        return args[0].detach()
    if func is aten.clone.default:
        return args[0].detach().clone()
    if func is aten._to_copy.default:
        return args[0].detach().to(dtype=kwargs.get("dtype"), copy=True)
    raise UnsupportedError(f"{func} is not supported on an ls.SparseTensor")


def _register(handler: Handler, *functions: Any) -> None:
    for function in functions:
        if function is not None:
            _table[function] = handler


def _found(name: str, *places: Any) -> Iterable[Any]:
    return [getattr(place, name) for place in places if hasattr(place, name)]


def _unary(function: Any, *, random: bool = False) -> Handler:
    def handler(source: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(source, sparse_tensor.SparseTensor):
            raise UnsupportedError("a SparseTensor is supported as the first argument of this function only")
        if kwargs.pop("inplace", False):
            raise UnsupportedError("in-place functions are not supported on an ls.SparseTensor; use the result")
        if "out" in kwargs:
            raise UnsupportedError("out= is not supported on an ls.SparseTensor; use the result")
        if (args or kwargs) and not random:  # a random function keeps zeros; trying it would draw a number
            zero = function(torch.zeros(1, dtype=source.dtype, device="cpu"), *args, **kwargs)
            if bool(zero != 0):
                raise UnsupportedError(
                    f"{function.__name__} with these arguments makes {zero.item()} of 0: a fill value other than 0 is "
                    "not supported yet; use A.map(fn) for the stored values or A.to_dense()"
                )
        return source.map(lambda values: function(values, *args, **kwargs))

    return handler


def _matmul(a: Any, b: Any, **kwargs: Any) -> Any:
    # The operator has the short cut.
    return a @ b if isinstance(a, sparse_tensor.SparseTensor) and not kwargs else products.matmul(a, b, **kwargs)


def _ranked(name: str, left: int, right: int) -> Handler:
    """A product that torch takes for tensors of certain ranks only."""

    def handler(a: Any, b: Any) -> Any:
        if isinstance(a, Tensor) and isinstance(b, Tensor) and (a.ndim, b.ndim) != (left, right):
            raise ShapeError(
                f"{name} takes tensors of {left} and {right} dimensions, got shapes {tuple(a.shape)} and "
                f"{tuple(b.shape)}; torch.matmul takes any"
            )
        return _matmul(a, b)

    return handler


def _sparse_mm(a: Any, b: Any, reduce: str = "sum") -> Any:
    return _matmul(a, b) if reduce == "sum" else products.matmul(a, b, reduce)


def _addmm(base: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = products.matmul(a, b)
    try:
        fits = torch.broadcast_shapes(base.shape, product.shape) == product.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"operand 0 has shape {tuple(base.shape)}, the product {tuple(product.shape)}; the first has to broadcast "
            "to the second"
        )
    product = product if alpha == 1 else product * alpha
    if beta == 0:  # whatever is in the base, NaN too, is ignored
        return product
    return product + (base if beta == 1 else base * beta)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    letters = "i" if x.ndim == 1 else "ni" if x.ndim == 2 else "...i"
    out = einsum.einsum(f"{letters},oi->{letters[:-1]}o", x, weight, format="dense")
    return out if bias is None else out + bias


def sampled_addmm(base: Any, a: Tensor, b: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """`beta * base + alpha * (a @ b)` at the entries of `base`."""
    product = products.sddmm(base.with_values(None), a, b) * alpha
    return product if beta == 0 else product + base * beta


def _einsum(equation: str, *operands: Any) -> Any:
    flat = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return einsum.einsum(equation, *flat)


def _add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    return elementwise.add(a, b if alpha == 1 else b * alpha)


def _sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    return elementwise.subtract(a, b if alpha == 1 else b * alpha)


def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    if not isinstance(target, sparse_tensor.SparseTensor) or not isinstance(source, sparse_tensor.SparseTensor):
        raise DtypeError("copy_ between sparse and dense tensors is not possible; use to_dense or ls.tensor")
    same = target.pattern is source.pattern or (
        target.shape == source.shape and torch.equal(target.indices(), source.indices())
    )
    if not same or target._values is None:
        raise ShapeError(f"copy_ needs two tensors with the same entries, got {target.pattern} and {source.pattern}")
    target._values.copy_(source.values())
    return target


def _backward(source: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
    source.values().backward(_plain(gradient), *args, **kwargs)


def _grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    made = torch.autograd.grad(_plain(outputs), [_plain(i) for i in wanted], _plain(grad_outputs), *args, **kwargs)
    return tuple(
        g if g is None or not isinstance(i, sparse_tensor.SparseTensor) else i.with_values(g)
        for i, g in zip(wanted, made, strict=True)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, sparse_tensor.SparseTensor):
        return value.values()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _swap(a: Any, dim0: int, dim1: int) -> Any:
    return a.transpose(dim0, dim1)


def _fill_table() -> None:
    for name in _ZERO_PRESERVING:
        for function in _found(name, torch, Tensor, F):
            _register(_unary(function), function)
    _register(_unary(F.dropout, random=True), F.dropout, *_found("dropout", torch))
    for name in _PASSED:
        _passed.update(_found(name, torch, Tensor))
    both = torch, Tensor
    for name in ("matmul", "spmm", "__matmul__"):
        _register(_matmul, *_found(name, *both))
    for name, ranks in (("mm", (2, 2)), ("mv", (2, 1)), ("bmm", (3, 3))):
        _register(_ranked(name, *ranks), *_found(name, *both))
    _register(lambda a, b: products.matmul(b, a), *_found("__rmatmul__", Tensor))
    _register(_sparse_mm, torch.sparse.mm)
    for name in ("addmm", "addmv", "baddbmm"):
        _register(_addmm, *_found(name, *both, torch.sparse))
    _register(sampled_addmm, *_found("sampled_addmm", torch.sparse))
    _register(_linear, F.linear)
    _register(_einsum, torch.einsum)
    for name in ("mul", "multiply", "__mul__", "__rmul__"):
        _register(elementwise.multiply, *_found(name, *both))
    for name in ("div", "divide", "true_divide", "__truediv__"):
        _register(division.divide, *_found(name, *both))
    for name, handler in (
        ("floor_divide", division.floor_divide),
        ("remainder", division.remainder),
        ("fmod", division.fmod),
        ("pow", division.power),
    ):
        _register(handler, *_found(name, *both))
    for name, handler in (
        ("floordiv", division.floor_divide),
        ("mod", division.remainder),
        ("pow", division.power),
    ):
        _register(handler, *_found(f"__{name}__", Tensor))
        _register(lambda a, b, handler=handler: handler(b, a), *_found(f"__r{name}__", Tensor))
    for name in ("add", "__add__", "__radd__"):
        _register(_add, *_found(name, *both))
    for name in ("sub", "subtract", "__sub__"):
        _register(_sub, *_found(name, *both))
    _register(lambda a, b: _sub(b, a), *_found("__rsub__", Tensor))
    _register(reductions.sum, *_found("sum", *both, torch.sparse))
    _register(reductions.mean, *_found("mean", *both))
    for name in ("transpose", "swapaxes", "swapdims"):
        _register(_swap, *_found(name, *both))
    _register(lambda a: a.numel(), *_found("numel", *both))
    _register(lambda a, *dim: a.size(*dim), Tensor.size)
    _register(lambda a: a.t(), *_found("t", *both))
    _register(lambda a, dims: a.permute(dims), torch.permute)
    _register(lambda a, **_: a.clone(), *_found("clone", *both))
    _register(lambda a: a.detach(), *_found("detach", *both), Tensor.data.__get__)  # type: ignore[attr-defined]
    _register(_copy, Tensor.copy_)
    _register(_backward, Tensor.backward)
    _register(_grad, torch.autograd.grad)
    _register(lambda a, hook: a.values().register_hook(hook), Tensor.register_hook)
    _register(lambda a: a.values().retain_grad(), Tensor.retain_grad)
    _register(lambda a: all(t.is_shared() for t in (*a.pattern.tensors(), a.values())), Tensor.is_shared)
    _register(_unary(torch.real), Tensor.real.__get__)  # type: ignore[attr-defined]
    _register(_unary(torch.imag), Tensor.imag.__get__)  # type: ignore[attr-defined]
    _register(lambda a: a.mT.map(torch.conj), *_found("adjoint", *both))
    for turned in (Tensor.mH, Tensor.H):
        _register(lambda a: a.mT.map(torch.conj), turned.__get__)  # type: ignore[attr-defined]
    for name, dtype in _CONVERSIONS.items():
        _register(lambda a, dtype=dtype, **_: a.to(dtype), *_found(name, Tensor))
    _register(lambda a, other: a.to(other.dtype), Tensor.type_as)
    _register(lambda a, **_: a, Tensor.cpu)


_fill_table()
