"""One wire per file: what goes out and what comes back, as pure functions of bytes."""
