"""``noisesense store prune``."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from noisesense.errors import InputError
from noisesense.store import StoredCall, StoredSample, VerdictStore
from noisesense_adapters.cli._age import parse_age

__all__ = ["prune_store"]


def prune_store(
    path: Path, older_than: str | None, model: str | None, *, unanswered: bool, ask: bool
) -> None:
    """Count, ask, remove. Answering no leaves the store as it is and exits with status 1."""
    age = None if older_than is None else parse_age(older_than)
    if age is None and model is None and not unanswered:
        raise InputError("--older-than, --model or --unanswered", "none of them", where="prune")
    with VerdictStore(path, must_exist=True) as store:
        if ask:
            before = None if age is None else time.time() - age.total_seconds()
            calls = _count(store.calls(), before, model, unanswered)
            samples = _count(store.samples(), before, model, unanswered)
            typer.confirm(f"Remove {calls} calls and {samples} samples from {path}?", abort=True)
        removed = store.prune(older_than=age, model=model, unanswered=unanswered)
    print(f"removed {removed.calls} calls and {removed.samples} samples from {path}")


def _count(
    rows: list[StoredCall] | list[StoredSample],
    before: float | None,
    model: str | None,
    unanswered: bool,
) -> int:
    return sum(
        (before is None or row.created < before)
        and (model is None or row.model == model)
        and (not unanswered or row.unanswered > 0)
        for row in rows
    )
