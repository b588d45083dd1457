"""Datasets of many kinds, read as samples, scored, and written as results."""
