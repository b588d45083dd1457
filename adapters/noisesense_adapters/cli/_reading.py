"""Results read for a command; lines that cannot be read are told and counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from noisesense import InputError, Result
from noisesense.definitions import DefinitionName
from noisesense.scoring import Empty, Undetermined
from noisesense_adapters.cli._output import console
from noisesense_adapters.scoring import results_of

__all__ = ["Reading", "definition_in"]

_SHOWN = 20
_SOME_UNREADABLE = 3


def definition_in(path: Path) -> DefinitionName:
    """Under which the first result of the file was scored; ``"ragas"`` if none was."""
    for result in results_of(path):
        if result.score is not None:
            return result.score.definition
    return "ragas"


class Reading:
    """Reads results files, and knows afterwards what went wrong."""

    def __init__(
        self,
        definition: DefinitionName | None = None,
        empty: Empty | None = None,
        undetermined: Undetermined | None = None,
    ) -> None:
        self._definition: DefinitionName | None = definition
        self._empty: Empty | None = empty
        self._undetermined: Undetermined | None = undetermined
        self._broken = 0

    def results(self, path: Path) -> Iterator[Result]:
        """The results in the file, one by one."""
        return results_of(
            path,
            definition=self._definition,
            empty=self._empty,
            undetermined=self._undetermined,
            on_error=self._tell,
        )

    @property
    def status(self) -> int:
        """The exit status, if nothing else decides it."""
        return _SOME_UNREADABLE if self._broken else 0

    def _tell(self, error: InputError) -> None:
        self._broken += 1
        if self._broken <= _SHOWN:
            line = Text(" ".join(f"cannot be read: {error}".split()))
            console(stderr=True).print(line, soft_wrap=True)
