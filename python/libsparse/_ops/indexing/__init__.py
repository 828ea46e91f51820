"""Indexing and functions of shape: new patterns from old ones, and the places in the old values that fill them.

Each function maps the pattern of its operand to that of its result by arithmetic on whole arrays of coordinates and
positions. Values follow by one `index_select`, so gradients of every order and tensors without values need no rules
of their own, and the fill value of the operand is that of the result.
"""
