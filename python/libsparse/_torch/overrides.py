"""`enable`, `disable`, `override`: torch's own names compute with libsparse where they meet torch's sparse tensors."""

from __future__ import annotations

import copyreg
import functools
import importlib
import itertools
import operator
import os
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.jit import _builtins

from libsparse._ops.operands import PLAIN
from libsparse._tensor.recording import recorders
from libsparse._tensor.short_product import multiply_kept
from libsparse._tensor.sparse_tensor import SparseTensor
from libsparse._trace.tracers import leave_alone

from . import functions  # noqa: F401  # importing them fills `overridable`
from .layout_constructors import CONSTRUCTORS, following
from .registry import getter, know_replaced, overridable
from .routed_calls import PROPERTIES, run, run_product, run_shared
from .wrapped import kept

native: types.ModuleType | None
try:
    from libsparse._runtime import _stand_in as native
except ImportError:  # the package was built without a C compiler, or Python is 3.10
    native = None

_MISSING = object()
_NOT_ASKED = torch._C._disabled_torch_function_impl
_SCRIPTED = ("__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__")

_lock = threading.RLock()  # signal handlers fork, too
# A forked child would find it taken for good, and what it guards half changed, had another thread held it.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_enabled = False
_nested = 0  # how many `override` blocks are open


class _Names(NamedTuple):
    """Names in one place of torch, with what was there and with what stands in."""

    place: Any
    names: tuple[str, ...]
    own: tuple[Any, ...]
    stand_ins: tuple[Any, ...]
    scripted: dict[int, str]
    """What torch.jit.script, which knows operators by their identities, calls those that stand-ins stand in for."""


_saved: list[_Names] = []
"""The places in torch with stand-ins."""
_replaced: list[_Names] = []
"""Those with the most names that there have been: another library may have taken some away for a while."""


def enable() -> None:
    """Makes torch's functions use libsparse when given torch's sparse tensors; layouts stay as torch has them.

    Products are computed by libsparse; elementwise functions, reductions, indexing and so on where torch refuses them.
    Calling it again changes nothing. A tensor's pattern is kept while the version counters of its index arrays stay:
    index arrays must not be written to through `.data`, which counts nothing.

    Example:
        >>> ls.enable()
        >>> (torch.eye(2).to_sparse_csr() @ torch.ones(2, 1)).tolist()
        [[1.0], [1.0]]
        >>> ls.disable()
    """
    _change(enabled=True)


def disable() -> None:
    """Undoes `enable`: torch's functions are its own again, but inside of an `override`.

    Example:
        >>> ls.enable()
        >>> ls.disable()  # torch.mm is torch's own again
    """
    _change(enabled=False)


@contextmanager
def override() -> Iterator[None]:
    """`enable` for the length of a `with` block; blocks nest.

    Example:
        >>> with ls.override():
        ...     (torch.eye(2).to_sparse_csr() @ torch.ones(2, 1)).tolist()
        [[1.0], [1.0]]
    """
    _change(nested=1)
    try:
        yield
    finally:
        _change(nested=-1)


def _change(*, enabled: bool | None = None, nested: int = 0) -> None:
    global _enabled, _nested
    with _lock:
        now_enabled, now_nested = _enabled if enabled is None else enabled, _nested + nested
        active = now_enabled or now_nested > 0
        places = _places_now() if active and not _saved else []
        _enabled, _nested = now_enabled, now_nested
        for names in places:
            _saved.append(names)
            _put(names.place, zip(names.names, names.stand_ins, strict=True))
            _builtins._get_builtin_table().update(names.scripted)
        if not active:
            while _saved:
                _put_back(_saved.pop())


def _put(place: Any, objects: Iterable[tuple[str, Any]]) -> None:
    """Puts objects where they stand in a place of torch, or takes away what is there where there was nothing."""
    if not isinstance(place, type):
        vars(place).update(objects)  # `setattr` of each takes five times as long, and a block changes hundreds
        return
    for name, found in objects:
        if found is _MISSING:
            delattr(place, name)
        else:
            setattr(place, name, found)


def _put_back(names: _Names) -> None:
    """Puts torch's own functions back, but where another library has put its own functions since."""
    for key in names.scripted:
        _builtins._get_builtin_table().pop(key, None)
    found = map(vars(names.place).get, names.names)
    ours = zip(names.names, names.own, names.stand_ins, found, strict=True)
    _put(names.place, [(name, own) for name, own, stand_in, now in ours if now is stand_in])


leave_alone(enable, disable, _change)  # a compiled function may switch: its graph breaks there


def _places_now() -> list[_Names]:
    """The places in torch that are replaced, with what is there: those of the last time, if that is still there."""
    if _replaced and all(_is_unchanged(names) for names in _replaced):
        return _replaced
    know_replaced()  # other libraries have put their own functions there
    stand_ins: dict[Any, dict[str, Any]] = {}
    for place, name, stand_in in _places():
        stand_ins.setdefault(place, {})[name] = stand_in
    found = [_names(place, named) for place, named in stand_ins.items()]
    if sum(len(names.names) for names in found) >= sum(len(names.names) for names in _replaced):
        _replaced[:] = found
    return found


def _names(place: Any, stand_ins: dict[str, Any]) -> _Names:
    own = tuple(_torchs(vars(place).get(name, _MISSING)) for name in stand_ins)
    operators = {id(s): _builtins._find_builtin(getattr(s, "__wrapped__", None)) for s in stand_ins.values()}
    scripted = {key: name for key, name in operators.items() if name is not None}
    return _Names(place, tuple(stand_ins), own, tuple(stand_ins.values()), scripted)


def _is_unchanged(names: _Names) -> bool:
    """Whether what was there is there."""
    found = map(vars(names.place).get, names.names, itertools.repeat(_MISSING))
    return all(map(operator.is_, found, names.own))


def _places() -> Iterator[tuple[Any, str, Any]]:
    """The places in torch of the functions and properties that are replaced, with their stand-ins."""
    for place in (torch, torch.sparse, torch.special, torch.linalg, Tensor, F):
        owners = place.__mro__ if isinstance(place, type) else (place,)
        for name in dict.fromkeys(name for owner in owners for name in vars(owner)):
            found = _torchs(getattr(place, name, None))
            if id(found) in overridable:
                yield place, name, _routed(found, overridable[id(found)])
    for name, position in CONSTRUCTORS.items():
        original = _torchs(getattr(torch, name))
        yield torch, name, _constructing(original, position)
    for name in PROPERTIES:
        yield Tensor, name, property(_routed(getter(name), "compressed"))


def _torchs(found: Any) -> Any:
    """What stands in a place, torch's own where another library has put back a stand-in that it found in a block."""
    return found.__wrapped__ if native is not None and type(found) is native.StandIn else found


@functools.cache
def _routed(original: Callable[..., Any], way: bool | str) -> Callable[..., Any]:
    """What stands in the place of a function of torch's, the same each time."""
    otherwise = _computing(original) if way is True else _sharing(original, compressed_only=way == "compressed")
    return _stand_in(original, original, otherwise)


@functools.cache
def _constructing(original: Callable[..., Any], position: int) -> Callable[..., Any]:
    """What stands in the place of a constructor of torch's, the same each time."""
    otherwise = following(original, position)
    return _stand_in(original, otherwise, otherwise)


def _stand_in(
    original: Callable[..., Any], where_dense: Callable[..., Any], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """What stands in the place of a function of torch's, and computes calls of dense operands by another function."""
    make = _stand_in_in_python if native is None else native.StandIn
    stand_in: Callable[..., Any] = make(where_dense, otherwise)
    functools.update_wrapper(stand_in, original)
    # torch.compile traces what torch has: its own sparse tensors in a graph are its own affair.
    vars(stand_in)["_torchdynamo_inline"] = original
    # torch.jit.script compiles the code of functions.
    if native and isinstance(original, types.FunctionType) and _builtins._find_builtin(original) is None:
        vars(stand_in).update({name: getattr(original, name) for name in _SCRIPTED})
    leave_alone(otherwise, *(() if native else (stand_in,)))
    return stand_in


def _pickled(stand_in: Any) -> Any:
    """How a stand-in is pickled: as torch's own function, also where that stands in another module under its name."""
    original = stand_in.__wrapped__
    reduced = original.__qualname__ if isinstance(original, types.FunctionType) else original.__reduce__()
    return (_found, (original.__module__, reduced)) if isinstance(reduced, str) else reduced


def _found(module: str, name: str) -> Any:
    """The function of a name in a module, or in a class of it."""
    return operator.attrgetter(name)(importlib.import_module(module))


def _stand_in_in_python(original: Callable[..., Any], otherwise: Callable[..., Any]) -> Any:
    """`StandIn` of `_runtime/stand_in.c`, where there is no C: hands calls of dense operands on to torch."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return (original if _all_strided((*args, *kwargs.values())) else otherwise)(*args, **kwargs)

    return call


def _all_strided(operands: Iterable[Any]) -> bool:
    """Whether none of some operands, nor of those in lists of them, is one of torch's sparse tensors."""
    return all(
        _all_strided(operand)
        if type(operand) in (list, tuple)
        else type(operand) not in PLAIN or operand.layout is torch.strided
        for operand in operands
    )


def _computing(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes a call with a sparse operand."""
    ranks = _PRODUCTS.get(original, ())

    def call(*args: Any, **kwargs: Any) -> Any:
        if ranks and not kwargs and not recorders and (out := multiply_kept(args, kept, ranks)) is not None:
            return out
        if _is_asked((*args, *kwargs.values())):
            return original(*args, **kwargs)
        return run_product(ranks, original, args, kwargs) if ranks else run(original, args, kwargs)

    return call


def _sharing(original: Callable[..., Any], *, compressed_only: bool) -> Callable[..., Any]:
    """A function that libsparse computes where torch refuses, or where autograd follows a sparse operand."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if _is_asked((*args, *kwargs.values())):
            return original(*args, **kwargs)
        return run_shared(original, args, kwargs, compressed_only)

    return call


def _is_asked(operands: Iterable[Any]) -> bool:
    """Whether torch asks a class of another library, of one of some operands, for the results of its functions."""
    return any(
        [
            _is_asked(operand)
            if type(operand) in (list, tuple)
            else type(operand) not in PLAIN
            and not isinstance(operand, SparseTensor)
            and getattr(type(operand), "__torch_function__", _NOT_ASKED) is not _NOT_ASKED
            for operand in operands
        ]
    )


# Products by the short way, with the ranks of the dense operand that they take.
_PRODUCTS: dict[Any, tuple[int, ...]] = {
    **dict.fromkeys((torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.spmm), (1, 2)),
    **dict.fromkeys((torch.mm, Tensor.mm, torch.sparse.mm), (2,)),
    **dict.fromkeys((torch.mv, Tensor.mv), (1,)),
}

if native is not None:
    layout_of = vars(torch._C.TensorBase)["layout"]
    native.install(PLAIN, Tensor, layout_of, torch.strided, types.MethodType, types.FunctionType)
    copyreg.pickle(native.StandIn, _pickled)
