"""Tools of MCP servers: a real one in a process of its own, over its pipes and over HTTP; and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer, Server
from mcp.types import ListToolsResult, Tool

from decidable import (
    ApprovalRequired,
    ArgumentTypeError,
    FunctionOption,
    MissingExtraError,
    OptionError,
    SettingError,
    UsageError,
    mcp_tools,
    to_openai_tools,
)
from decidable.content import MediaPart, TextPart
from decidable.mcp import McpServerError, McpToolError
from decidable.testing import call_tool, call_tools, pick, scripted

SCRIPT = Path(__file__).with_name("mcp_server.py")
SHOP = [sys.executable, str(SCRIPT)]


def named(tools: tuple[FunctionOption[Any], ...]) -> dict[str, FunctionOption[Any]]:
    return {option.name: option for option in tools}


def call(tools: tuple[FunctionOption[Any], ...], name: str, /, **arguments: Any) -> Any:
    return named(tools)[name].function(**arguments)


def result_of(model: scripted, request: int = -1) -> Any:
    (result,) = model.requests[request].request.messages[-1].tool_results
    return result


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, within_s: float = 5.0) -> bool:
    end = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def session_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("decidable-mcp")]


# What a tool is, and what it gives back


def test_a_tool_has_the_servers_own_schema_and_the_model_gets_its_result() -> None:
    with mcp_tools(SHOP) as tools:
        model = scripted(call_tool("add", a=1, b=2), "It is 3.")
        assert model.exec("1 + 2?", tools=tools) == "It is 3."
    (spec,) = (spec for spec in model.requests[0].request.tools if spec.name == "add")
    assert spec.description == "Add two numbers.\n\nBoth are whole."
    assert spec.parameters["properties"]["b"]["maximum"] == 1000
    assert result_of(model).content == "3"


def test_async_tools_are_awaited_on_the_same_loop() -> None:
    async def main() -> tuple[str, float]:
        async with mcp_tools(SHOP) as tools:
            model = scripted(call_tools(("wait", {"seconds": 0.4}), ("wait", {"seconds": 0.4})), "both")
            begun = time.monotonic()
            answer = await model.async_exec("Wait twice.", tools=tools)
            return answer, time.monotonic() - begun

    answer, seconds = asyncio.run(main())
    assert answer == "both"
    assert seconds < 0.75, "the two calls did not run side by side"


def test_an_argument_of_the_wrong_type_never_reaches_the_server() -> None:
    with mcp_tools(SHOP) as tools:
        model = scripted(call_tool("add", a="one", b=2), "gave up")
        model.exec("?", tools=tools)
    assert result_of(model).is_error
    assert "a" in result_of(model).content
    assert "validation error" not in result_of(model).content, "the server was asked"


def test_what_a_tool_says_of_its_failure_reaches_the_model() -> None:
    with mcp_tools(SHOP) as tools:
        model = scripted(call_tool("fail", why="the till is closed"), "sorry")
        assert model.exec("?", tools=tools) == "sorry"
    assert result_of(model).is_error
    assert "the till is closed" in result_of(model).content


def test_text_images_and_structured_content() -> None:
    with mcp_tools(SHOP) as tools:
        text, image = call(tools, "picture")
        assert text == TextPart("one pixel")
        assert isinstance(image, MediaPart)
        assert (image.kind, image.mime_type) == ("image", "image/png")
        assert image.data is not None
        assert image.data.startswith(b"\x89PNG")
        assert '"celsius": 21.5' in call(tools, "weather", city="Oslo")
        with pytest.raises(McpServerError, match="not base64"):
            call(tools, "blocks")


def test_an_image_is_sent_to_the_model_as_one() -> None:
    with mcp_tools(SHOP) as tools:
        model = scripted(call_tool("picture"), "a pixel")
        model.exec("What is it?", tools=tools)
    assert any(isinstance(part, MediaPart) for part in result_of(model).content)


def test_all_pages_of_a_long_list() -> None:
    async def page(_: Any, params: Any) -> ListToolsResult:
        start = int(params.cursor) if params is not None and params.cursor else 0
        names = [f"tool_{number}" for number in range(start, start + 3)]
        tools = [Tool(name=name, input_schema={"type": "object"}) for name in names]
        return ListToolsResult(tools=tools, next_cursor=str(start + 3) if start < 6 else None)

    with mcp_tools(Server("long", on_list_tools=page)) as tools:
        assert [option.name for option in tools] == [f"tool_{number}" for number in range(9)]


# Names, rules, decisions


def test_two_servers_with_tools_of_one_name_need_a_prefix() -> None:
    with mcp_tools(SHOP) as first, mcp_tools(SHOP, prefix="other_") as second:
        with pytest.raises(OptionError, match="add"):
            scripted().exec("?", tools=[*first, *first])
        model = scripted(call_tools(("add", {"a": 1, "b": 1}), ("other_add", {"a": 2, "b": 2})), "2 and 4")
        assert model.exec("?", tools=[*first, *second]) == "2 and 4"
        assert [result.content for result in model.requests[-1].request.messages[-1].tool_results] == ["2", "4"]


def test_a_call_waits_for_a_persons_word_and_goes_on_in_a_later_session(tmp_path: Path) -> None:
    model = scripted(call_tool("add", a=1, b=2), "3")
    with (
        mcp_tools(SHOP, requires_approval=lambda arguments: arguments.get("a") == 1) as tools,
        pytest.raises(ApprovalRequired) as stopped,
    ):
        model.exec("?", tools=tools)
    saved = tmp_path / "run.json"
    saved.write_text(json.dumps(stopped.value.snapshot), encoding="utf-8")
    with mcp_tools(SHOP, requires_approval=True) as tools:
        answer = model.resume(
            json.loads(saved.read_text(encoding="utf-8")), {stopped.value.pending[0].id: True}, tools=tools
        )
    assert answer == "3"
    assert result_of(model).content == "3"


def test_an_approved_call_is_not_used_up_after_the_block() -> None:
    model = scripted(call_tool("add", a=1, b=2), "3")
    with mcp_tools(SHOP, requires_approval=True) as tools, pytest.raises(ApprovalRequired) as stopped:
        model.exec("?", tools=tools)
    verdicts = {stopped.value.pending[0].id: True}
    with pytest.raises(UsageError, match="inside the with block"):
        model.resume(stopped.value, verdicts)
    with pytest.raises(UsageError, match="inside the with block"):
        scripted(toolsets={"shop": tools}).exec("?", toolset="shop")
    with mcp_tools(SHOP, requires_approval=True) as tools:
        assert model.resume(stopped.value, verdicts, tools=tools) == "3"


def test_a_person_sees_every_argument_of_a_tool_with_an_open_schema() -> None:
    async def listed(_: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="shell", input_schema={"type": "object"})])

    seen: list[Any] = []
    with mcp_tools(Server("open", on_list_tools=listed), requires_approval=True) as tools:
        model = scripted(call_tool("shell", cmd="rm -rf /"), "no")
        model.exec("?", tools=tools, approver=lambda request: bool(seen.append(dict(request.arguments))))
    assert seen == [{"cmd": "rm -rf /"}]


def test_a_tool_can_be_an_option_of_a_decision() -> None:
    with mcp_tools(SHOP) as tools:
        add = named(tools)["add"]
        assert scripted(pick("add", a=20, b=22)).exec("?", choices=[add, "nothing"]) == "42"


def test_tools_for_a_loop_of_ones_own() -> None:
    with mcp_tools(SHOP) as tools:
        specs = {spec["function"]["name"]: spec for spec in to_openai_tools(tools)}
        assert specs["add"]["function"]["parameters"]["required"] == ["a", "b"]


# Time, threads, cancellation


def test_many_threads_share_one_session() -> None:
    with mcp_tools(SHOP) as tools, ThreadPoolExecutor(8) as pool:
        begun = time.monotonic()
        answers = list(pool.map(lambda _: call(tools, "wait", seconds=0.3), range(8)))
        assert answers == ["waited"] * 8
        assert time.monotonic() - begun < 1.5, "they waited for one another"


def test_a_slow_call_ends_at_its_limit_and_the_session_goes_on(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with mcp_tools(SHOP, timeout_s=0.3) as tools:
        model = scripted(call_tool("wait", seconds=30, mark=str(mark)), call_tool("add", a=1, b=2), "3")
        begun = time.monotonic()
        assert model.exec("?", tools=tools) == "3"
        assert time.monotonic() - begun < 5
        _appears(mark)
        assert mark.read_text(encoding="utf-8") == "given up", "the server was not told"
    assert "0.3 s" in result_of(model, 1).content
    assert result_of(model).content == "3"


def test_a_cancelled_call_is_given_up_by_the_server_too(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    async def main() -> None:
        async with mcp_tools(SHOP) as tools:
            task = asyncio.create_task(call(tools, "wait", seconds=30, mark=str(mark)))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await call(tools, "add", a=1, b=2) == "3"
            await asyncio.to_thread(_appears, mark)

    asyncio.run(main())
    assert mark.read_text(encoding="utf-8") == "given up"


def _appears(file: Path) -> None:
    end = time.monotonic() + 5
    while (not file.exists() or not file.read_text(encoding="utf-8")) and time.monotonic() < end:
        time.sleep(0.02)


# How a session begins and ends


def test_nothing_is_left_behind() -> None:
    with mcp_tools(SHOP) as tools:
        pid = int(call(tools, "pid"))
        assert alive(pid)
        assert session_threads()
    assert gone(pid)
    assert not session_threads()


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_behind_by_a_block_that_fails(failure: type[BaseException]) -> None:
    with pytest.raises(failure), mcp_tools(SHOP) as tools:
        pid = int(call(tools, "pid"))
        raise failure
    assert gone(pid)
    assert not session_threads()


def test_nothing_is_left_behind_by_a_task_that_is_cancelled() -> None:
    pids: list[int] = []

    async def work(begun: asyncio.Event) -> None:
        async with mcp_tools(SHOP) as tools:
            pids.append(int(await call(tools, "pid")))
            begun.set()
            await asyncio.sleep(60)

    async def main() -> set[str]:
        begun = asyncio.Event()
        task = asyncio.create_task(work(begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return {left.get_name() for left in asyncio.all_tasks()} - {asyncio.current_task().get_name()}  # type: ignore[union-attr]

    assert asyncio.run(main()) == set()
    assert gone(pids[0])


def test_nothing_is_left_behind_by_a_start_that_is_cancelled(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    async def main() -> None:
        async def work() -> None:
            async with mcp_tools([*SHOP, "silent", str(note)]):
                pass

        task = asyncio.create_task(work())
        await asyncio.to_thread(_appears, note)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert gone(int(note.read_text(encoding="utf-8")))


def test_tools_are_refused_after_their_block() -> None:
    with mcp_tools(SHOP) as tools:
        add = named(tools)["add"]
    with pytest.raises(UsageError, match="inside the with block"):
        scripted().exec("?", tools=tools)
    with pytest.raises(UsageError, match="inside the with block"):
        add.function(a=1, b=2)


def test_async_tools_are_refused_on_another_loop_and_after_their_block() -> None:
    async def main() -> FunctionOption[Any]:
        async with mcp_tools(SHOP) as tools:
            add = named(tools)["add"]
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(asyncio.run, add.function(a=1, b=2))
                with pytest.raises(UsageError, match="another event loop"):
                    await asyncio.wrap_future(other)
            return add

    add = asyncio.run(main())
    with pytest.raises(UsageError, match="inside the with block"):
        asyncio.run(add.function(a=1, b=2))


def test_a_block_is_entered_once_at_a_time() -> None:
    block = mcp_tools(SHOP)
    with pytest.raises(UsageError, match=r"with mcp_tools\(...\) as tools"):
        scripted().exec("?", tools=block)
    with block as tools:
        with pytest.raises(UsageError, match="open already"):
            block.__enter__()
        assert call(tools, "add", a=1, b=2) == "3"
    with block as tools:
        assert call(tools, "add", a=1, b=2) == "3"


# What goes wrong with a server


def test_a_server_that_dies_is_an_error_that_the_model_is_told() -> None:
    begun = time.monotonic()
    with mcp_tools(SHOP) as tools:
        model = scripted(call_tool("die"), call_tool("add", a=1, b=2), "The shop is closed.")
        assert model.exec("?", tools=tools) == "The shop is closed."
    assert time.monotonic() - begun < 8
    for request in (1, 2):
        assert result_of(model, request).is_error
        assert "did not answer" in result_of(model, request).content or "gone" in result_of(model, request).content


def test_a_server_that_dies_under_async_tools() -> None:
    async def main() -> None:
        async with mcp_tools(SHOP) as tools:
            with pytest.raises(McpServerError, match="die"):
                await call(tools, "die")
            with pytest.raises(McpServerError):
                await call(tools, "add", a=1, b=2)

    asyncio.run(asyncio.wait_for(main(), 15))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["no-such-program-anywhere"], "could not be started"),
        ([sys.executable, "-c", "raise SystemExit(2)"], "ended before it had listed its tools"),
    ],
)
def test_a_server_that_does_not_start(command: list[str], said: str) -> None:
    async def main() -> None:
        async with mcp_tools(command):
            pass

    with pytest.raises(McpServerError, match=said), mcp_tools(command):
        pass
    with pytest.raises(McpServerError, match=said):
        asyncio.run(main())
    assert not session_threads()


def test_a_server_that_never_answers_is_stopped_in_time(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    begun = time.monotonic()
    block = mcp_tools([*SHOP, "silent", str(note)], start_timeout_s=1.5)
    with pytest.raises(McpServerError, match=r"within 1\.5 s \(start_timeout_s=\)"), block:
        pass
    assert time.monotonic() - begun < 8
    assert gone(int(note.read_text(encoding="utf-8")))


def test_a_server_without_tools() -> None:
    with pytest.raises(McpServerError, match="offers no tools"), mcp_tools(Server("empty")):
        pass


def test_an_address_where_nobody_listens_and_the_secrets_in_it() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    block = mcp_tools(f"http://user:hush-1@127.0.0.1:{port}/mcp?key=hush-2", start_timeout_s=5)
    with pytest.raises(McpServerError, match=f"127.0.0.1:{port}/mcp") as failed, block:
        pass
    assert "hush" not in str(failed.value)


# How a server is named


def test_parameters_environment_and_a_client_of_ones_own() -> None:
    parameters = StdioServerParameters(command=SHOP[0], args=SHOP[1:], env={"SHOP_NAME": "corner"})
    with mcp_tools(parameters) as tools:
        assert call(tools, "environment", name="SHOP_NAME") == "corner"
    server = MCPServer("here")

    @server.tool()
    def where() -> str:
        return f"process {os.getpid()}"

    with mcp_tools(server) as tools:
        assert call(tools, "where") == f"process {os.getpid()}"
    with mcp_tools(Client(server)) as tools:
        assert call(tools, "where") == f"process {os.getpid()}"


@contextmanager
def served() -> Iterator[str]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    process = subprocess.Popen([*SHOP, "http", str(port)], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def test_a_server_over_http() -> None:
    with served() as url:
        with mcp_tools(url) as tools:
            model = scripted(call_tool("add", a=1, b=2), "3")
            assert model.exec("?", tools=tools) == "3"
            assert result_of(model).content == "3"

        async def main() -> str:
            async with mcp_tools(url) as tools:
                answer = await call(tools, "add", a=2, b=2)
                assert isinstance(answer, str)
                return answer

        assert asyncio.run(main()) == "4"
    assert not session_threads()


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("python server.py", r"a command is a list, such as \['python', 'server.py'\]"),
        ("ftp://host/mcp", "URL of a server"),
        ([], "the program first"),
        (["python", 3], "the program first"),
        ({"command": "python"}, r"write mcp.StdioServerParameters\(\*\*it\)"),
        (7, "not int"),
    ],
)
def test_what_is_no_server_is_refused(server: Any, said: str) -> None:
    with pytest.raises(ArgumentTypeError, match=said):
        mcp_tools(server)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), True, "5"])
def test_a_start_timeout_that_is_none(seconds: Any) -> None:
    with pytest.raises(SettingError, match="start_timeout_s"):
        mcp_tools(SHOP, start_timeout_s=seconds)


def test_rules_are_checked_at_once() -> None:
    with pytest.raises(SettingError, match="timeout_s"):
        mcp_tools(SHOP, timeout_s=0)
    with pytest.raises(ArgumentTypeError, match="prefix"):
        mcp_tools(SHOP, prefix=None)  # type: ignore[arg-type]


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'decidable\[mcp\]'"):
        mcp_tools(SHOP)


def test_a_failing_tool_says_so_in_its_own_class() -> None:
    with mcp_tools(SHOP) as tools, pytest.raises(McpToolError, match="no reason"):
        call(tools, "fail", why="no reason")
