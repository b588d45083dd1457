"""The reference examples in every installed framework, side by side."""

from noisesense_adapters.demo.compare import notes, to_dict, verdict
from noisesense_adapters.demo.run import FRAMEWORKS, run_demo

__all__ = ["FRAMEWORKS", "notes", "run_demo", "to_dict", "verdict"]
