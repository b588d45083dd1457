"""A small RAG system with a stale document: see `noisesense_adapters.demo.catch`."""
