"""What is in a store."""

from noisesense import VerdictStore


def replies_in(store: VerdictStore) -> int:
    """How many replies it holds."""
    query = "SELECT COUNT(*) FROM calls WHERE reply IS NOT NULL"
    found: int = store.transact(lambda file: file.execute(query).fetchone()[0], write=False)
    return found
