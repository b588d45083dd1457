"""The reference examples, which the package ships in the folder ``compat_fixtures``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts


@dataclass(frozen=True)
class ReferenceExample:
    """A published worked example, with its figures under every definition.

    Attributes:
        id: a short name.
        source: where it is published.
        documented: the published figures by mode, rounded as published.
        documented_definition: the definition of the published figures.
        sample: its texts.
        verdicts: the published explanation as verdicts, with chunks.
        expected: ``(relevant, irrelevant)`` by definition, derived by hand.
    """

    id: str
    source: str
    documented: dict[Mode, float]
    documented_definition: DefinitionName
    sample: Sample
    verdicts: Verdicts
    expected: dict[DefinitionName, tuple[float | None, float | None]]


def fixture_folder() -> Path:
    """Return the folder ``compat_fixtures`` of the installed package or the checkout.

    It also holds RAGChecker's published examples and known deviations of other tools. Raises
    `FileNotFoundError` if it is missing.
    """
    here = Path(__file__).parent
    for folder in (here / "compat_fixtures", here.parents[1] / "compat_fixtures"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"noisesense was installed without its compat_fixtures ({here})")


def reference_examples() -> tuple[ReferenceExample, ...]:
    """Return the worked examples of ragas' and Promptfoo's documentation."""
    text = (fixture_folder() / "reference_examples.json").read_text(encoding="utf-8")
    return tuple(_example(entry) for entry in json.loads(text)["examples"])


def _example(entry: dict[str, Any]) -> ReferenceExample:
    """Build one example; takes entries out of the dict."""
    sample = Sample.model_validate(entry.pop("sample"))
    verdicts = Verdicts.model_validate(entry.pop("verdicts")).with_sample(sample)
    expected = {name: tuple(figures) for name, figures in entry.pop("expected").items()}
    return ReferenceExample(sample=sample, verdicts=verdicts, expected=expected, **entry)
