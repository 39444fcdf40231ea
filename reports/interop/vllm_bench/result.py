"""From a result file to its runs; what has no counterpart is refused with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final

import numpy as np

from reports.errors import ReportsError
from reports.interop.foreign import Foreign
from reports.interop.vllm_bench.load import Load, load_of
from reports.interop.vllm_bench.requests import Requests, lists_of

_DO: Final = "Measure with --save-result --save-detailed and leave the file as it is"
_AGREES: Final = 1e-3  # of the file's own mean
_COUNTERS: Final = ("input_lens", "output_lens")
_TIMES: Final = ("ttfts", "start_times", "latencies", "queue_times")


def read(text: str, where: str) -> tuple[Foreign, ...]:
    """Every run of a file: ``--append-result`` writes several objects one after the other.

    Raises
    ------
    ReportsError
        For a file of something else, without the requests' arrays, with counts or units that
        do not fit, or measured in a way that has no counterpart here.
    """
    return tuple(
        _foreign(result, f"{where}, result {number}")
        for number, result in enumerate(_objects(text, where), start=1)
    )


def _objects(text: str, where: str) -> Iterator[Mapping[str, Any]]:
    decoder = json.JSONDecoder(parse_constant=_constant)
    at = _content(text, 0)
    if at == len(text):
        raise ReportsError(where, "it is empty", _DO)
    while at < len(text):
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise ReportsError(where, f"it is no JSON: {error}", _DO) from None
        if not isinstance(found, dict) or "request_throughput" not in found:
            raise ReportsError(where, "it is no result of vllm bench serve", _DO)
        yield found
        at = _content(text, at)


def _content(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _constant(name: str) -> float:
    if name == "Infinity":
        return float("inf")  # a rate or a burstiness; times are held to be finite
    raise ValueError(f"{name} is no number")


def _foreign(result: Mapping[str, Any], where: str) -> Foreign:
    if "input_sequence_throughput" in result:
        raise ReportsError(where, "it measures pooling, not generation", "Generate text")
    requests = _requests(result, where)
    _check_counts(result, requests, where)
    _check_seconds(result, requests, where)
    load = load_of(result, len(requests), where)
    is_service_only = load.cap is not None and requests.queue_s is None
    return Foreign(
        where=where,
        label=str(result["label"]) if result.get("label") else None,
        model=str(result.get("model_id") or ""),
        date=str(result.get("date") or ""),
        process=load.process,
        rate_per_s=load.rate_per_s,
        burstiness=load.burstiness,
        streams=load.streams,
        max_in_flight=load.cap,
        lists=lists_of(requests, load, is_service_only=is_service_only),
        is_service_only=is_service_only,
        notes=tuple(_notes(requests, load, is_service_only=is_service_only)),
    )


def _requests(result: Mapping[str, Any], where: str) -> Requests:
    missing = [
        name for name in (*_COUNTERS, "ttfts", "itls", "start_times") if name not in result
    ]
    if missing:
        raise ReportsError(where, f"it has no {', '.join(missing)} of each request", _DO)
    count = len(_list(result, "ttfts", where))
    plain = {name: _numbers(result, name, count, where) for name in (*_COUNTERS, *_TIMES)}
    itls = _list(result, "itls", where)
    errors = _errors(result, plain["output_lens"], where)
    if len(itls) != count or len(errors) != count:
        raise ReportsError(where, f"its arrays are not all of {count} requests", _DO)
    gaps = tuple(_floats(each, "itls", where) for each in itls)
    tokens = plain["output_lens"]
    return Requests(
        prompt_tokens=_known(plain["input_lens"]).astype(np.int64),
        output_tokens=_known(tokens).astype(np.int64),
        start_s=_known(plain["start_times"]),
        ttft_s=_known(plain["ttfts"]),
        latency_s=plain["latencies"],
        queue_s=plain["queue_times"],
        gaps_s=gaps,
        errors=tuple(str(each or "") for each in errors),
    )


def _errors(
    result: Mapping[str, Any], output_tokens: np.ndarray[Any, Any] | None, where: str
) -> list[Any]:
    """The errors; where a file has none, requests without output tokens are the failed ones."""
    if "errors" in result:
        return _list(result, "errors", where)
    return ["" if tokens > 0 else "no output tokens" for tokens in _known(output_tokens)]


def _known(values: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
    if values is None:
        raise ValueError("an array that must be there is not")  # held to be there above
    return values


def _list(result: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = result[name]
    if not isinstance(found, list):
        raise ReportsError(where, f"its {name} is no array", _DO)
    return found


def _numbers(
    result: Mapping[str, Any], name: str, count: int, where: str
) -> np.ndarray[Any, Any] | None:
    """The array of that name; None where the file has none."""
    if result.get(name) is None:
        return None
    values = _floats(_list(result, name, where), name, where)
    if len(values) != count:
        raise ReportsError(
            where, f"its arrays differ: {len(values)} {name}, {count} ttfts", _DO
        )
    return values


def _floats(values: Any, name: str, where: str) -> np.ndarray[Any, Any]:
    if not isinstance(values, list) or not all(_is_number(each) for each in values):
        raise ReportsError(where, f"its {name} hold what is no finite number", _DO)
    found = np.array(values, dtype=np.float64)
    if name != "queue_times" and (found < 0).any():
        raise ReportsError(where, f"its {name} hold a negative number", _DO)
    return found


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isfinite(value)


def _check_counts(result: Mapping[str, Any], requests: Requests, where: str) -> None:
    succeeded = int(requests.is_ok.sum())
    stated = {
        "num_prompts": (result.get("num_prompts"), len(requests)),
        "failed": (result.get("failed"), len(requests) - requests.answered),
        "completed": (result.get("completed"), requests.answered),
        "total_output_tokens": (
            result.get("total_output_tokens"),
            int(requests.output_tokens.sum()),
        ),
    }
    for name, (said, counted) in stated.items():
        if said is not None and said != counted:
            raise ReportsError(where, f"it says {name} {said}, its arrays {counted}", _DO)
    if not succeeded:
        raise ReportsError(where, "no request of it succeeded", "Measure again")


def _check_seconds(result: Mapping[str, Any], requests: Requests, where: str) -> None:
    """Whether the arrays are in seconds, by the file's own means in milliseconds."""
    means = {"mean_ttft_ms": requests.ttft_s[requests.is_answered]}
    gaps = [gap for gap, ok in zip(requests.gaps_s, requests.is_answered, strict=True) if ok]
    means["mean_itl_ms"] = np.concatenate(gaps) if gaps else np.empty(0)
    for name, seconds in means.items():
        stated = result.get(name)
        if not _is_number(stated) or not len(seconds):
            continue
        ours = float(seconds.mean()) * 1000
        if abs(ours - float(stated or 0.0)) > _AGREES * max(ours, float(stated or 0.0)):
            raise ReportsError(
                where, f"it says {name} {stated:g}, its arrays give {ours:g} ms", _DO
            )


def _notes(requests: Requests, load: Load, *, is_service_only: bool) -> Iterator[str]:
    yield "imported from vllm bench serve: its client did not measure itself"
    yield from load.notes
    if is_service_only:
        yield (
            "service latency only: the file has no queue_times, so that the wait for "
            f"max_concurrency {load.cap} is in no latency"
        )
    elif load.process != "closed":
        yield "requests are due when the client took them up; its schedule is not in the file"
    if requests.is_estimated.any():
        yield "tokens per chunk are an estimate where an answer has fewer chunks than tokens"
    if not requests.is_answered.all():
        yield "when failed requests ended is not in the file: they count as short in flight"
    if not requests.is_ok[requests.is_answered].all():
        yield "answers without output tokens count as failed"
