"""What the bridges to models share: the factory, identities, replies, failures, threads."""
