"""The texts, labels and verdicts of one assertion, wherever they were given."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, RecordingError, describe
from noisesense_adapters.reading.paths import MissingError, value_at
from noisesense_adapters.reading.places import FIELDS, HOSTS, ROW_NAMES
from noisesense_adapters.reading.row import CHUNKS, Reader, Reading, read_verdicts
from noisesense_adapters.reading.values import (
    as_list,
    as_object,
    is_one_text,
    normal,
    opened,
    parsed,
    words,
)

if TYPE_CHECKING:
    from pathlib import Path

    from noisesense.verdicts.form import LightVerdicts, VerdictsForm
    from noisesense.verdicts.sample import Sample

_AUTHORED = ("reference", CHUNKS, "user_input", "verdicts")
NAMES = words(" ".join(ROW_NAMES[field] for field in _AUTHORED))
"""What config may say beside settings: the names of what else stands in ``vars``."""

_CALLED = {CHUNKS: "contextChunks", "reference": "reference", "user_input": "query"}
_VERDICTS = words(ROW_NAMES["verdicts"])
_CHUNKS = words(ROW_NAMES[CHUNKS])
_ONE_TEXT = "context"  # the one name of chunks under which a test may hold one text
_TEMPLATE = r"\{\{-?\s*(\w+(?:\.\w+|\[\d+\])*)\s*-?\}\}"
_MOST_NESTED = 8
_RAW = r"(?s)\{%-?\s*raw\s*-?%\}((?:(?!\{%-?\s*raw\b).)*?)\{%-?\s*endraw\s*-?%\}"
_FILE = "file://"
_HINT = (
    "elsewhere: config, {field}: '{{{{variable}}}}', '{{{{metadata.…}}}}' or '{{{{output.…}}}}';"
    " for the response the provider's or the test's transform"
)
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
    """The inputs of one assertion, read once.

    From the assertion's config, then from the test's vars and the provider's metadata; chunks
    also from its output, which a model may have written: what grades the output is not read from
    there. Nothing else of the context is read: it holds keys.
    """

    def __init__(self, output: Any, context: dict[str, Any], config: dict[str, Any]) -> None:
        provider = as_object(context.get("providerResponse"))
        outputs: dict[str, Any] = {}
        for each in (provider.get("output"), provider.get("providerTransformedOutput"), output):
            outputs |= as_object(opened(each))
        metadata = as_object(provider.get("metadata"))
        self._config = config
        self._vars = as_object(context.get("vars"))
        self._given = {"output": outputs, "metadata": metadata}
        row = {
            "output": output,
            "config": self._authored("config", config),
            "vars": self._authored("vars", self._vars),
            "metadata": self._one_chunked(metadata),
            "providerOutput": self._one_chunked(outputs),
        }
        self.reading: Reading = Reader(HOSTS["promptfoo"], hint=_HINT, called=_CALLED).read(row)

    def _authored(self, place: str, values: dict[str, Any]) -> dict[str, Any]:
        """Return what the test's author wrote under the known names, its templates filled.

        What cannot be filled is an error in its place, raised where it is needed.
        """
        known: dict[str, Any] = {}
        for name, value in values.items():
            if normal(name) in NAMES and value is not None:
                try:
                    known[name] = self._read(name, value, f"{place}.{name}")
                except InputError as error:
                    known[name] = error
        return self._one_chunked(known)

    def _read(self, name: str, value: Any, where: str) -> Any:
        """Return a value with its templates filled.

        Verdicts keep theirs, unless all is one. Of chunks and verdicts, a list or an object in a
        text is read; raises `InputError`, also for chunks that are one text.
        """
        is_verdicts = normal(name) in _VERDICTS
        if is_verdicts or normal(name) in _CHUNKS:
            value = _parsed(value)
        if is_verdicts and not (isinstance(value, str) and "{{" in value):
            return value
        value = self._filled(value, where)
        is_split = is_one_text(value) and bool(value.strip())
        if is_split and normal(name) in _CHUNKS and name != _ONE_TEXT:
            is_path = re.fullmatch(r"\w+(?:\.\w+)+", value)
            hint = f"did you mean '{{{{{value}}}}}'?" if is_path else _SPLIT_HINT
            raise InputError("a list of chunks", "one text", where=where, hint=hint)
        return value

    def _one_chunked(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields; one text for all chunks, a ``context``, is one chunk.

        The noise is appended to it, as in Promptfoo's unmerged assertion. That chunk was relevant
        there, and is so here under its definition; under the others the reference decides.
        """
        text: Any = fields.get(_ONE_TEXT)
        if not is_one_text(text) or not text.strip():
            return fields
        chunk: dict[str, Any] = {"text": text}
        if self._config.get("definition") == "promptfoo":
            chunk["relevant"] = True
        try:
            where = "config.noiseContext"
            noise = self._filled(self._config.get("noiseContext") or "", where)
            if not isinstance(noise, str):
                raise InputError("a text", describe(noise), where=where)
        except InputError as error:
            return {**fields, _ONE_TEXT: error}
        if noise:
            chunk["text"] = f"{text}\n\n{noise}"
        return {**fields, _ONE_TEXT: [chunk]}

    @property
    def sample(self) -> Sample:
        """The texts. Raises `InputError` if something is missing or wrong."""
        return self.reading.sample

    @property
    def verdicts(self) -> VerdictsForm | None:
        """The verdicts beside the sample, as data or in a recording; None if there are none.

        Under the definition ``promptfoo`` a blank answer passes: it has verdicts without claims.
        What is plainly valid is read without the models, whose import takes longer than all the
        rest.

        Raises:
            InputError: they do not fit the chunks, or something is missing.
            RecordingError: the recording cannot be read, or does not hold the sample.
        """
        from noisesense.verdicts.form import LightVerdicts, light_verdicts  # it loads msgspec

        reading = self.reading
        reading.check("verdicts")
        value = reading.values["verdicts"]
        where = reading.places.get("verdicts", "")
        if value is None:
            is_unmerged = self._config.get("definition") == "promptfoo"
            is_blank = not str(reading.values["response"] or "").strip()
            # A sample would have to say something.
            return LightVerdicts(()) if is_unmerged and is_blank else None
        if isinstance(value, str):
            return _recorded(_located(value, where), reading)
        bring_chunks = "chunks" in as_object(value)
        if not bring_chunks or not isinstance(reading.errors.get(CHUNKS), MissingError):
            reading.check(CHUNKS)
        chunks = reading.values[CHUNKS]
        verdicts = light_verdicts(value, chunks)
        if verdicts is not None:
            return verdicts
        return read_verdicts(value, None if chunks is None else _sample_of(chunks), where)

    @property
    def record(self) -> dict[str, Any]:
        """Where the chunks stood, and the texts if they are whole, for the result's metadata."""
        record: dict[str, Any] = {}
        if CHUNKS in self.reading.places:
            record["contextsFrom"] = self.reading.places[CHUNKS]
        if not self.reading.errors.keys() & {*FIELDS}:  # verdicts alone need no texts
            record["sample"] = {field: self.reading.values[field] for field in FIELDS}
        return record

    def _filled(self, value: Any, where: str, depth: int = 0) -> Any:
        """Return a value with what its templates name: texts that are ``{{path}}`` alone.

        Promptfoo fills templates in prompts and in variables that are texts, but neither in
        config nor inside lists and objects. What is left would be judged as if it were a text, as
        would the name of a file: both are an `InputError`.
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
        if value.lstrip().startswith(_FILE):
            raise InputError("a text", describe(value), where=where, hint=_NOT_LOADED_HINT)
        template = re.fullmatch(_TEMPLATE, value.strip()) if "{" in value else None
        if template is not None:
            return self._value_at(re.sub(r"\[(\d+)\]", r".\1", template[1]), where, depth)
        outside = re.sub(_RAW, "", value)
        if "{{" in outside or "{%" in outside:
            raise InputError("no templates", describe(value), where=where, hint=_UNFILLED_HINT)
        return re.sub(_RAW, r"\1", value)

    def _value_at(self, path: str, where: str, depth: int) -> Any:
        """What a path names: a variable, with its own templates filled, or else what the provider
        gave below ``output`` or ``metadata``, as it is. Raises `InputError` for nothing."""
        if depth == _MOST_NESTED:
            raise InputError("templates that end", f"{path!r} in itself", where=where)
        root = path.partition(".")[0]
        is_variable = self._vars.get(root) is not None
        try:
            value = value_at(self._vars if is_variable else self._given, path)
        except InputError as error:
            raise error.within(where) from None
        if value is None:
            raise InputError(f"the variable {path!r}", "null", where=where)
        return self._filled(value, where, depth + 1) if is_variable else value


def _parsed(value: Any) -> Any:
    """Return the list or the object in a text, as in a CSV file's variable; else the value."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "array(")):
        try:
            return parsed(value)
        except InputError:
            return value
    return opened(value)


def _sample_of(chunks: list[Any]) -> Sample:
    """Return a sample of only these chunks: who gives verdicts need not give the other texts."""
    from noisesense.verdicts.sample import Sample

    return Sample.model_validate({"response": "-", "reference": "-", CHUNKS: chunks})


def _recorded(path: Path, reading: Reading) -> VerdictsForm:
    """Return the verdicts that a recording holds on a sample. Raises as `Inputs.verdicts`."""
    reading.check(*FIELDS)
    texts = {field: reading.values[field] for field in FIELDS}
    verdicts = light_lookup(path.read_bytes(), texts)
    if verdicts is not None:
        return verdicts
    from noisesense.verdicts.recording import RecordedJudge

    return RecordedJudge(path).lookup(reading.sample)


def light_lookup(content: bytes, sample: Any) -> LightVerdicts | None:
    """Return the verdicts that a recording (its lines) holds on the sample.

    None if it holds none, if the sample or any line is not plainly valid, if a line has an id or
    a cluster, or if two lines are on one sample: `RecordedJudge` then reads them.
    """
    from noisesense.verdicts.form import light_line, light_verdicts

    lines: dict[object, bytes] = {}
    for line in filter(bytes.strip, content.splitlines()):
        recorded = light_line(line)
        if recorded is None or recorded.sample is None or recorded.sample.texts in lines:
            return None
        if recorded.id is not None or recorded.cluster is not None:
            return None
        lines[recorded.sample.texts] = line
    asked = light_line({"sample": sample, "verdicts": {"response_claims": ()}})
    found = lines.get(asked.sample.texts) if asked and asked.sample else None
    if found is None:
        return None
    # Once more: labels of the recorded chunks are not the sample's.
    return light_verdicts(json.loads(found)["verdicts"], sample["retrieved_contexts"])


def _located(text: str, where: str) -> Path:
    """Return the file of that name: in the working directory, in the folder of the file that
    Promptfoo runs, or in one between them. The config is in one of them, wherever ``-c`` found it.

    Raises `RecordingError`, which names ``where``.
    """
    from pathlib import Path  # not needed to start

    name = text.removeprefix(_FILE)
    here = Path.cwd()
    script = Path(sys.path[0]).absolute()
    above = [folder for folder in script.parents if folder.is_relative_to(here)]
    for folder in (here, script, *above):
        # False also for what cannot be a name.
        if os.path.isfile(folder / name) and os.access(folder / name, os.R_OK):  # noqa: PTH113
            return folder / name
    hint = f"looked in {here}, in {script}, and between them"
    raise RecordingError("a readable file", f"No such file: {name}", where=where, hint=hint)
