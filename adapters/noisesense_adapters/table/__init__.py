"""Scores of whole tables: without an object a row, and as exact as one by one.

Needs the extra ``table``.
"""
