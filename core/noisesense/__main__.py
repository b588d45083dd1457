"""``python -m noisesense``, the same as ``noisesense``."""

from importlib import import_module

import_module("noisesense_adapters.cli").main()
