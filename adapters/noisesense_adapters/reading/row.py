"""Read a row once, at the places where its host, its file or its user keeps the texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from noisesense.errors import InputError, describe, error_context
from noisesense_adapters.reading.chunks import (
    IDS,
    LABELS,
    chunks_of,
    text_in,
    with_fields,
)
from noisesense_adapters.reading.names import field_of, speaks
from noisesense_adapters.reading.paths import (
    Column,
    MissingError,
    UnclearError,
    inner_paths,
    key_of,
    listed_in,
    named,
    picked,
    step_of,
    value_at,
)
from noisesense_adapters.reading.places import FIELDS, ROW_NAMES
from noisesense_adapters.reading.texts import (
    agreed,
    output_of,
    text_of,
    without_talk,
)
from noisesense_adapters.reading.values import (
    as_list,
    as_object,
    is_blank,
    is_empty,
    is_list,
    is_null,
    is_one_text,
    is_prose,
    normal,
    single_spaced,
    unpacked,
    without_nulls,
    words,
)

if TYPE_CHECKING:
    from noisesense import Sample, Verdicts

CHUNKS = "retrieved_contexts"
HOST_HINT = "{argument}= takes a name, a path or a function of the row"
_ONE_TEXT_HINT = (
    "one chunk is a list of one, or in a file a column with a comma behind it (of several columns:"
    " a,b,c); --split-contexts SEP says what stands between several in a cell; of rows with one"
    " chunk each make one first, as pandas' groupby does"
)
_TASKS = {
    "metadata": ("output", "store"),
    "inputs": ("outputs",),
    "vars": ("providerOutput", "metadata"),
}
"""Where else than in the item a task may have left the chunks that it retrieved."""
_OUTPUTS = ("output", "outputs", "providerOutput")
"""Those of them that hold nothing but what a task returned."""
_NEEDED = ("response", "reference", CHUNKS)


class Reading:
    """What a row holds.

    Attributes:
        values: by field the text, the chunks, or the verdicts as they are; None of what is
            missing, but ``""`` of a question.
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
        """The texts and the chunks. Raises the `InputError` of a field that cannot be read."""
        return self._sample

    @cached_property
    def _sample(self) -> Sample:
        from noisesense import Sample

        self.check(*FIELDS)
        return Sample.model_validate({field: self.values[field] for field in FIELDS})

    @property
    def verdicts(self) -> Verdicts | None:
        """The verdicts that the row brings, with the sample's chunks; None if it brings none.

        Raises `InputError` if they are malformed, or the sample cannot be read.
        """
        self.check("verdicts")
        value = self.values["verdicts"]
        if value is None or is_blank(value):
            return None
        return read_verdicts(value, self.sample, self.places["verdicts"])

    def check(self, *fields: str) -> None:
        """Raise the `error` of these fields, if there is any."""
        error = self.error(*fields)
        if error is not None:
            raise error

    def error(self, *fields: str) -> InputError | None:
        """Return the first error of these fields, that of a missing place last; None without."""
        errors = [self.errors[field] for field in fields if field in self.errors]
        return min(errors, key=lambda error: isinstance(error, MissingError), default=None)


def read_verdicts(data: Any, sample: Sample | None, where: str) -> Verdicts:
    """Read verdicts from data or JSON, and give them the chunks of the sample, if there is one.

    Raises:
        InputError: the verdicts are malformed or do not fit the sample. The error names
            ``where``.
    """
    from noisesense import Verdicts

    with error_context(where):
        verdicts = Verdicts.model_validate(without_nulls(unpacked(data)))
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
        called: for each field what its host calls it, for errors.

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
        called: Mapping[str, str] | None = None,
    ) -> None:
        self._called = called or {}
        self._groups = {
            field: [group.split() for group in text.split(">")] for field, text in places.items()
        }
        self._is_flat = "." in self._groups[CHUNKS][0]
        self._chosen: dict[str, Column] = {}
        for field, column in (chosen or {}).items():
            if column is not None:
                self._chosen[CHUNKS if field == "contexts" else field] = column
        self._fields = dict.fromkeys((*places, *self._chosen))
        self._hint = hint
        self._separator = separator
        self.has_split = False

    def read(self, row: Mapping[str, Any]) -> Reading:
        """Return all that is read of a row. What cannot be read is in the reading's `errors`."""
        values: dict[str, Any] = dict.fromkeys((*FIELDS, "verdicts"))
        places: dict[str, str] = {}
        errors: dict[str, InputError] = {}
        for field in self._fields:
            try:
                value = self._find(field, row)
                if value is not None:
                    values[field], places[field] = value
            except InputError as error:
                errors[field] = error
                if field in (LABELS, IDS):
                    errors[CHUNKS] = error
        if CHUNKS not in errors:
            try:
                self._check_task(row, values, places.get(CHUNKS, ""))
                beside = values.get(LABELS), values.get(IDS)
                values[CHUNKS] = with_fields(values[CHUNKS], *beside)
            except InputError as error:
                errors[CHUNKS] = error
        values["user_input"] = values["user_input"] or ""
        if "response" in places and places["response"] == places.get("reference") != "":
            hint = "--map response=COLUMN --map reference=COLUMN, in Python the arguments"
            expected = "a response and a reference at two places"
            errors["reference"] = InputError(expected, repr(places["response"]), hint=hint)
        self._hint_at(errors)
        return Reading(values, places, errors)

    def _hint_at(self, errors: dict[str, InputError]) -> None:
        """Add to the errors of what is unclear how the user says it."""
        for field, told in errors.items():
            if isinstance(told, UnclearError) and not told.hint:
                hint = self._where_else(field)
                errors[field] = type(told)(told.expected, told.got, where=told.where, hint=hint)

    def _find(self, field: str, row: Mapping[str, Any]) -> tuple[Any, str] | None:
        """Return a field's value and its place; None if an optional one is missing."""
        is_needed = field in (*_NEEDED, *self._chosen)
        for group in self._groups.get(field, [[]]):
            homes = _homes(row, group)
            standing = self._standing(field, row, group, homes)
            found = self._read_each(field, standing, is_needed=is_needed)
            if found and is_needed and field not in self._chosen:
                found |= self._rivals(field, homes)
            if found:
                return _agreed(field, found)
        if is_needed:
            raise self._missing(field, row)
        return None

    def _rivals(self, field: str, homes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return what stands under unknown names that speak of the field, too."""
        rivals: dict[str, Any] = {}
        for place, home in homes.items():
            for name in _rival_names(tuple(home), field):
                with suppress(InputError):
                    value = self._read(field, home[name])
                    if is_list(value) or is_prose(value):
                        rivals[f"{place}{name}"] = value
        return rivals

    def _check_task(self, row: Mapping[str, Any], values: Mapping[str, Any], item: str) -> None:
        """Raise `UnclearError` if a task returned texts that may be chunks, beside its item's.

        Neither names nor texts tell retrieved passages from others, so the user is asked.
        """
        said = [single_spaced(values[field] or "") for field in FIELDS if field != CHUNKS]
        for root in self._task_places(row, item.partition(".")[0]):
            are_all = root in _OUTPUTS and not self._is_flat
            found: dict[str, list[str]] = {}
            with suppress(InputError):
                _collect(output_of(row.get(root)), root, found, are_all=are_all)
            for place, texts in found.items():
                left = [text for text in texts if text not in said]
                if left or not texts:
                    agreed({item: _texts_of(values[CHUNKS]), place: left}, CHUNKS)

    def _task_places(self, row: Mapping[str, Any], home: str) -> Iterable[str]:
        """Return where a task may have left chunks elsewhere than in the item's home."""
        if not home or CHUNKS in self._chosen:
            return ()
        if not self._is_flat:
            return _TASKS.get(home, ())
        return [name for name in row if name != home and field_of(step_of(name)) != "reference"]

    def _standing(
        self,
        field: str,
        row: Mapping[str, Any],
        places: Iterable[str],
        homes: Mapping[str, Mapping[str, Any]],
    ) -> dict[str, Any]:
        """Return what stands at a field's places, or at the user's, by its path."""
        if field in self._chosen:
            column = self._chosen[field]
            place = column if isinstance(column, str) else ""
            return {place: picked(row, column, field)}
        found: dict[str, Any] = {}
        for place in places:
            if not place.endswith("."):
                with suppress(MissingError):
                    found[place] = value_at(row, place)
        for place, home in homes.items():
            for name in _known(tuple(home), field):
                found[f"{place}{name}"] = home[name]
        return found

    def _read_each(
        self, field: str, standing: Mapping[str, Any], *, is_needed: bool
    ) -> dict[str, Any]:
        """Return what is read of a field's places, without nulls.

        Raises `InputError`, if the field is needed for a null, too.
        """
        found: dict[str, Any] = {}
        for place, value in standing.items():
            where = f"{field}, {place!r}"
            if isinstance(value, InputError):  # by which a host says why there is none
                raise value
            if field == CHUNKS and is_blank(value):  # an empty cell is nothing retrieved
                found[place] = []
            elif not is_null(value):
                with error_context(where):
                    read = self._read(field, value)
                if read is not None:
                    found[place] = read
            elif is_needed:
                expected = "a list of chunks" if field == CHUNKS else "a text"
                raise InputError(expected, "None", where=where, hint=self._where_else(field))
        return found

    def _read(self, field: str, value: Any) -> Any:
        """Return a value as a text, or as chunks unless it is one text. Raises `InputError`."""
        if field == CHUNKS:
            parts = self._split(value)
            return parts if is_one_text(parts) else chunks_of(parts)
        if field in (LABELS, IDS):
            return self._split(value)
        if field not in FIELDS:
            return value
        text = text_of(value, field)
        if field == "user_input" and text is None and value != {}:
            raise UnclearError("a question", describe(value))
        return text

    def _split(self, value: Any) -> Any:
        """Return the parts of a cell that holds no list; without a separator the cell itself."""
        if not self._separator or not isinstance(value, str):
            return value
        self.has_split = self.has_split or self._separator in value
        if not is_one_text(value):
            return value
        return [*filter(None, map(str.strip, value.split(self._separator)))]

    def _missing(self, field: str, row: Mapping[str, Any]) -> InputError:
        """Return the error that names the places where nothing stands, and what there is."""
        names: list[str] = []
        called = self._called.get(field, field)
        all_known = [called] if field in self._called else ROW_NAMES[field].split()
        for place in chain.from_iterable(self._groups[field]):
            known = all_known if place.endswith(".") else [""]
            names += [f"{place.removeprefix('.')}{name}" for name in known[:3]]
        expected = f"the {called} at {' or '.join(map(repr, names[:4]))}"
        there = named(path for path in inner_paths(row) if path.count(".") < 2)
        got = f"only {there}" if there else "an empty row"
        return MissingError(expected, got, where=called, hint=self._where_else(field))

    def _where_else(self, field: str) -> str:
        """Return how the user says where else a field stands."""
        argument = "contexts" if field == CHUNKS else field
        return self._hint.format(argument=argument, field=self._called.get(field, field))


def _agreed(field: str, found: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the value that all places agree on, and the place with most texts of it.

    Raises `InputError` if two places differ.
    """
    texts: dict[str, list[str]] = {}
    for place in sorted(found, key=lambda place: isinstance(found[place], str)):
        value = found[place]
        texts[place] = _texts_of(value)
    first = agreed(texts, field) if len(texts) > 1 else next(iter(texts))
    if field == CHUNKS and isinstance(found[first], str):
        got = f"one text, {describe(found[first])}"
        where = f"{field}, {first!r}"
        raise UnclearError("a list of chunks", got, where=where, hint=_ONE_TEXT_HINT)
    return found[first], first


def _texts_of(value: Any) -> list[str]:
    """Return the texts of chunks, or a text as the only one."""
    return [*map(text_in, value)] if is_list(value) else [str(value)]


def _homes(row: Mapping[str, Any], places: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return by place the objects that hold all fields; the row itself is at ``""``."""
    homes: dict[str, Mapping[str, Any]] = {}
    for place in places:
        path = place[:-1]
        if place == ".":
            homes[""] = row
        elif place.endswith(".") and key_of(tuple(row), path.partition(".")[0]) is not None:
            with suppress(MissingError):
                homes[place] = output_of(value_at(row, path))
    return homes


def _collect(
    value: Any, path: str, found: dict[str, list[str]], *, are_all: bool, is_item: bool = False
) -> None:
    """Collect sentences and the texts in lists by their paths; unless ``are_all``, of chunks."""
    listed: Any = value
    with suppress(InputError):
        listed = listed_in(value)
    if are_all and (is_prose(listed) or (is_item and isinstance(listed, str))):
        found.setdefault(path, []).append(single_spaced(listed))
    items = as_list(listed)
    are_parts = any("type" in as_object(item) for item in items)  # of a message
    for item in items:
        _collect(item, path, found, are_all=are_all, is_item=not are_parts)
    for name, item in without_talk(as_object(listed)).items():
        place = f"{path}.{step_of(name)}"
        is_spoken = field_of(step_of(name)) == CHUNKS
        if is_spoken and (is_empty(item) or item in ([], {}, "[]")):
            found[place] = []
        _collect(item, place, found, are_all=are_all or is_spoken)


@lru_cache(maxsize=4096)  # every row has the same names
def _rival_names(names: tuple[str, ...], field: str) -> list[str]:
    """Return the unknown names in an object whose words speak of the field."""
    known = words(ROW_NAMES[field])
    return [
        name for name in without_gold(names) if normal(name) not in known and speaks(name, field)
    ]


@lru_cache(maxsize=4096)  # every row has the same names
def _known(names: tuple[str, ...], field: str) -> list[str]:
    """Return the names in an object under which a field may stand."""
    known = words(ROW_NAMES[field])
    return [name for name in without_gold(names) if normal(name) in known]


def without_gold(names: Iterable[str]) -> list[str]:
    """Return the names without ``context`` if they are of a DeepEval case, where it is gold.

    By ``retrieval_context`` or ``actual_output`` a case is known.
    """
    by_name = {name: normal(name) for name in names}
    is_case = not {"retrievalcontext", "actualoutput"}.isdisjoint(by_name.values())
    gold = "context" if is_case else None
    return [name for name, plain_name in by_name.items() if plain_name != gold]
