"""The reference examples, shipped with the package in the folder ``compat_fixtures``."""

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
    """A worked example somebody published, with the figures of every definition.

    Attributes:
        id: a short name.
        source: where it is printed.
        documented: the figures printed there, by mode; rounded as printed.
        documented_definition: the definition the source computes them by.
        sample: its texts.
        verdicts: restate the explanation printed beside it; chunks filled in.
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
    """The folder ``compat_fixtures``: inside the installed package, or in the checkout.

    It also holds RAGChecker's published examples and the peers' known deviations.
    """
    here = Path(__file__).parent
    for folder in (here / "compat_fixtures", here.parents[1] / "compat_fixtures"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"noisesense was installed without its compat_fixtures ({here})")


def reference_examples() -> tuple[ReferenceExample, ...]:
    """The worked examples of ragas' and Promptfoo's documentation."""
    text = (fixture_folder() / "reference_examples.json").read_text(encoding="utf-8")
    return tuple(_reference(**entry) for entry in json.loads(text)["examples"])


def _reference(
    sample: Any, verdicts: Any, expected: dict[Any, Any], **rest: Any
) -> ReferenceExample:
    of = Sample.model_validate(sample)
    beside = Verdicts.model_validate(verdicts).beside(of)
    pairs = {name: (relevant, irrelevant) for name, (relevant, irrelevant) in expected.items()}
    return ReferenceExample(sample=of, verdicts=beside, expected=pairs, **rest)
