"""What the adapters share: one place for each of a host's chores."""
