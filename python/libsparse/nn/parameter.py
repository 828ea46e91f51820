"""SparseParameter: a SparseTensor that a module trains."""

from __future__ import annotations

from typing import Any

from torch import nn

import libsparse as ls


class _OfParameters(type):
    """Makes `isinstance(p, SparseParameter)` true of what the class makes, as torch does for `nn.Parameter`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, ls.SparseTensor) and isinstance(instance, nn.Parameter)


class SparseParameter(metaclass=_OfParameters):
    """A SparseTensor as a parameter of a module: its stored values are trained, its pattern stays.

    It is `nn.Parameter` of a SparseTensor, whose values are detached and copied, so that no other tensor changes with
    it. All optimizers of torch but Muon take it, with state for the stored values only; so do `clip_grad_norm_`,
    `GradScaler`, `AveragedModel`, `copy.deepcopy` and `torch.save`. A state dict holds pattern and values. What has
    other entries is not loaded: `load_state_dict` raises an error that says so, and takes `assign=True` for the pattern
    of the state. A parameter whose pattern changes between steps is `SparseLinear.weight`.

    Args:
        A: The tensor, of a floating or complex dtype.
        requires_grad: Whether autograd follows the values.

    Raises:
        DtypeError: `A` is no SparseTensor, or has no values that can be trained.

    Example:
        >>> weight = ls.nn.SparseParameter(ls.eye(3))
        >>> optimizer = torch.optim.SGD([weight], lr=0.5)
        >>> (weight @ torch.ones(3)).sum().backward()
        >>> optimizer.step()
        >>> weight.values().tolist()
        [0.5, 0.5, 0.5]
    """

    def __new__(cls, A: Any, requires_grad: bool = True) -> Any:
        """The parameter, a SparseTensor."""
        if not isinstance(A, ls.SparseTensor):
            raise ls.DtypeError(f"A is a {type(A).__name__}; expected an ls.SparseTensor, see ls.tensor")
        if not (A.dtype.is_floating_point or A.dtype.is_complex):
            raise ls.DtypeError(f"A ({A._facts()}) has dtype {A.dtype}, which is not trained; use A.float()")
        return nn.Parameter(A.detach().clone(), requires_grad)
