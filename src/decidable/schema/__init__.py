"""From Python annotations and the dict notation to `Field` trees, and from those to everything a menu needs."""
