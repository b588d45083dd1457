"""Read a row once, at the places where its host, its file or its user keeps the texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from noisesense.errors import InputError, describe, error_context
from noisesense_adapters.reading.chunks import (
    IDS,
    LABELS,
    chunks_of,
    with_fields,
    words_of,
)
from noisesense_adapters.reading.paths import (
    Column,
    MissingError,
    UnclearError,
    inner_paths,
    key_of,
    named,
    picked,
    value_at,
)
from noisesense_adapters.reading.places import FIELDS, ROW_NAMES
from noisesense_adapters.reading.texts import agreed, different, output_of, text_of
from noisesense_adapters.reading.values import (
    is_empty,
    is_gap,
    is_one_text,
    normal,
    parsed,
    plain,
    without_nulls,
    words,
)

if TYPE_CHECKING:
    from noisesense import Sample, Verdicts

CHUNKS = "retrieved_contexts"
GROUP = "group"
HOST_HINT = "{argument}= takes a name, a path or a function of the row"
_ONE_TEXT_HINT = (
    "if it is one chunk, name the place with a comma behind it; else what stands between chunks:"
    " --split-contexts SEP; if each row has one chunk: --map group=COLUMN"
)
_NEEDED = ("response", "reference", CHUNKS)


class Found(NamedTuple):
    """A value, and the place at which it stands; empty where a function gave it."""

    value: Any
    place: str


class Reading:
    """What a row holds.

    Attributes:
        values: by field the text, the chunks, or the verdicts as they are.
        places: by field where it stands.
        errors: by field why it cannot be read.
    """

    def __init__(
        self, values: dict[str, Any], places: dict[str, str], errors: dict[str, InputError]
    ) -> None:
        self.values = values
        self.places = places
        self.errors = errors

    @property
    def sample(self) -> Sample:
        """The texts. Raises `InputError`."""
        return self._sample

    @cached_property
    def _sample(self) -> Sample:
        from noisesense import Sample

        self.check(*FIELDS)
        return Sample.model_validate({field: self.values[field] for field in FIELDS})

    @property
    def verdicts(self) -> Verdicts | None:
        """The verdicts that the row brings, with the sample's chunks. Raises `InputError`."""
        self.check("verdicts")
        value = self.values["verdicts"]
        if is_empty(value) or (isinstance(value, str) and not value.strip()):
            return None
        return read_verdicts(value, self.sample, self.places["verdicts"])

    def check(self, *fields: str) -> None:
        """Raise the `InputError` of these fields, if there is any."""
        error = self.error(*fields)
        if error is not None:
            raise error

    def error(self, *fields: str) -> InputError | None:
        """Return the first error of these fields; one of a text before one of a missing place."""
        errors = [self.errors[field] for field in fields if field in self.errors]
        return min(errors, key=lambda error: isinstance(error, MissingError), default=None)


def read_verdicts(data: Any, sample: Sample | None, where: str) -> Verdicts:
    """Read verdicts from data or JSON, and give them the sample's chunks.

    Raises:
        InputError: the verdicts are malformed or do not fit the sample. It names ``where``.
    """
    from noisesense import Verdicts

    with error_context(where):
        value = parsed(data) if isinstance(data, str) else data
        verdicts = Verdicts.model_validate(without_nulls(value))
        return verdicts if sample is None else verdicts.with_sample(sample)


class Reader:
    """Reads the rows of a host or a file.

    Args:
        places: for each field where it stands, as `noisesense_adapters.reading.places.HOSTS`
            has it.
        chosen: for each field, the user's column instead: a name, a path, or a function of the
            row.
        hint: of the error where a field is missing.
        separator: between chunks in a cell that holds no list.
        one_chunk: whether a text is one chunk.

    Attributes:
        has_split: was the separator in a cell?

    """

    def __init__(
        self,
        places: Mapping[str, str],
        chosen: Mapping[str, Column | None] | None = None,
        *,
        hint: str = HOST_HINT,
        separator: str | None = None,
        one_chunk: bool = False,
    ) -> None:
        self._groups = {
            field: [group.split() for group in text.split(">")] for field, text in places.items()
        }
        self._chosen: dict[str, Column] = {}
        self._hint = hint
        self._separator = separator
        self._one_chunk = one_chunk
        self.has_split = False
        for field, column in (chosen or {}).items():
            if column is not None:
                self._chosen[CHUNKS if field == "contexts" else field] = column
        self._fields = dict.fromkeys((*places, *self._chosen))

    def read(self, row: Mapping[str, Any]) -> Reading:
        """Return all that is read of a row. What cannot be read is an error in it."""
        values: dict[str, Any] = dict.fromkeys((*FIELDS, "verdicts"))
        places: dict[str, str] = {}
        errors: dict[str, InputError] = {}
        for field in self._fields:
            try:
                found = self._find(field, row)
                if found is not None:
                    values[field] = found.value
                    places[field] = found.place
            except InputError as error:
                errors[CHUNKS if field in (LABELS, IDS) else field] = error
        if CHUNKS not in errors:
            try:
                ids = self._split(values.get(IDS))
                values[CHUNKS] = with_fields(values[CHUNKS], values.get(LABELS), ids)
            except InputError as error:
                errors[CHUNKS] = error
        values["user_input"] = values["user_input"] or ""
        if places.get("response") and places["response"] == places.get("reference"):
            hint = "--map response=COLUMN --map reference=COLUMN, in Python the arguments"
            expected = "a response and a reference at two places"
            errors["reference"] = InputError(expected, repr(places["response"]), hint=hint)
        return Reading(values, places, errors)

    def _find(self, field: str, row: Mapping[str, Any]) -> Found | None:
        """Return a field's value and its place; None if an optional one is missing."""
        column = self._chosen.get(field)
        empty: str | None = None
        for group in self._groups.get(field, [[]]):
            standing = (
                _standing(field, row, group) if column is None else _chosen(field, row, column)
            )
            candidates: dict[str, Any] = {}
            for place, value in standing.items():
                if value is None or (is_gap(value) and field != CHUNKS):
                    empty = place
                else:
                    candidates[place] = value
            found = self._agreed(field, candidates)
            if found is not None:
                return found
        if column is None and field not in _NEEDED:
            return None
        if empty is None:
            raise self._missing(field, row)
        expected = "a list of chunks" if field == CHUNKS else "a text"
        raise InputError(expected, "None", where=f"{field}, {empty!r}")

    def _agreed(self, field: str, candidates: Mapping[str, Any]) -> Found | None:
        """Return the value of all places that have one. Raises `InputError` if they differ."""
        for value in candidates.values():
            if isinstance(value, InputError):  # by which a host says why there is none
                raise value
        if not candidates:
            return None
        if field == CHUNKS:
            return self._agreed_chunks(candidates)
        if field not in FIELDS:
            return Found(*next((value, place) for place, value in candidates.items()))
        texts: dict[str, str] = {}
        for place, value in candidates.items():
            with error_context(f"{field}, {place!r}"):
                text = text_of(value, field)
            if text is not None:
                texts[place] = text
        first = agreed(texts, field)
        return None if first is None else Found(texts[first], first)

    def _agreed_chunks(self, candidates: Mapping[str, Any]) -> Found:
        """Return the chunks of all places that have some. Raises `InputError` if they differ.

        One text for all chunks, as a prompt's template joins them, is no other place.
        """
        lists: dict[str, list[Any]] = {}
        joined: set[str] = set()
        for place, value in candidates.items():
            if is_gap(value) or (isinstance(value, str) and not value.strip()):
                continue
            parts = self._split(value)
            if is_one_text(parts):
                joined.add(place)
                parts = [parts]
            with error_context(f"contexts, {place!r}" if place else "contexts"):
                lists[place] = parts if place in joined else chunks_of(parts)
        if not lists:
            return Found([], next(iter(candidates)))
        most = max(lists, key=lambda place: (place not in joined, len(lists[place])))
        if most in joined:
            got = f"one text, {describe(lists[most][0])}"
            where = f"contexts, {most!r}"
            raise UnclearError("a list of chunks", got, where=where, hint=_ONE_TEXT_HINT)
        if len(lists) > 1:
            _check_same(lists, most)
        return Found(lists[most], most)

    def _split(self, value: Any) -> Any:
        """Return the parts of a cell that holds no list."""
        separator = self._separator
        if separator and isinstance(value, str):
            self.has_split = self.has_split or separator in value
        if not is_one_text(value):
            return value
        if separator:
            return [part for part in value.split(separator) if part.strip()]
        return [value] if self._one_chunk else value

    def _missing(self, field: str, row: Mapping[str, Any]) -> InputError:
        """Return the error that names the places where nothing stands, and what there is."""
        names: list[str] = []
        for place in chain.from_iterable(self._groups[field]):
            known = ROW_NAMES[field].split() if place.endswith(".") else [""]
            names += [f"{place.removeprefix('.')}{name}" for name in known[:3]]
        expected = f"the {field} at {' or '.join(map(repr, names[:4]))}"
        there = named(inner_paths(row, depth=1))
        got = f"only {there}" if there else "an empty row"
        argument = "contexts" if field == CHUNKS else field
        hint = self._hint.format(argument=argument, field=field)
        return MissingError(expected, got, where=field, hint=hint)


def _chosen(field: str, row: Mapping[str, Any], column: Column) -> dict[str, Any]:
    """Return what stands at a user's column. Raises `InputError`."""
    place = column if isinstance(column, str) else ""
    return {place: plain(picked(row, column, field))}


def _check_same(lists: Mapping[str, list[Any]], most: str) -> None:
    """Raise `DifferentError` if a place has other chunks than the one with most of them."""
    texts = [*map(words_of, lists[most])]
    for place, chunks in lists.items():
        others = [*map(words_of, chunks)]
        is_joined = len(others) == 1 and texts and all(text in others[0] for text in texts)
        if others != texts and not is_joined:
            raise different({most: texts, place: others}, CHUNKS)


def _standing(field: str, row: Mapping[str, Any], places: Iterable[str]) -> dict[str, Any]:
    """Return what stands at places of a field, by its path."""
    found: dict[str, Any] = {}
    for place in places:
        path = place.removesuffix(".")
        if path.isidentifier() and key_of(tuple(row), path) is None:
            continue
        with suppress(MissingError):
            if path == place:
                found[place] = value_at(row, place)
                continue
            home = output_of(value_at(row, path)) if path else row
            for name in _known(tuple(home), field):
                found[f"{place.removeprefix('.')}{name}"] = home[name]
    return found


@lru_cache(maxsize=4096)  # every row has the same names
def _known(names: tuple[str, ...], field: str) -> list[str]:
    """Return the names in an object under which a field may stand."""
    known = words(ROW_NAMES[field])
    return [name for name in without_gold(names) if normal(name) in known]


def without_gold(names: Iterable[str]) -> list[str]:
    """Leave out ``context`` beside ``retrieval_context``: in DeepEval's cases it is gold."""
    by_name = {name: normal(name) for name in names}
    gold = "context" if "retrievalcontext" in by_name.values() else None
    return [name for name, plain_name in by_name.items() if plain_name != gold]
