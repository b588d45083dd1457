"""``python -m noisesense``, the same as ``noisesense``."""

from runpy import run_module

run_module("noisesense_adapters.cli", run_name="__main__")
