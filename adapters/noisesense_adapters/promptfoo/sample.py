"""The texts, labels and verdicts of one assertion, wherever they were given."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, RecordingError, describe, error_context
from noisesense_adapters.evaluate.chunks import chunks_of
from noisesense_adapters.evaluate.inputs import as_list, as_object, opened, parsed
from noisesense_adapters.evaluate.places import CONTEXTS
from noisesense_adapters.evaluate.texts import answer_of, question_of, reference_of

if TYPE_CHECKING:
    from pathlib import Path

    from noisesense.verdicts.form import LightVerdicts, VerdictsForm
    from noisesense.verdicts.sample import Sample

_CHUNKS = "retrieved_contexts"
NAMES = {
    "user_input": ("query", "user_input", "question"),
    "reference": ("reference", "ground_truth", "groundTruth", "expected"),
    _CHUNKS: ("contextChunks", _CHUNKS, "contexts", "context"),
    "verdicts": ("verdicts", "recording"),
}
"""What is looked for under which names, the first of them Promptfoo's."""

_ONE_TEXT = "context"  # the one name of chunks under which a test may hold one text
_PROVIDERS_NAMES = tuple(dict.fromkeys((*NAMES[_CHUNKS], *CONTEXTS.split())))
"""What providers call the chunks."""
_AUTHORED = ("config", "vars")  # where Promptfoo may have left templates unfilled
_TEMPLATE = re.compile(r"\{\{-?\s*(\w+(?:\.\w+|\[\d+\])*)\s*-?\}\}")
_MOST_NESTED = 8
_RAW = re.compile(
    r"\{%-?\s*raw\s*-?%\}((?:(?!\{%-?\s*raw\b).)*?)\{%-?\s*endraw\s*-?%\}", re.DOTALL
)
_FILE = "file://"
_SPLIT_HINT = (
    "one text for all chunks is a 'context'; in a CSV column write a JSON list; in YAML"
    " `- text: …` for each, since Promptfoo makes a test of each text in a plain list"
)
_NOT_LOADED_HINT = (
    "Promptfoo loads files in variables at the top only: write `contextChunks: file://…` itself"
    " there, or put the text here"
)
_UNFILLED_HINT = (
    "a text that is {{path}} and nothing else is filled here: put the finished text into a"
    " variable, or leave it to the provider's metadata; braces that are text stand between"
    " {% raw %} and {% endraw %}"
)


class Inputs:
    """The inputs of one assertion, each looked for under its `NAMES`.

    In the assertion's config, then in the test's vars, then in the provider's metadata; chunks
    also in its output, which a model may have written: what grades the output is not read from
    there. Nothing else of the context is read: it holds keys.
    """

    def __init__(self, output: Any, context: dict[str, Any], config: dict[str, Any]) -> None:
        provider = as_object(context.get("providerResponse"))
        self._output = output
        self._vars = as_object(context.get("vars"))
        metadata = as_object(provider.get("metadata"))
        self._places = {"config": config, "vars": self._vars, "the provider's metadata": metadata}
        outputs = {
            "output": output,
            "the provider's output": provider.get("providerTransformedOutput"),
            "the provider's untransformed output": provider.get("output"),
        }
        self._outputs = {place: as_object(opened(value)) for place, value in outputs.items()}
        self._roots = {"output": [*self._outputs.values()], "metadata": [metadata]}

    @property
    def response(self) -> str:
        """The answer. Raises `InputError` if the output neither is nor holds a text."""
        hint = "options.transform can make a text of the provider's output"
        try:
            text = answer_of(self._output)
        except InputError as error:
            hint = error.hint or hint
            raise InputError(error.expected, error.got, where="output", hint=hint) from None
        if not isinstance(text, str):
            raise InputError("a text", type(self._output).__name__, where="output", hint=hint)
        return text

    @property
    def contexts(self) -> tuple[str, list[Any] | None]:
        """The chunks' place, and the chunks as a sample takes them; None if nobody gave any.

        Raises:
            InputError: chunks that cannot be read, or that differ in two places.
        """
        candidates = self._candidates(_CHUNKS)
        if not candidates:
            return "", None
        where, value = candidates[0]
        chunks = self._chunks(where, value)
        if where.startswith("config."):  # the author's choice
            return where, chunks
        for place, other in candidates[1:]:
            retrieved = self._chunks(place, other)
            if len(chunks) == 1 and _within(retrieved, chunks):
                # One text for the prompt, made of what was retrieved.
                where = place
                chunks = retrieved
            elif _texts(retrieved) != _texts(chunks):
                expected = f"the same chunks in {place} as in {where}"
                hint = "say which: config, contextChunks: '{{metadata.…}}' or '{{context}}'"
                raise InputError(expected, "others", where=where, hint=hint)
        return where, chunks

    def _chunks(self, where: str, value: Any) -> list[Any]:
        with error_context(where):
            place, _, name = where.partition(".")
            if isinstance(value, str) and place in _AUTHORED and name != _ONE_TEXT:
                raise InputError("a list of chunks", "one text", hint=_SPLIT_HINT)
            if isinstance(value, str):
                return [self._one_chunk(value)]
            return chunks_of(value)

    def _one_chunk(self, text: str) -> Any:
        """A text is one chunk, with the noise appended, as in Promptfoo's unmerged assertion.

        That chunk was relevant there, and is so here under its definition; under the others the
        reference decides, as it does everywhere else.
        """
        where = "config.noiseContext"
        noise = self._filled(self._places["config"].get("noiseContext"), where)
        _check_loaded(noise, where)
        if noise is not None and not isinstance(noise, str):
            raise InputError("a text", describe(noise), where=where)
        text = f"{text}\n\n{noise}" if noise else text
        assumed = self._places["config"].get("definition") == "promptfoo"
        return {"text": text, "relevant": True} if assumed else text

    @property
    def fields(self) -> dict[str, tuple[str, Any]]:
        """A sample's fields: their places and values. Raises `InputError` if one is missing."""
        self._needed(_CHUNKS, "the retrieved chunks")
        return {
            "user_input": self.first("user_input") or ("vars.query", ""),
            "response": ("output", self.response),
            "reference": self._needed("reference", "the correct answer"),
            _CHUNKS: self.contexts,
        }

    @property
    def sample(self) -> Sample:
        """Raises `InputError`, with the author's names, if something is missing or wrong."""
        return _validated(self.fields)

    @property
    def verdicts(self) -> VerdictsForm | None:
        """See `given_verdicts`; none in a blank answer where the definition has it pass."""
        verdicts = given_verdicts(self)
        is_unmerged = self._places["config"].get("definition") == "promptfoo"
        if verdicts is None and is_unmerged and not self.response.strip():
            from noisesense.verdicts.form import LightVerdicts

            return LightVerdicts(())  # a sample would have to say something
        return verdicts

    @property
    def record(self) -> dict[str, Any]:
        """Where the chunks stood, and the texts if they are whole, for the result's metadata."""
        where, chunks = self.contexts
        record: dict[str, Any] = {} if chunks is None else {"contextsFrom": where}
        with suppress(InputError):  # verdicts alone need no texts
            record["sample"] = _values(self.fields)
        return record

    def _needed(self, field: str, what: str) -> tuple[str, Any]:
        """As `first`; raises `InputError`, which calls the field ``what``, if there is none."""
        first = self.first(field)
        if first is None:
            *names, last = map(repr, NAMES[field])
            expected = f"{what} as {', '.join(names)} or {last}"
            examples = "'{{metadata.…}}' or '{{output.…}}'"
            hint = f"elsewhere: config, {NAMES[field][0]}: {examples}"
            raise InputError(expected, _only(self._vars), where="vars", hint=hint)
        return first

    def first(self, field: str) -> tuple[str, Any] | None:
        """The place and the value of what is looked for under the field's `NAMES`."""
        candidates = self._candidates(field)
        return candidates[0] if candidates else None

    def _candidates(self, field: str) -> list[tuple[str, Any]]:
        """The first place and value in config, in vars and from the provider."""
        candidates: list[tuple[str, Any]] = []
        for place, values in self._places.items():
            candidates += self._first_in(place, values, field)
        if field == _CHUNKS:
            outputs: list[tuple[str, Any]] = []
            for place, values in self._outputs.items():
                outputs += self._first_in(place, values, field)
            candidates += outputs[:1]  # an output may be transformed: the first was judged
        return candidates

    def _first_in(self, place: str, values: dict[str, Any], field: str) -> list[tuple[str, Any]]:
        """The first of the field's names that has a value there: one place and value, or none."""
        names = NAMES[field]
        if field == _CHUNKS and place not in _AUTHORED:
            names = _PROVIDERS_NAMES
        for name in names:
            where = f"{place}.{name}"
            value = values.get(name)
            if place in _AUTHORED:
                value = self._authored(value, field, where)
            if value is not None:
                read = _READERS.get(field, _parsed)
                return [(where, read(value))]
        return []

    def _authored(self, value: Any, field: str, where: str) -> Any:
        """What the test's author wrote, its templates filled. Raises `InputError`."""
        if field != _CHUNKS and not isinstance(value, str):
            return value
        if field not in _READERS:
            value = _parsed(value)
        value = self._filled(value, where)
        if field != "verdicts":
            _check_loaded(value, where)
        return value

    def _filled(self, value: Any, where: str, depth: int = 0) -> Any:
        """With what its templates name: a text that is ``{{path}}`` and nothing else.

        Promptfoo fills templates in prompts and in variables that are texts, but neither in
        config nor inside lists and objects. What is left would be judged as if it were a text.
        """
        if isinstance(value, list):
            items: list[Any] = []
            for number, item in enumerate(as_list(cast("object", value))):
                items.append(self._filled(item, f"{where}, chunk {number}", depth))
            return items
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {key: self._filled(item, where, depth) for key, item in fields.items()}
        if not isinstance(value, str):
            return value
        template = _TEMPLATE.fullmatch(value.strip())
        if template is not None:
            return self._value_at(template[1], where, depth)
        outside = _RAW.sub("", value)
        if "{{" in outside or "{%" in outside:
            raise InputError("no templates", describe(value), where=where, hint=_UNFILLED_HINT)
        return _RAW.sub(r"\1", value)

    def _value_at(self, path: str, where: str, depth: int) -> Any:
        """What a path names: a variable, with its own templates filled, or else what the provider
        gave below ``output`` or ``metadata``, as it is. Raises `InputError` for nothing."""
        if depth == _MOST_NESTED:
            raise InputError("templates that end", f"{path!r} in itself", where=where)
        variable = _at(self._vars, path)
        if variable is not None:
            return self._filled(variable, where, depth + 1)
        root, dot, rest = path.partition(".")
        holders = self._roots.get(root, []) if dot else []
        for holder in holders:
            value = _at(holder, rest)
            if value is not None:
                return value
        names: dict[str, None] = {}
        for holder in holders or [self._vars]:
            for name, value in holder.items():
                if value is not None:
                    names[name] = None
        raise InputError(f"the variable {path!r}", _only(names), where=where)


def _only(names: Iterable[str]) -> str:
    return f"only {', '.join(map(repr, names))}" if names else "no variables"


def _parsed(value: Any) -> Any:
    """Variables from a CSV file are texts: a list or an object in them is read."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "array(")):
        try:
            return parsed(value)
        except InputError:
            return value
    return opened(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "reference": reference_of,
    "user_input": question_of,
}


def _check_loaded(value: Any, where: str) -> None:
    """Raise `InputError` for the name of a file in place of its text, at any depth."""
    if isinstance(value, str) and value.lstrip().startswith(_FILE):
        raise InputError("a text", describe(value), where=where, hint=_NOT_LOADED_HINT)
    for item in as_list(value) or as_object(value).values():
        _check_loaded(item, where)


def _texts(chunks: list[Any]) -> list[Any]:
    return [as_object(chunk).get("text", chunk) for chunk in chunks]


def _within(chunks: list[Any], one: list[Any]) -> bool:
    """Do all these chunks stand in the text of the one?"""
    (whole,) = _texts(one)
    texts = _texts(chunks)
    return len(texts) > 1 and all(isinstance(text, str) and text in whole for text in texts)


def _at(value: Any, path: str) -> Any:
    """The value at a path such as ``docs[0].text``; None if there is none."""
    for name in re.findall(r"\w+", path):
        items = {str(j): item for j, item in enumerate(as_list(value))}
        value = (items or as_object(value)).get(name)
    return value


def _values(fields: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """The values of a sample's fields without their places."""
    return {field: value for field, (_, value) in fields.items()}


def _validated(fields: dict[str, tuple[str, Any]]) -> Sample:
    """A sample of places and values. Errors name the places."""
    from noisesense.verdicts.sample import Sample

    try:
        return Sample.model_validate(_values(fields))
    except InputError as error:
        if error.where in fields:
            where, _ = fields[error.where]
        else:  # within the chunks: "chunk 3, relevant"
            place, _ = fields[_CHUNKS]
            where = f"{place}, {error.where}"
        raise type(error)(error.expected, error.got, where=where, hint=error.hint) from None


def given_verdicts(inputs: Inputs) -> VerdictsForm | None:
    """The verdicts beside the sample, as data or in a recording; None if there are none.

    What is plainly valid is read without the models, whose import takes longer than all the rest.

    Raises:
        InputError: they do not fit the chunks, or something is missing.
        RecordingError: the recording cannot be read, or does not hold the sample.
    """
    given = inputs.first("verdicts")
    if given is None:
        return None
    where, value = given
    if isinstance(value, str):
        return _recorded(_located(value, where), inputs.fields)
    from noisesense.verdicts.form import light_verdicts  # it loads msgspec

    place, chunks = inputs.contexts
    verdicts = light_verdicts(value, chunks)
    if verdicts is not None:
        return verdicts
    from noisesense_adapters.evaluate.inputs import read_verdicts

    sample = None
    if chunks is not None:
        # Only the chunks matter here: who gives verdicts need not give the texts.
        sample = _validated(
            {"response": ("", "-"), "reference": ("", "-"), _CHUNKS: (place, chunks)}
        )
    return read_verdicts(value, sample, where)


def _recorded(path: Path, fields: dict[str, tuple[str, Any]]) -> VerdictsForm:
    """The verdicts that a recording holds on a sample. Raises as `given_verdicts`."""
    verdicts = light_lookup(path.read_bytes(), _values(fields))
    if verdicts is not None:
        return verdicts
    from noisesense.verdicts.recording import RecordedJudge

    return RecordedJudge(path).lookup(_validated(fields))


def light_lookup(content: bytes, sample: Any) -> LightVerdicts | None:
    """The verdicts that a recording (its lines) holds on the sample.

    None if it holds none, or if the sample or any line is not plainly valid.
    """
    from noisesense.verdicts.form import light_line, light_verdicts

    lines: dict[object, bytes] = {}
    for line in content.splitlines():
        if not line.strip():
            continue
        recorded = light_line(line)
        if recorded is None or recorded.sample is None:
            return None
        if recorded.id is not None or recorded.cluster is not None:
            return None
        if recorded.sample.texts in lines:
            return None
        lines[recorded.sample.texts] = line
    asked = light_line({"sample": sample, "verdicts": {"response_claims": ()}})
    if asked is None or asked.sample is None or asked.sample.texts not in lines:
        return None
    # Once more: labels of the recorded chunks are not the sample's.
    verdicts = json.loads(lines[asked.sample.texts])["verdicts"]
    return light_verdicts(verdicts, sample["retrieved_contexts"])


def _located(text: str, where: str) -> Path:
    """Relative to the working directory, or to a folder from the one of the file that Promptfoo
    runs upwards: the config is in one of them, wherever ``-c`` found it."""
    from pathlib import Path  # not needed to start

    name = text.removeprefix(_FILE)
    here = Path.cwd()
    script = Path(sys.path[0]).absolute()
    above = [folder for folder in script.parents if folder.is_relative_to(here)]
    folders = list(dict.fromkeys((here, script, *above)))
    for folder in folders:
        # False also for what cannot be a name.
        if os.path.isfile(folder / name) and os.access(folder / name, os.R_OK):  # noqa: PTH113
            return folder / name
    hint = f"looked in {', '.join(map(str, folders))}"
    raise RecordingError("a readable file", f"No such file: {name}", where=where, hint=hint)
