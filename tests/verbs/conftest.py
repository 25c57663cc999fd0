"""The fixture `call`: a verb, sync or async."""

from functools import partial

import pytest
from verbs_kit import called


@pytest.fixture(params=["sync", "async"])
def call(request):
    """Calls a verb by name."""
    return partial(called, request.param)
