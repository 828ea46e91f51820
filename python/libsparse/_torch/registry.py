"""The registry of torch's functions: a handler serves calls, methods, operators and torch's own layouts.

A handler takes SparseTensors (and operands of torch's layouts, as `overrides` reads them) and returns an operand or
whatever torch would. Signatures are checked here, and arguments that no handler takes are refused here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.overrides import handle_torch_function

from libsparse._lang.errors import DtypeError, UnsupportedError
from libsparse._ops import foreign
from libsparse._ops.operands import is_sparse
from libsparse._tensor import repeated
from libsparse._tensor.dispatch_table import handlers, title
from libsparse._tensor.recording import current, recorders
from libsparse._tensor.short_product import multiply_in_c, multiply_in_python, multiply_into
from libsparse._tensor.sparse_tensor import SparseTensor
from libsparse._trace.tracers import leave_alone

_Handler = TypeVar("_Handler", bound=Callable[..., Any])
_WRITABLE = frozenset({"data", "real", "imag"})  # properties that torch lets users assign to
# NumPy's names of arguments: torch takes the first two, and `np.std(A)` passes the last to `A.std`.
_NUMPYS = {"axis": "dim", "keepdims": "keepdim", "ddof": "correction"}
_PYTHONS: dict[type, torch.dtype] = {
    float: torch.float64,
    int: torch.int64,
    bool: torch.bool,
    complex: torch.complex128,
}

overridable: dict[int, bool | str] = {}
"""The identities of functions that `overrides` replaces, with the argument `layouts` of `implements`."""


def _attributes() -> dict[int, list[str]]:
    """The names that each method and property of `torch.Tensor` has."""
    found: dict[int, list[str]] = {}
    for name, value in _members(Tensor).items():
        found.setdefault(id(value), []).append(name)
    return found


def _members(owner: type) -> dict[str, Any]:
    """The attributes of a class, its own and those that it inherits from other classes than `object`."""
    return {name: value for base in owner.__mro__[-2::-1] for name, value in vars(base).items()}


def _replaced() -> dict[Any, Any]:
    """The functions of torch, by what other libraries have put in their places, as PyG does when it is imported."""
    own = torch._C._VariableFunctions
    pairs = [(getattr(torch, name, None), getattr(own, name)) for name in dir(own)]
    return {found: function for found, function in pairs if _owner(found) not in ("torch", "")}


def _owner(function: Any) -> str:
    """The library that has a function, empty where it does not say."""
    return (getattr(function, "__module__", None) or "").partition(".")[0]


_names = _attributes()
_own = _replaced()
_inherited = _members(SparseTensor)


def implements(
    *functions: Any, layouts: bool | str = False, ranks: tuple[int, ...] = ()
) -> Callable[[_Handler], _Handler]:
    """Registers a handler of functions of torch.

    Args:
        functions: The functions. Methods of `torch.Tensor` become methods of SparseTensor too, unless it has its own.
        layouts: Whether `ls.enable()` lets them take torch's own sparse tensors; "raises" for functions of which
            libsparse takes the calls that torch refuses or that autograd follows, "compressed" for those of which it
            leaves COO tensors to torch.
        ranks: The ranks of a dense second operand for which the functions are the operator `@`, which has a short way.
    """
    functions = tuple(_own.get(function, function) for function in functions)

    def register(handler: _Handler) -> _Handler:
        for function in functions:
            called = handlers[function] = _checked(handler, function, ranks)
            is_getter = getattr(function, "__name__", "") == "__get__"
            attribute = function.__self__ if is_getter else function
            for name in _names.get(id(attribute), ()):
                own = _inherited[name] is not attribute
                if not own and not (is_getter and name in _WRITABLE):
                    setattr(SparseTensor, name, property(called) if is_getter else called)
        if layouts:
            overridable.update((id(function), layouts) for function in functions)
        return handler

    return register


def know_replaced() -> None:
    """Has functions that other libraries have put in the places of torch's own, as PyG does, served as those are."""
    for name in dir(torch._C._VariableFunctions):
        own = getattr(torch._C._VariableFunctions, name)
        found = getattr(torch, name, own)
        if found is not own and id(own) in overridable:
            overridable[id(found)], handlers[found] = overridable[id(own)], handlers[own]


def getter(name: str) -> Any:
    """The function that torch calls to read a property of a tensor."""
    return getattr(Tensor, name).__get__


def named(names: str, *places: Any) -> list[Any]:
    """The functions of these names, separated by spaces, as far as this version of torch has them."""
    found = [getattr(place, name, None) for name in names.split() for place in places]
    return [function for function in found if callable(function)]


def _product(matrix: Any, other: Any, ranks: tuple[int, ...]) -> Tensor | None:
    """The product by the short way of `@`, None where there is none."""
    if type(matrix) is not SparseTensor or type(other) is not Tensor or other.ndim not in ranks:
        return None
    product = multiply_in_c(matrix, other)
    return multiply_in_python(matrix, other) if product is None else product


def _product_into(matrix: Any, other: Any, out: Any, ranks: tuple[int, ...]) -> Tensor | None:
    """`out` with the product by the short way, None where there is none."""
    if out is None or type(matrix) is not SparseTensor or type(other) is not Tensor or other.ndim not in ranks:
        return None
    return multiply_into(matrix, other, out)


def _checked(handler: Callable[..., Any], function: Any, ranks: tuple[int, ...] = ()) -> Callable[..., Any]:
    """A handler that refuses the arguments that no handler takes, and returns tensors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if recorders and (recorder := current()) is not None:
            return recorder.take(function, args, kwargs)
        if kwargs:
            for name in _NUMPYS.keys() & kwargs.keys():
                if _NUMPYS[name] not in kwargs:
                    kwargs[_NUMPYS[name]] = kwargs.pop(name)
            if "dtype" in kwargs:
                kwargs["dtype"] = _dtype(kwargs["dtype"], function)
            if kwargs.pop("inplace", False):
                raise UnsupportedError("in-place functions are not supported on an ls.SparseTensor; use the result")
            if "out" in kwargs:
                out = kwargs.pop("out")
                if ranks and not kwargs and len(args) == 2 and (filled := _product_into(*args, out, ranks)) is not None:
                    return filled
                if out is None:
                    return call(*args, **kwargs)
                with torch.autocast("cpu", enabled=False):  # as torch has it for functions with out=
                    return _copied(call(*args, **kwargs), out, title(function))
        elif ranks and len(args) == 2 and (product := _product(*args, ranks)) is not None:
            return product
        try:
            result = repeated.call(call, handler, args, kwargs)
            if result is NotImplemented and any(map(foreign.is_number, args)):
                return call(*(arg.item() if foreign.is_number(arg) else arg for arg in args), **kwargs)
            return _left_to_others(function, args, kwargs) if result is NotImplemented else result
        except TypeError as error:
            if repeated.is_refused(error):
                message = str(error).partition("() ")[2] or str(error)  # without the handler's name
                raise DtypeError(f"{title(function)} on an ls.SparseTensor {message}") from None
            raise

    # functools.wraps costs 6 us, 900 times in an import
    call.__name__, call.__doc__, call.__wrapped__ = handler.__name__, handler.__doc__, handler  # type: ignore[attr-defined]
    call.__qualname__, call.__module__ = handler.__qualname__, handler.__module__
    return call


leave_alone(_checked(_product_into, torch.mm))  # and with it all handlers, whose code it has


def _dtype(given: Any, function: Any) -> torch.dtype | None:
    """A dtype as torch's own functions take it, also as a type of Python.

    Raises:
        DtypeError: It is something else, as a dtype of NumPy's is.
    """
    found = _PYTHONS.get(given, given) if isinstance(given, type) else given
    if isinstance(found, torch.dtype | None):
        return found
    raise DtypeError(
        f"{title(function)} on an ls.SparseTensor: dtype is {given!r}; expected a torch.dtype, such as torch.float32"
    )


def _left_to_others(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function that an argument of another type implements; that of an operator is left to Python.

    Raises:
        DtypeError: None does.
    """
    if any(name.startswith("__") for name in _names.get(id(function), ())):
        return NotImplemented
    for arg in args:
        if hasattr(type(arg), "__torch_function__") and not isinstance(arg, Tensor):
            return handle_torch_function(function, (arg,), *args, **kwargs)
    found = ", ".join(type(arg).__name__ for arg in args)
    raise DtypeError(f"{title(function)} of {found}; expected a tensor or a number, or an array of NumPy or SciPy")


def _copied(result: Any, out: Any, name: str) -> Tensor:
    """The dense tensor that a call named for its result, which gets the shape of the result as torch's do.

    Raises:
        UnsupportedError: One of the two is sparse, or autograd follows one.
        DtypeError: The dtype of the result does not convert to that of the tensor.
    """
    if not all(isinstance(tensor, Tensor) and not is_sparse(tensor) for tensor in (result, out)):
        raise UnsupportedError(f"{name}: out= takes dense results of calls into dense tensors; use the result")
    if torch.is_grad_enabled() and (result.requires_grad or out.requires_grad):
        raise UnsupportedError(f"{name}: autograd does not follow calls with out=; use the result")
    if out.device != result.device or out.layout is not torch.strided:
        raise UnsupportedError(
            f"{name}: out= is a {out.layout} tensor on {out.device}; expected a dense one on the CPU"
        )
    if not torch.can_cast(result.dtype, out.dtype):
        raise DtypeError(f"{name}: a result of {result.dtype} can't be cast to out= of {out.dtype}")
    if out.shape != result.shape:
        out.resize_(result.shape)
    filled: Tensor = out.copy_(result)
    return filled
