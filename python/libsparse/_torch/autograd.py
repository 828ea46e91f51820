"""torch's functions of autograd, copies, and questions that a wrapper answers as any tensor does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops.operands import is_sparse, same_entries, to_operand
from libsparse._storage.conversion import in_arrays
from libsparse._tensor import sharing
from libsparse._tensor.dispatch_table import passed
from libsparse._tensor.sparse_tensor import SparseTensor

from .registry import getter, implements, named

passed.update(
    named(
        "dim ndimension is_floating_point is_complex is_signed element_size is_contiguous __hash__ stride "
        "storage_offset is_conj is_neg is_inference __setattr__ __dir__ __format__ _is_view "
        "untyped_storage _has_symbolic_sizes_strides _is_zerotensor is_pinned _use_count",
        torch,
        Tensor,
    )
)


implements(*named("clone", torch, Tensor), layouts="compressed")(lambda input, **options: input.clone(**options))
implements(*named("detach", torch, Tensor), getter("data"))(lambda input: input.detach())


implements(*named("is_same_size", torch, Tensor))(lambda input, other: input.shape == other.shape)


@implements(*named("_make_dual _unpack_dual", torch))
def make_dual(input: Any, *_: Any, **__: Any) -> None:
    """Refuses: forward mode follows values."""
    raise UnsupportedError(
        f"forward mode follows the values of an ls.SparseTensor ({to_operand(input)}), not the tensor: for "
        "torch.func.jvp(f, (A,), (T,)) write torch.func.jvp(lambda v: f(A.with_values(v)), (A.values(),), "
        "(T.values(),)), and have f return a dense tensor, or values() of a sparse one"
    )


@implements(getter("is_meta"))
def is_meta(input: Any) -> bool:
    """Whether the tensor has shapes and dtypes alone."""
    return bool(input.device.type == "meta")


@implements(getter("is_cpu"))
def is_cpu(input: Any) -> bool:
    """Whether the tensor's elements are in the CPU's memory."""
    return not is_meta(input)


@implements(Tensor.data.__set__)  # type: ignore[attr-defined]
def set_data(input: Any, value: Any) -> None:
    """`A.data = value`: the tensor takes over entries and values, which autograd does not see.

    Values of the same entries go to the memory that `A.values()` is a tensor of, which stays what optimizers train.

    Raises:
        DtypeError: `value` is dense or has another dtype.
        ShapeError: `value` has another shape.
    """
    if not is_sparse(value) or value.dtype != input.dtype:
        kind = str(value.dtype) if is_sparse(value) else "dense" if isinstance(value, Tensor) else type(value).__name__
        raise DtypeError(
            f"A.data = x: x is {kind}; expected an ls.SparseTensor of {input.dtype}, as the tensor "
            f"({to_operand(input)}) is: A.with_values(x) is one, A.values().data = x sets the stored values"
        )
    if value.shape != input.shape:
        raise ShapeError(f"A.data = x: x ({to_operand(value)}) has another shape than the tensor ({to_operand(input)})")
    cut = value.detach()
    own, found = to_operand(input), to_operand(cut.to_format(input.format))
    sharing.leave(input)
    if found.pattern is cut.pattern:
        sharing.share(value, input)
    if own.data is not None and own.fill == found.fill and same_entries(own.sparsity, found.sparsity):
        own.data.data = found.values
        return
    followed = input.requires_grad
    input._hold(found)
    input.requires_grad_(followed)


@implements(torch._has_compatible_shallow_copy_type)
def has_compatible_shallow_copy_type(input: Any, other: Any) -> bool:
    """False: modules that convert a parameter exchange the tensors as wholes."""
    return False


@implements(Tensor.copy_)
def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
    """Copies the values, and what is not stored, of a tensor with the same entries in any format."""
    if not is_sparse(target):
        raise DtypeError(
            f"copy_: the source ({to_operand(source)}) is sparse, and the target (shape {tuple(target.shape)}) dense; "
            "use A.to_dense(), or assign=True to load a state of the other kind. torch.distributed.fsdp.fully_shard "
            "takes a parameter of values, of which forward makes the tensor by A.with_values(values), or the sparse "
            "one among its ignored_params"
        )
    if not is_sparse(source):
        raise DtypeError(
            f"copy_: the target ({to_operand(target)}) is sparse, and the source no SparseTensor; use ls.tensor, or "
            "assign=True to load a state of the other kind, or A.copy_(x.sparse_mask(A)) for the elements of a dense x "
            "at the entries of A: torch.nn.init.orthogonal_ makes a dense matrix, and takes x first; functions that "
            "draw each value by itself, such as torch.nn.init.xavier_uniform_, take A"
        )
    comparable = target.shape == source.shape  # and so the format is one of the source's modes
    own, found = to_operand(target), to_operand(source.to_format(target.format) if comparable else source)
    same = comparable and same_entries(own.sparsity, found.sparsity)
    if same and own.data is None and found.data is None:
        return target
    if not same or own.data is None:
        raise ShapeError(
            f"copy_ needs two tensors with the same entries; these of {target.pattern} and {source.pattern} "
            "are at other places: load_state_dict takes assign=True to put another tensor there"
        )
    # Two paddings of the same entries may differ.
    moved = found.sparsity is not own.sparsity and own.sparsity.format.padded
    own.data.copy_(own.sparsity.resample(found.values, found.sparsity) if moved else found.values)
    if found.fill != own.fill:
        changed = own._replace(fill=to_operand(source.to(target.dtype)).fill)
        sharers = sharing.sharers(target, changed, "copy_")
        target._hold(changed)
        sharing.spread(sharers, changed)
    return target


@implements(*named("module_load", Tensor))
def module_load(target: Any, other: Any, assign: bool = False) -> Any:
    """What a module exchanges its tensor for while it loads a state: under torch's flag, `swap_tensors` does that."""
    return other.detach() if assign else copy_(target, other).detach()


@implements(Tensor.backward)
def backward(input: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
    """The gradients of the leaves that the values depend on."""
    input.values().backward(_gradient("gradient", gradient, input), *args, **kwargs)


@implements(torch.autograd.backward)
def backward_of(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """The gradients of the leaves, or of inputs, that tensors depend on, added to their `grad`."""
    given = _gradients("grad_tensors", grad_tensors, tensors)
    wanted = None if inputs is None else [_own(i) for i in ([inputs] if isinstance(inputs, Tensor) else inputs)]
    torch.autograd.backward(_plain(tensors), given, retain_graph, create_graph, grad_variables, wanted)


@implements(torch.autograd.grad)
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The gradients of outputs by inputs; that of a SparseTensor has its pattern."""
    wanted: list[Any] = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    given = _gradients("grad_outputs", grad_outputs, outputs)
    found = torch.autograd.grad(_plain(outputs), [_own(i) for i in wanted], given, *args, **kwargs)
    return tuple(_like(i, g) for i, g in zip(wanted, found, strict=True))


@implements(Tensor.register_hook)
def register_hook(input: Any, hook: Callable[..., Any]) -> Any:
    """Registers a hook on the gradient of the values, in the shape of `values()`."""
    pattern = input.pattern

    def shaped(gradient: Tensor) -> Any:
        found = hook(in_arrays(pattern, gradient))
        return found if found is None else found.reshape(gradient.shape)

    return _own(input).register_hook(shaped if pattern.block else hook)


@implements(Tensor.register_post_accumulate_grad_hook)
def register_post_accumulate_grad_hook(a: Any, hook: Callable[..., Any]) -> Any:
    """Registers a hook that is called with the tensor when its gradient has been accumulated."""
    return _own(a).register_post_accumulate_grad_hook(lambda _: hook(a))


@implements(Tensor.retain_grad)
def retain_grad(input: Any) -> None:
    """Lets the values keep their gradient."""
    _own(input).retain_grad()


@implements(Tensor.is_shared)
def is_shared(input: Any) -> bool:
    """Whether every array is in shared memory."""
    data = to_operand(input).data
    return all(array.is_shared() for array in (*input.pattern.tensors(), *(() if data is None else [data])))


def _like(input: Any, found: Any) -> Any:
    """A gradient of the values of a tensor as one of its pattern; those of a batch, of `is_grads_batched`, stacked."""
    if found is None or not is_sparse(input):
        return found
    like, alone = input.values(), found.ndim == 1
    gradients = [input.with_values(each.reshape(like.shape)) for each in ([found] if alone else found)]
    return gradients[0] if alone else torch.stack(gradients)


def _own(value: Any) -> Any:
    """The values of a SparseTensor as autograd knows them: one number after the other, also where they are arrays."""
    return to_operand(value).values if is_sparse(value) else value


def _gradients(name: str, gradients: Any, of: Any) -> Any:
    """The gradients of one tensor's values, or of those of several, that a user hands over."""
    if isinstance(gradients, (list, tuple)) and isinstance(of, (list, tuple)):
        return [_gradient(f"{name}[{n}]", *pair) for n, pair in enumerate(zip(gradients, of, strict=False))]
    single = isinstance(of, (list, tuple)) and len(of) == 1
    return _gradient(name, gradients, of[0] if single else of)


def _gradient(name: str, gradient: Any, of: Any) -> Any:
    """The gradient of a tensor's values that a user hands over; that of a SparseTensor is one of its pattern.

    Raises:
        DtypeError: It is no tensor.
        ShapeError: It is dense and has not one number a value, or it has another pattern.
    """
    if gradient is None or not is_sparse(of):
        return _plain(gradient)
    if not isinstance(gradient, Tensor | SparseTensor):
        raise DtypeError(f"{name} is a {type(gradient).__name__}; expected a tensor like the result ({to_operand(of)})")
    if isinstance(gradient, SparseTensor):
        if not same_entries(gradient.pattern, of.pattern):
            raise ShapeError(
                f"{name} ({to_operand(gradient)}) has other entries than the result ({to_operand(of)}); expected one "
                "of its pattern, such as result.with_values(...)"
            )
    elif gradient.shape != of.values().shape:
        raise ShapeError(
            f"{name} has shape {tuple(gradient.shape)}; expected a SparseTensor of the pattern of the result "
            f"({to_operand(of)}), or numbers like its values, of shape {tuple(of.values().shape)}"
        )
    return _plain(gradient)


def _plain(value: Any) -> Any:
    """The values of SparseTensors, also in lists."""
    if isinstance(value, Tensor):
        return value.values() if is_sparse(value) else value
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value
