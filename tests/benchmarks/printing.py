"""Tables of the benchmarks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def show(
    head: Sequence[str],
    body: Iterable[Sequence[object]],
    *,
    markdown: bool = False,
    right: Collection[int] = (),
) -> None:
    """Print a table; the columns ``right`` are of figures."""
    table = [[str(cell) for cell in line] for line in (head, *body)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if markdown:
        rules = ["-" * (w - 1) + (":" if at in right else "-") for at, w in enumerate(widths)]
        table.insert(1, rules)
    for line in table:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells).rstrip())
    print(flush=True)
