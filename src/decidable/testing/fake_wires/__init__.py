"""The servers' side of the wires, for tests without a network."""
