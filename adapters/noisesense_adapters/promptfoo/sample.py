"""The texts, labels and verdicts of one assertion, wherever they were given."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.promptfoo.plain import plain_recorded, plain_verdicts

if TYPE_CHECKING:
    from noisesense.verdicts.form import VerdictsForm

QUERY = ("query", "user_input", "question")
REFERENCE = ("reference", "ground_truth", "groundTruth", "expected")
CHUNKS = ("contextChunks", "retrieved_contexts", "contexts", "context")
_RESPONSE = ("response", "answer", "output")
_ONE_TEXT = "context"  # the one name of CHUNKS under which a test may hold one text
_TEMPLATE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class Inputs:
    """The inputs of one assertion, each looked for under its names.

    In the assertion's config, then in the test's vars, then in the provider's output if that is
    an object, then in its metadata. Nothing else of the context is read: it holds keys.
    """

    def __init__(self, output: Any, context: dict[str, Any], config: dict[str, Any]) -> None:
        metadata = as_object(context.get("providerResponse")).get("metadata")
        self._output = output
        self._config = config
        self._vars = as_object(context.get("vars"))
        self._places = {
            "config": config,
            "vars": self._vars,
            "output": as_object(output),
            "the provider's metadata": as_object(metadata),
        }

    @property
    def response(self) -> str:
        """The answer. Raises `InputError` if the output neither is nor holds a text."""
        if isinstance(self._output, str):
            return self._output
        for name in _RESPONSE:
            text = as_object(self._output).get(name)
            if isinstance(text, str):
                return text
        hint = "options.transform can make a text of the provider's output"
        raise InputError("a text", type(self._output).__name__, where="output", hint=hint)

    @property
    def contexts(self) -> list[Any] | None:
        """The chunks, texts or objects; None if there are none."""
        first = self._first(CHUNKS)
        if first is None:
            return None
        where, value = first[0], _parsed(first[1], "[")
        if isinstance(value, str):
            place, _, name = where.partition(".")
            if place in ("config", "vars") and name != _ONE_TEXT:
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
        return first and (first[0], _parsed(first[1], "{"))

    @property
    def sample(self) -> dict[str, Any]:
        """The fields of a `noisesense.Sample`. Raises `InputError` if one is missing."""
        query, contexts = self._first(QUERY), self.contexts
        return {
            "user_input": query[1] if query else "",
            "response": self.response,
            "reference": self._needed("the correct answer", REFERENCE),
            "retrieved_contexts": contexts or self._needed("the retrieved chunks", CHUNKS),
        }

    def _needed(self, what: str, names: tuple[str, ...]) -> Any:
        first = self._first(names)
        if first is None:
            raise InputError(
                f"{what} as {', '.join(map(repr, names[:-1]))} or {names[-1]!r}",
                self._variables(),
                where="vars",
                hint=f"config.{names[0]} or the provider's metadata may hold it too",
            )
        return first[1]

    def _first(self, names: tuple[str, ...]) -> tuple[str, Any] | None:
        for place, values in self._places.items():
            for name in names:
                where, value = f"{place}.{name}", values.get(name)
                if place == "config" and isinstance(value, str):
                    value = self._filled(value, where)
                if value is not None:
                    return where, value
        return None

    def _filled(self, value: str, where: str) -> Any:
        """Promptfoo does not fill templates in config: a lone ``{{name}}`` is that variable."""
        template = _TEMPLATE.fullmatch(value.strip())
        if template is None:
            return value
        name = template[1]
        if name not in self._vars:
            raise InputError(f"the variable {name!r}", self._variables(), where=where)
        return self._vars[name]

    def _variables(self) -> str:
        return f"only {', '.join(map(repr, self._vars))}" if self._vars else "no variables"


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


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
    return _from_recording(_located(value), inputs.sample)


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


def _located(text: str) -> Path:
    """Relative to the working directory or to the folder of the file that Promptfoo runs."""
    path = Path(text.removeprefix("file://"))
    beside = Path(sys.path[0], path)
    try:
        return beside if not path.exists() and beside.exists() else path
    except (OSError, ValueError):  # no file can have that name, which reading it says
        return path
