"""Rows of a dataset: those that could be read, and the errors of the others."""

from __future__ import annotations

from msgspec import Struct

from noisesense import Sample, Verdicts
from noisesense.errors import InputError
from noisesense.scoring.results import ResultLine
from noisesense.verdicts.form import LightVerdicts, as_name
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.reading.values import as_object, is_empty

NO_LINE = ResultLine()


class Row(Struct, frozen=True):
    """A row that could be read."""

    place: str
    """File and line or row number."""
    id: str
    """Identifies the sample in results: the id in the file, or a key of the content."""
    cluster: str | None = None
    sample: Sample | None = None
    """None if there are only verdicts: the texts are unknown or incomplete."""
    verdicts: Verdicts | LightVerdicts | None = None
    """The verdicts with their chunks; None if the dataset has none."""
    line: ResultLine = NO_LINE
    """The whole line of a results file or recording."""


class BadRow(Struct, frozen=True):
    """A row that could not be read. It does not affect the others."""

    place: str
    id: str
    """The id in the file, or the place if the id could not be read."""
    error: InputError

    @classmethod
    def of(cls, raw: Raw, error: InputError, name: object = None) -> BadRow:
        """Return the bad row of an error, which then names the place.

        Its id is the name, or else the data's own id, or else the place.
        """
        own = as_name(as_object(raw.data).get("id")) if is_empty(name) else name
        return cls(raw.place, raw.place if is_empty(own) else str(own), error.within(raw.place))
