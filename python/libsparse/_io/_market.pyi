def lines(text: int, length: int, /) -> int: ...
def parse(
    text: int,
    length: int,
    rows: int,
    columns: int,
    first: int,
    kind: int,
    row: int,
    column: int,
    values: int,
    powers: int,
    /,
) -> int: ...
