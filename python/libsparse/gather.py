"""Values brought to a converted pattern, remembered while they do not change."""

from __future__ import annotations

import weakref

from torch import Tensor

from .pattern import Conversion, Pattern

# For each converted pattern, the last values that were carried over and the result. Values are recognised by storage
# and version; holding a detached alias of them keeps their memory from being given to another tensor meanwhile.
_last: weakref.WeakKeyDictionary[Pattern, tuple[Tensor, int, Tensor]] = weakref.WeakKeyDictionary()


def gathered(conversion: Conversion, values: Tensor) -> Tensor:
    """Carries `values` over to the pattern of `conversion`.

    Values that need a gradient change in every step and are carried over anew. Others are carried over once and
    recognised by torch's version counter; writes that go around it (through `.data` or a NumPy array that shares the
    memory) can't be seen: give such values to `with_values` again as a new tensor.
    """
    if conversion.source is None and conversion.target is None:
        return values
    if values.requires_grad or values.is_inference():
        return conversion.values(values.detach())
    known = _last.get(conversion.pattern)
    if known is not None:
        old, version, result = known
        if old.data_ptr() == values.data_ptr() and old.dtype == values.dtype and values._version == version:
            return result
    result = conversion.values(values)
    _last[conversion.pattern] = values.detach(), values._version, result
    return result
