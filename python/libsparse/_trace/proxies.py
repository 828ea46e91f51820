"""make_fx on functions of SparseTensors: their arrays become nodes of the graph, and so do results that are sparse.

torch does the first for subclasses in torch.export only, and the second nowhere: a graph would hold constants.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from libsparse._lang.errors import UnsupportedError
from libsparse._storage.fakes import is_fake

from . import tracers
from .patterns import taken_apart

_followed = "_libsparse_followed"  # what a tracer has that has met a SparseTensor as an input


def follow_parts(tensor: Any) -> None:
    """Tells a tracer that follows a SparseTensor of its plain tensors."""
    from torch.fx.experimental import proxy_tensor

    mode = tracers.mode()
    if mode is None or mode.pre_dispatch:  # torch.export follows attributes itself
        return
    tracer = mode.tracer
    slot = proxy_tensor.get_proxy_slot(tensor, tracer, None)
    if slot is None:
        return
    setattr(tracer, _followed, True)
    for name in tensor.__tensor_flatten__()[0]:
        part = getattr(tensor, name)
        if proxy_tensor.get_proxy_slot(part, tracer, None) is None:
            node = tracer.create_proxy("call_function", torch.ops.libsparse.part.default, (slot.proxy, name), {})
            with proxy_tensor.disable_proxy_modes_tracing():  # torch makes another wrapper meanwhile
                proxy_tensor.track_tensor_tree(part, node, constant=None, tracer=tracer)


def follow_whole(tensor: Any) -> None:
    """Tells a tracer of a sparse result, which an operator of the graph puts together from its plain tensors.

    Raises:
        UnsupportedError: The tracer's tensors have elements, so that arrays of the result's pattern have been computed.
    """
    from torch.fx.experimental import proxy_tensor

    mode = tracers.mode()
    if mode is None or not (mode.pre_dispatch or hasattr(mode.tracer, _followed)):
        return
    tracer, pattern = mode.tracer, tensor._pattern

    def found(part: Any, checked: bool) -> Any:
        slot = None if part is None else proxy_tensor.get_proxy_slot(part, tracer, None)
        if slot is None:
            return part
        if checked and not is_fake(part) and slot.proxy.node.target is not torch.ops.libsparse.part.default:
            raise UnsupportedError(
                "make_fx(tracing_mode='real') follows no sparse result with entries of its own; use 'fake'"
            )
        return slot.proxy

    arrays = [found(array, True) for array in taken_apart(pattern).tensors]
    shape = [n if isinstance(n, int) else tracers.forced(proxy_tensor.get_proxy_slot(n, tracer)) for n in tensor.shape]
    args = (pattern.format.text, shape, arrays, found(tensor._held, False), tensor._fill, list(pattern.block))
    node = tracer.create_proxy("call_function", torch.ops.libsparse.put_together.default, args, {})
    with proxy_tensor.disable_proxy_modes_tracing():
        proxy_tensor.track_tensor(tensor, node, constant=None, tracer=tracer)
        proxy_tensor.set_meta(node, _all_fake(tensor))


def _all_fake(tensor: Any) -> Any:
    """A tensor as it is described in a graph: where only its values are fake, one with arrays that are fake, too."""
    pattern, values = tensor._pattern, tensor._held
    if pattern.traced or not isinstance(values, FakeTensor):
        return tensor
    arrays = [values.fake_mode.from_tensor(array, static_shapes=True) for array in taken_apart(pattern).tensors]
    return tensor.__tensor_unflatten__(
        {**dict(zip(tensor._parts(), arrays, strict=True)), "_plain_values": values.detach()},
        (pattern.format.text, tensor._fill, pattern.block),
        tensor.shape,
        (),
    )
