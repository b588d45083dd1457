"""The texts, labels and verdicts of one assertion, wherever they were given."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, RecordingError, describe
from noisesense_adapters.toolbox.documents import as_list, as_object

if TYPE_CHECKING:
    from noisesense.verdicts.sample import Sample
    from noisesense.verdicts.verdicts import Verdicts

NAMES = {
    "user_input": ("query", "user_input", "question"),
    "reference": ("reference", "ground_truth", "groundTruth", "expected"),
    "retrieved_contexts": ("contextChunks", "retrieved_contexts", "contexts", "context"),
    "verdicts": ("verdicts", "recording"),
}
"""What is looked for under which names, the first of them Promptfoo's."""

_ONE_TEXT = "context"  # the one name of chunks under which a test may hold one text
_RESPONSE = ("response", "answer", "output")
_AUTHORED = ("config", "vars")  # where Promptfoo may have left templates unfilled
_TEMPLATE = re.compile(r"\{\{-?\s*(\w+(?:\.\w+|\[\d+\])*)\s*-?\}\}")
_MOST_NESTED = 8
_TEXT = ("text", "content", "page_content", "pageContent")
_ID = ("id", "doc_id", "source")
# As CSV columns hold them.
_LABELS = {
    **dict.fromkeys(("true", "yes", "1"), True),
    **dict.fromkeys(("false", "no", "0"), False),
    **dict.fromkeys(("", "null", "none"), None),
}


class Inputs:
    """The inputs of one assertion, each looked for under its `NAMES`.

    In the assertion's config, then in the test's vars, then in the provider's metadata; chunks
    also in its output, which a model may have written: what grades the output is not read from
    there. Nothing else of the context is read: it holds keys.
    """

    def __init__(self, output: Any, context: dict[str, Any], config: dict[str, Any]) -> None:
        provider = as_object(context.get("providerResponse"))
        self._output = output
        self._config = config
        self._vars = as_object(context.get("vars"))
        metadata = as_object(provider.get("metadata"))
        self._places = {
            "config": config,
            "vars": self._vars,
            "the provider's metadata": metadata,
        }
        self._outputs = {
            "output": as_object(_parsed(output)),
            "the provider's output": as_object(_parsed(provider.get("providerTransformedOutput"))),
            "the provider's untransformed output": as_object(_parsed(provider.get("output"))),
        }
        self._roots = {"output": list(self._outputs.values()), "metadata": [metadata]}

    @property
    def response(self) -> str:
        """The answer. Raises `InputError` if the output neither is nor holds a text."""
        fields = self._outputs["output"]
        texts = (*(fields.get(name) for name in _RESPONSE), self._output)
        text = next((each for each in texts if isinstance(each, str)), None)
        if text is None:
            hint = "options.transform can make a text of the provider's output"
            raise InputError("a text", type(self._output).__name__, where="output", hint=hint)
        return text

    @property
    def contexts(self) -> tuple[str, list[Any] | None]:
        """The chunks' place, and the chunks as a sample takes them; None if nobody gave any."""
        where, value = self._first("retrieved_contexts") or ("", None)
        if isinstance(value, str):
            place, _, name = where.partition(".")
            if place in _AUTHORED and name != _ONE_TEXT:
                raise InputError(
                    "a list of chunks",
                    "one text",
                    where=where,
                    hint="Promptfoo makes a test of each text in a list: write the chunks as"
                    " `- text: …`, or set options.disableVarExpansion; one text is a 'context'",
                )
            return where, [self._one_chunk(value)]
        if value is None:
            return where, None
        if not isinstance(value, list):
            raise InputError("a list of chunks, or a text", describe(value), where=where)
        items = as_list(cast("object", value))
        return where, [_chunk(item, f"{where}, chunk {j}") for j, item in enumerate(items)]

    def _one_chunk(self, text: str) -> Any:
        """A text is one chunk, with the noise appended, as in Promptfoo's unmerged assertion.

        That chunk was relevant there, and is so here under its definition; under the others the
        reference decides, as it does everywhere else.
        """
        noise = self._config.get("noiseContext")
        if noise is not None and not isinstance(noise, str):
            raise InputError("a text", describe(noise), where="config.noiseContext")
        text = f"{text}\n\n{noise}" if noise else text
        assumed = self._config.get("definition") == "promptfoo"
        return {"text": text, "relevant": True} if assumed else text

    @property
    def verdicts(self) -> tuple[str, Any] | None:
        """The verdicts' place, and their data or the path of a recording."""
        return self._first("verdicts")

    @property
    def sample(self) -> Sample:
        """Raises `InputError`, with the author's names, if something is missing or wrong."""
        query = self._first("user_input") or ("vars.query", "")
        reference = self._needed("the correct answer", "reference")
        where, contexts = self.contexts
        if contexts is None:
            self._needed("the retrieved chunks", "retrieved_contexts")
        return _validated(
            {
                "user_input": query,
                "response": ("output", self.response),
                "reference": reference,
                "retrieved_contexts": (where, contexts),
            }
        )

    def _needed(self, what: str, field: str) -> tuple[str, Any]:
        first = self._first(field)
        if first is None:
            *names, last = map(repr, NAMES[field])
            hint = (
                f"in config, {names[0][1:-1]}: '{{{{output.…}}}}' or '{{{{metadata.…}}}}' names"
                " another place"
            )
            expected = f"{what} as {', '.join(names)} or {last}"
            raise InputError(expected, self._variables(), where="vars", hint=hint)
        return first

    def _first(self, field: str) -> tuple[str, Any] | None:
        is_chunks = field == "retrieved_contexts"
        read = _parsed if is_chunks or field == "verdicts" else _as_it_is
        for place, values in (self._places | (self._outputs if is_chunks else {})).items():
            for name in NAMES[field]:
                where, value = f"{place}.{name}", read(values.get(name))
                if place in _AUTHORED and (is_chunks or isinstance(value, str)):
                    value = read(self._filled(value, where))
                if value is not None:
                    return where, value
        return None

    def _filled(self, value: Any, where: str, depth: int = 0) -> Any:
        """With what its templates name. A lone ``{{path}}`` is the value there.

        Promptfoo fills templates in prompts and in variables that are texts, but neither in
        config nor inside lists and objects, nor does it apply filters there. What is left would
        be judged as if it were a text.
        """
        if isinstance(value, list):
            items = as_list(cast("object", value))
            return [self._filled(v, f"{where}, chunk {j}", depth) for j, v in enumerate(items)]
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {key: self._filled(item, where, depth) for key, item in fields.items()}
        if not isinstance(value, str):
            return value
        lone = _TEMPLATE.fullmatch(value.strip())
        if lone and depth < _MOST_NESTED:
            return self._value_at(lone[1], where, depth)

        def text_of(template: re.Match[str]) -> str:
            filled = self._value_at(template[1], where, depth)
            if filled is None or isinstance(filled, (list, dict)):
                raise InputError("a text in the variable", describe(filled), where=where)
            return str(filled)

        left = value if depth == _MOST_NESTED else _TEMPLATE.sub("", value)
        if "{{" in left or "{%" in left:
            raise InputError(
                "a text without templates",
                describe(value),
                where=where,
                hint="{{name}} is filled from vars here, but no filters and no blocks: put the"
                " finished text into a variable, or leave it to the provider's metadata",
            )
        return _TEMPLATE.sub(text_of, value)

    def _value_at(self, path: str, where: str, depth: int) -> Any:
        """A variable with its own templates filled, or what the provider gave, as it is."""
        value = _at(self._vars, path)
        if value is not None:
            return self._filled(value, where, depth + 1)
        root, _, rest = path.partition(".")
        for holder in self._roots.get(root, []) if rest else []:
            if (value := _at(holder, rest)) is not None:
                return value
        got = self._variables()
        if root in self._roots:
            got = f"only {sorted({key for each in self._roots[root] for key in each})}"
        raise InputError(f"the variable {path!r}", got, where=where)

    def _variables(self) -> str:
        return f"only {', '.join(map(repr, self._vars))}" if self._vars else "no variables"


def _as_it_is(value: Any) -> Any:
    return value


def _parsed(value: Any) -> Any:
    """Variables from a CSV file are texts: a list or an object in them is read as JSON."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _at(value: Any, path: str) -> Any:
    """The value at a path such as ``docs[0].text``; None if there is none."""
    for name in re.findall(r"\w+", path):
        if isinstance(value, list) and name.isdigit():
            items = as_list(cast("object", value))
            value = items[int(name)] if int(name) < len(items) else None
        else:
            value = as_object(value).get(name)
    return value


def _chunk(item: Any, where: str) -> Any:
    """A chunk as a sample takes it."""
    if not isinstance(item, dict):
        return item
    fields = cast("dict[str, Any]", item)
    texts = [fields[name] for name in _TEXT if fields.get(name) is not None]
    if not texts:
        known = ", ".join(map(repr, _TEXT))
        raise InputError(f"a chunk's text as one of {known}", f"only {[*fields]}", where=where)
    for name in fields:
        if name != "relevant" and re.fullmatch("relev.{3}", name.lower()):
            raise InputError("the label 'relevant'", repr(name), where=where)
    label = fields.get("relevant")
    if isinstance(label, (str, int)):
        label = _LABELS.get(str(label).strip().lower(), label)
    text = next((text for text in texts if str(text).strip()), texts[0])
    names = (name for key in _ID if isinstance(name := fields.get(key), str))
    return {"text": text, "relevant": label, "id": next(names, None)}


def _validated(given: dict[str, tuple[str, Any]]) -> Sample:
    """A sample of places and values. Errors name the places."""
    from noisesense.verdicts.sample import Sample

    try:
        return Sample.model_validate({field: value for field, (_, value) in given.items()})
    except InputError as error:
        field, _, rest = error.where.partition(", ")
        if field not in given:
            field, rest = "retrieved_contexts", error.where
        where = f"{given[field][0]}, {rest}" if rest else given[field][0]
        raise type(error)(error.expected, error.got, where=where, hint=error.hint) from None


def given_verdicts(inputs: Inputs, data: Any = None) -> Verdicts | None:
    """The verdicts beside the sample, as data or in a recording; None if there are none.

    Raises `InputError` if they do not fit the chunks, `RecordingError` if the recording cannot be
    read or does not hold the sample.
    """
    where, value = ("verdicts", data) if data is not None else inputs.verdicts or ("", None)
    if value is None:
        return None
    if isinstance(value, str):
        if value.lstrip().startswith("{"):
            raise InputError("valid JSON", describe(value), where=where)
        from noisesense.verdicts.recording import RecordedJudge

        return RecordedJudge(_located(value, where)).lookup(inputs.sample)
    from noisesense_adapters.toolbox.judges import read_verdicts

    place, contexts = inputs.contexts
    # Only the chunks matter here: who gives verdicts need not give the texts.
    texts = {
        "response": ("", "-"),
        "reference": ("", "-"),
        "retrieved_contexts": (place, contexts),
    }
    return read_verdicts(value, None if contexts is None else _validated(texts), where)


def _located(text: str, where: str) -> Path:
    """Relative to the working directory, or to a folder from the one of the file that Promptfoo
    runs upwards: the config is in one of them, wherever ``-c`` found it."""
    name, here, script = text.removeprefix("file://"), Path.cwd(), Path(sys.path[0]).absolute()
    above = (each for each in script.parents if each.is_relative_to(here))
    folders = list(dict.fromkeys((here, script, *above)))
    for folder in folders:
        if os.path.isfile(folder / name):  # noqa: PTH113 - False for what cannot be a name, too
            return folder / name
    hint = f"looked in {', '.join(map(str, folders))}"
    raise RecordingError("a readable file", f"No such file: {name}", where=where, hint=hint)
