"""Who answers requests: the protocol, the registry, and one file or folder per provider."""
