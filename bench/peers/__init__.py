"""One adapter per library; `bench/peers.py` loads each by its path, inside that library's own environment.

A module has ``TITLE``, ``CONTAINS`` (what its time includes), ``PACKAGES`` (what to install; empty for our own
environment), ``RE_ASKS`` (whether it asks again after a bad reply) and ``Adapter(script)`` with ``prepare(options)``,
``decide(prepared, options)`` and ``async_decide(prepared, options)``, both of which return the name picked.
Modules are imported in full only where their packages are: `PACKAGES` is read without running the module.
"""
