"""Short histories as lines of history.jsonl."""

from typing import Any


def event(time: int, process: float, kind: str, f: str, **rest: Any) -> dict[str, Any]:
    return {"time": time, "process": process, "type": kind, "f": f, "resource": "r0"} | rest


def grant(time: int, process: int, token: int) -> list[dict[str, Any]]:
    owner = f"{process}-{token}"
    return [
        event(time, process, "invoke", "acquire", owner=owner),
        event(time + 1, process, "ok", "acquire", owner=owner, token=token, ttl=1),
    ]


def write(time: int, process: int, token: int, outcome: str) -> list[dict[str, Any]]:
    value = f"{process}-{time}"
    error = {"error": "stale"} if outcome == "fail" else {}
    return [
        event(time, process, "invoke", "write", token=token, value=value),
        event(time + 1, process, outcome, "write", token=token, value=value, **error),
    ]


def superseded(outcome: str) -> list[Any]:
    """Client 0 is granted 33 and writes after client 1 wrote with 34."""
    return [*grant(10, 0, 33), *grant(20, 1, 34), *write(30, 1, 34, "ok"), *write(40, 0, 33, outcome)]
