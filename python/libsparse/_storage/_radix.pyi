def order_rows(pos: int, wide: bool, rows: int, order: int, /) -> None: ...
def rows_are_right(pos: int, crd: int, wide: bool, rows: int, extent: int, count: int, /) -> bool: ...
def sort(
    coords: tuple[tuple[int, bool], ...],
    extents: tuple[int, ...],
    moved: tuple[tuple[int, bool], ...],
    order: int,
    count: int,
    threads: int,
    /,
) -> bool: ...
