"""The texts, labels and verdicts of one assertion, wherever they were given."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, NoiseSenseError, RecordingError, describe
from noisesense_adapters.promptfoo.plain import plain_recorded, plain_verdicts
from noisesense_adapters.toolbox.documents import as_list, as_object

if TYPE_CHECKING:
    from noisesense.verdicts.form import VerdictsForm

QUERY = ("query", "user_input", "question")
REFERENCE = ("reference", "ground_truth", "groundTruth", "expected")
CHUNKS = ("contextChunks", "retrieved_contexts", "contexts", "context")
_RESPONSE = ("response", "answer", "output")
_ONE_TEXT = "context"  # the one name of CHUNKS under which a test may hold one text
_AUTHORED = ("config", "vars")  # where Promptfoo may have left templates unfilled
_PATH = re.compile(r"\w+(?:\.\w+|\[\d+\])*")
_TEMPLATE = re.compile(rf"\{{\{{-?\s*({_PATH.pattern})\s*-?\}}\}}")
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
    """The inputs of one assertion, each looked for under its names.

    In the assertion's config, then in the test's vars, then in the output and in what the provider
    gave before ``options.transform``, if those are objects, then in its metadata. Nothing else of
    the context is read: it holds keys.
    """

    def __init__(self, output: Any, context: dict[str, Any], config: dict[str, Any]) -> None:
        provider = as_object(context.get("providerResponse"))
        self._output = output
        self._config = config
        self._vars = as_object(context.get("vars"))
        self._places = {
            "config": config,
            "vars": self._vars,
            "output": _fields(output),
            "the provider's output": _fields(provider.get("providerTransformedOutput")),
            "the provider's untransformed output": _fields(provider.get("output")),
            "the provider's metadata": as_object(provider.get("metadata")),
        }
        self._names = {"response": "output"}  # the author's own, by the sample's fields

    @property
    def response(self) -> str:
        """The answer. Raises `InputError` if the output neither is nor holds a text."""
        for name in _RESPONSE:
            text = self._places["output"].get(name)
            if isinstance(text, str):
                return text
        if isinstance(self._output, str):
            return self._output
        hint = "options.transform can make a text of the provider's output"
        raise InputError("a text", type(self._output).__name__, where="output", hint=hint)

    @property
    def contexts(self) -> list[Any] | None:
        """The chunks as a sample takes them; None if there are none."""
        items = self._items
        if items is None:
            return None
        where = self._names["retrieved_contexts"]
        return [_chunk(item, f"{where}, chunk {j}")[0] for j, item in enumerate(items)]

    @property
    def chunk_data(self) -> list[dict[str, Any]]:
        """What else the chunks' objects hold, such as a score."""
        return [_chunk(item, "")[1] for item in self._items or ()]

    @property
    def _items(self) -> list[Any] | None:
        first = self._at_path() or self._first(CHUNKS)
        if first is None:
            return None
        where, value = first[0], _parsed(first[1], "[")
        self._names["retrieved_contexts"] = where
        if where.partition(".")[0] in _AUTHORED:
            value = self._filled(value, where)
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
            return [self._one_chunk(value)]
        if not _is_list(value):
            raise InputError("a list of chunks, or a text", describe(value), where=where)
        return cast("list[Any]", value)

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
        if None not in (self._config.get("verdicts"), self._config.get("recording")):
            raise InputError("verdicts or recording", "both", where="config")
        first = self._first(("verdicts", "recording"))
        if first and self._config.get("judge") and first[0].partition(".")[0] not in _AUTHORED:
            return None  # an answer does not grade itself where the author names a judge
        return first and (first[0], _parsed(first[1], "{"))

    @property
    def sample(self) -> dict[str, Any]:
        """The fields of a `noisesense.Sample`. Raises `InputError` if one is missing."""
        query, contexts = self._first(QUERY), self.contexts
        if query:
            self._names["user_input"] = query[0]
        reference = self._needed("the correct answer", REFERENCE)
        self._names["reference"] = reference[0]
        if contexts is None:
            self._needed("the retrieved chunks", CHUNKS)
        return {
            "user_input": query[1] if query else "",
            "response": self.response,
            "reference": reference[1],
            "retrieved_contexts": contexts,
        }

    def in_own_words(self, error: NoiseSenseError) -> NoiseSenseError:
        """The error with the author's names in place of the sample's."""
        field, _, rest = getattr(error, "where", "").partition(",")
        if field.startswith("chunk "):
            field, rest = "retrieved_contexts", f" {error.where}"  # type: ignore[attr-defined]
        if not isinstance(error, InputError) or field not in self._names:
            return error
        where = self._names[field] + (f",{rest}" if rest else "")
        return type(error)(error.expected, error.got, where=where, hint=error.hint)

    def _needed(self, what: str, names: tuple[str, ...]) -> tuple[str, Any]:
        first = self._first(names)
        if first is None:
            raise InputError(
                f"{what} as {', '.join(map(repr, names[:-1]))} or {names[-1]!r}",
                self._variables(),
                where="vars",
                hint=f"config.{names[0]} or the provider's metadata may hold it too",
            )
        return first

    def _at_path(self) -> tuple[str, Any] | None:
        """The chunks at ``config.contextPath``, such as ``output.chunks``."""
        path, where = self._config.get("contextPath"), "config.contextPath"
        if path is None:
            return None
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            raise InputError("a path such as output.chunks", describe(path), where=where)
        head, _, rest = path.partition(".")
        roots = {"metadata": ("the provider's metadata",), "vars": ("vars",)}
        outputs = ("output", "the provider's output", "the provider's untransformed output")
        for place in roots.get(head, outputs):
            value = _at(self._places[place], rest if head in (*roots, "output") else path)
            if value is not None:
                return f"{head}.{rest}" if rest else head, value
        keys = {key for place in outputs for key in self._places[place]}
        got = f"only {', '.join(sorted(keys))}" if keys else "an output without fields"
        raise InputError(f"chunks at {path}", got, where=where)

    def _first(self, names: tuple[str, ...]) -> tuple[str, Any] | None:
        for place, values in self._places.items():
            for name in names:
                where, value = f"{place}.{name}", values.get(name)
                if place in _AUTHORED and isinstance(value, str) and not _is_json(value):
                    value = self._filled(value, where)
                if value is not None:
                    return where, value
        return None

    def _filled(self, value: Any, where: str, depth: int = 0) -> Any:
        """With the variables that its templates name. A lone ``{{name}}`` is that variable.

        Promptfoo fills templates in prompts and in variables that are texts, but neither in
        config nor inside lists and objects, nor does it apply filters there. What is left would
        be judged as if it were a text.
        """
        if _is_list(value):
            items = as_list(value)
            return [self._filled(v, f"{where}, chunk {j}", depth) for j, v in enumerate(items)]
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {key: self._filled(item, where, depth) for key, item in fields.items()}
        if not isinstance(value, str):
            return value
        lone = _TEMPLATE.fullmatch(value.strip())
        if lone and depth < _MOST_NESTED:
            return self._filled(self._variable(lone[1], where), where, depth + 1)
        if depth < _MOST_NESTED:

            def text_of(template: re.Match[str]) -> str:
                variable = self._filled(self._variable(template[1], where), where, depth + 1)
                if variable is None or _is_list(variable) or as_object(variable):
                    raise InputError("a text in the variable", describe(variable), where=where)
                return str(variable)

            text = _TEMPLATE.sub(text_of, value)
        else:
            text = value
        if "{{" in text or "{%" in text:
            raise InputError(
                "a text without templates",
                describe(value),
                where=where,
                hint="{{name}} is filled from vars here, but no filters and no blocks: put the"
                " finished text into a variable, or leave it to the provider's metadata",
            )
        return text

    def _variable(self, path: str, where: str) -> Any:
        value = _at(self._vars, path)
        if value is None:
            raise InputError(f"the variable {path!r}", self._variables(), where=where)
        return value

    def _variables(self) -> str:
        return f"only {', '.join(map(repr, self._vars))}" if self._vars else "no variables"


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _fields(output: Any) -> dict[str, Any]:
    """An output's fields. Those in a text, which a model may have written, bring no verdicts."""
    fields = as_object(_parsed(output, "{"))
    if isinstance(output, str):
        fields = {name: fields[name] for name in fields if name not in ("verdicts", "recording")}
    return fields


def _is_json(text: str) -> bool:
    """Does it look like a list or an object in a text? It is parsed before it is filled."""
    return text.lstrip().startswith(("[", "{")) and not text.lstrip().startswith(("{{", "{%"))


def _at(value: Any, path: str) -> Any:
    """The value at a path such as ``docs[0].text``; None if there is none."""
    for name in re.findall(r"\w+", path):
        if _is_list(value) and name.isdigit():
            items = as_list(value)
            value = items[int(name)] if int(name) < len(items) else None
        else:
            value = as_object(value).get(name)
    return value


def _chunk(item: Any, where: str) -> tuple[Any, dict[str, Any]]:
    """A chunk as a sample takes it, and what else its object holds."""
    if not isinstance(item, dict):
        return item, {}
    fields = dict(cast("dict[str, Any]", item))
    text = next((name for name in _TEXT if fields.get(name) is not None), None)
    if text is None:
        known = ", ".join(map(repr, _TEXT))
        raise InputError(f"a chunk's text as one of {known}", f"only {[*fields]}", where=where)
    for name in fields:
        if (
            name != "relevant"
            and name.lower().startswith("relev")
            and len(name) == len("relevant")
        ):
            raise InputError("the label 'relevant'", repr(name), where=where)
    chunk: dict[str, Any] = {"text": fields.pop(text)}
    label = fields.pop("relevant", None)
    if isinstance(label, (str, int)):
        label = _LABELS.get(str(label).strip().lower(), label)
    chunk["relevant"] = label
    key = next((key for key in _ID if isinstance(fields.get(key), str)), None)
    if key is not None:
        chunk["id"] = fields.pop(key) if key == "id" else fields[key]
    return chunk, fields


def _parsed(value: Any, opening: str) -> Any:
    """Variables from a CSV file are texts: a list or an object in them is read as JSON."""
    if isinstance(value, str) and value.lstrip().startswith(opening):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def given_verdicts(inputs: Inputs) -> VerdictsForm | None:
    """The verdicts beside the sample, as data or in a recording; None if there are none.

    Raises `InputError` if they do not fit the chunks, `RecordingError` if the recording cannot be
    read or does not hold the sample.
    """
    if inputs.verdicts is None:
        return None
    where, value = inputs.verdicts
    if not isinstance(value, str):
        return _from_data(value, inputs.contexts, where)
    if value.lstrip().startswith("{"):
        raise InputError("valid JSON", describe(value), where=where)
    return _from_recording(_located(value, where), inputs.sample)


def _from_data(data: Any, contexts: list[Any] | None, where: str) -> VerdictsForm:
    plain = plain_verdicts(data, contexts)
    if plain is not None:
        return plain
    from noisesense.verdicts.sample import Sample
    from noisesense_adapters.toolbox.judges import read_verdicts

    sample: Sample | None = None
    if contexts is not None:
        # Only its chunks matter here: who gives verdicts need not give the texts.
        fields = {"response": "-", "reference": "-", "retrieved_contexts": contexts}
        sample = Sample.model_validate(fields)
    return read_verdicts(data, sample, where)


def _from_recording(path: Path, sample: dict[str, Any]) -> VerdictsForm:
    try:
        content = path.read_bytes()
    except (OSError, ValueError):  # RecordedJudge says what is wrong
        content = b""
    plain = plain_recorded(content, sample)
    if plain is not None:
        return plain
    from noisesense.verdicts.recording import RecordedJudge
    from noisesense.verdicts.sample import Sample

    return RecordedJudge(path).lookup(Sample.model_validate(sample))


def _located(text: str, where: str) -> Path:
    """Relative to the working directory, or to a folder from the one of the file that Promptfoo
    runs upwards: the config is in one of them, wherever ``-c`` found it."""
    path = Path(text.removeprefix("file://"))
    script = Path(sys.path[0]).absolute()
    folders = [Path.cwd(), script]
    if script.is_relative_to(Path.cwd()):
        folders += [each for each in script.parents if each.is_relative_to(Path.cwd())]
    try:
        for folder in folders:
            if (folder / path).exists():
                return folder / path
    except OSError:  # no file can have that name, which reading it says
        return path
    if "\0" in text:
        return path
    tried = ", ".join(dict.fromkeys(map(str, folders)))
    got = f"No such file: {path.name}"
    raise RecordingError("a readable file", got, where=where, hint=f"looked in {tried}")
