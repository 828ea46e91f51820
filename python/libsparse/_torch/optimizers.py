"""torch's optimizers on SparseTensors: a step takes the vector of stored values of each sparse parameter.

Two hooks before and after the steps of an optimizer see to that, so that none needs to know sparse tensors: during a
step its parameter groups hold the values, which are leaves of autograd themselves, and between steps the SparseTensors
that the user handed over. State that an optimizer keeps is 1-D, as for a dense vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from torch import Tensor
from torch.optim import optimizer as hooks

from libsparse._lang.errors import UnsupportedError
from libsparse._tensor.sparse_tensor import SparseTensor

_OF_MATRICES = frozenset(["Muon"])  # optimizers whose updates of a sparse matrix are dense

_NAME = "libsparse"  # among the hooks of an optimizer

_lent: WeakKeyDictionary[Any, list[tuple[SparseTensor, Tensor]]] = WeakKeyDictionary()
"""The sparse parameters of the optimizers that are in a step, each with its values."""

_stepped: WeakSet[Any] = WeakSet()
"""The optimizers that have made a step with a sparse parameter: what they keep follows its entries."""


def _lend_values(optimizer: Any, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
    """Puts the values of sparse parameters in their places, before a step; returns the arguments that it is to have."""
    settle(optimizer)
    lent: list[tuple[SparseTensor, Tensor]] = []
    for params, place in _sparse_places(optimizer):
        param = params[place]
        _check(optimizer, param)
        values = param._operand().values
        lent.append((param, values))
        params[place] = values
        if param in optimizer.state:
            state = optimizer.state.pop(param)
            optimizer.state[values] = {name: values_of(value) for name, value in state.items()}
    if not lent:
        return None
    _lent[optimizer] = lent
    _stepped.add(optimizer)
    return tuple(_guarded(optimizer, a) for a in args), {n: _guarded(optimizer, a) for n, a in kwargs.items()}


def settle(optimizer: Any) -> None:
    """Gives an optimizer its sparse parameters and their state back, if its last step raised."""
    if optimizer in _lent:
        _take_back(optimizer, (), {})


def keepers(param: SparseTensor, given: Any = None) -> list[Any]:
    """The optimizers that have made a step with a sparse parameter and keep state for it, and one that was given."""
    known = [*_stepped] if given is None or given in _stepped else [*_stepped, given]
    for optimizer in known:
        if optimizer is given or any(lent is param for lent, _ in _lent.get(optimizer, ())):
            settle(optimizer)
    return [optimizer for optimizer in known if param in optimizer.state]


def _guarded(optimizer: Any, closure: Any) -> Any:
    """A closure that leaves the optimizer with its parameters if it raises; anything else as it is."""
    if closure is optimizer or not callable(closure):
        return closure

    def call() -> Any:
        try:
            return closure()
        except BaseException:
            _take_back(optimizer, (), {})
            raise

    return call


def _take_back(optimizer: Any, args: Any, kwargs: Any) -> None:
    """Puts sparse parameters back, after a step."""
    lent = _lent.pop(optimizer, None)
    if lent is None:
        return
    by_values = {id(values): param for param, values in lent}
    for group in optimizer.param_groups:
        group["params"][:] = [by_values.get(id(param), param) for param in group["params"]]
    for param, values in lent:
        if values in optimizer.state:
            optimizer.state[param] = optimizer.state.pop(values)


def _sparse_places(optimizer: Any) -> Iterator[tuple[list[Any], int]]:
    """The sparse parameters of an optimizer: lists of parameters, and the places in them."""
    for group in optimizer.param_groups:
        params = group["params"]
        for place, param in enumerate(params):
            if isinstance(param, SparseTensor):
                yield params, place


def _check(optimizer: Any, param: SparseTensor) -> None:
    """Raises an UnsupportedError for an optimizer that does not update elements one by one."""
    name = type(optimizer).__name__
    if name in _OF_MATRICES:
        raise UnsupportedError(
            f"torch.optim.{name} makes a dense update of a matrix, and a parameter ({param._operand()}) is sparse; "
            "use torch.optim.AdamW for it, or train A.to_dense()"
        )


def values_of(value: Any) -> Any:
    """The values of a SparseTensor: a gradient, or state that was made of a parameter before the first step."""
    return value._operand().values if isinstance(value, SparseTensor) else value


def _surround(optimizer: Any, args: Any, kwargs: Any) -> None:
    """Puts the two functions next to the step, so that hooks of the user's on this optimizer see its parameters."""
    if next(_sparse_places(optimizer), None) is None and optimizer not in _lent:
        return
    before, after = optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks
    before[_NAME], after[_NAME] = _lend_values, _take_back
    before.move_to_end(_NAME)
    after.move_to_end(_NAME, last=False)


hooks.register_optimizer_step_pre_hook(_surround)
