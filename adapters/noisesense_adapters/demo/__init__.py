"""The reference examples in every installed framework, side by side."""

from noisesense_adapters.demo.run import FRAMEWORKS, run_demo

__all__ = ["FRAMEWORKS", "run_demo"]
