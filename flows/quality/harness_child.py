"""lm-evaluation-harness in a process of its own: ``python -m flows.quality.harness_child``.

The job comes as JSON on standard input, because it may hold a key; what was scored goes as
JSON into the file that it names. The harness is imported here alone: it takes seconds, and
prints as it likes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import requests
from lm_eval import simple_evaluate  # type: ignore[import-untyped]
from lm_eval.models.openai_completions import (  # type: ignore[import-untyped]
    LocalCompletionsAPI,
)
from lm_eval.tasks import TaskManager  # type: ignore[import-untyped]

_GENERATED: Final = "generate_until"
_VARIANT: Final = "_generative"  # how the harness calls a task that is answered by writing


class Endpoint(LocalCompletionsAPI):  # type: ignore[misc]
    """The completions call; where likelihoods are asked, texts become ids at the server.

    The harness would fetch a tokenizer from the hub by the model's name; the server has the
    one that counts.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        super().__init__(
            base_url=job["url"],
            model=job["model"],
            tokenizer_backend=None,
            num_concurrent=job["streams"],
            max_length=job["max_length"],
            timeout=job["timeout_s"],
            header=job["headers"] or None,
            eos_string=None,
        )
        self._job = job
        if job["has_prompt_logprobs"]:
            self.tokenizer = self
            self.tokenizer_backend = "remote"
            self.tokenized_requests = True

    def tok_encode(self, string: Any, **_given: Any) -> Any:
        """Token ids of a text, or of each of several, with what the server puts in front."""
        if not isinstance(string, str):
            return [self.tok_encode(each) for each in string]
        answer = requests.post(
            self._job["tokenize"],
            json={"model": self.model, "prompt": string},
            headers=self._job["headers"],
            timeout=self._job["timeout_s"],
        )
        answer.raise_for_status()
        return answer.json()["tokens"]

    @property
    def eot_token_id(self) -> int | None:
        """None: no task of ours begins without a context."""
        return None

    @property
    def eos_string(self) -> None:
        """None: the server ends its answers itself."""
        return

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> Any:
        """Prompts go as texts: how they become ids is the server's."""
        self.tokenized_requests = False
        try:
            return super().generate_until(requests, disable_tqdm=disable_tqdm)
        finally:
            self.tokenized_requests = self._job["has_prompt_logprobs"]


def scored(job: Mapping[str, Any]) -> dict[str, Any]:
    """What each task of the job gave: its rows, or why it was refused."""
    model = Endpoint(job)
    known = TaskManager(
        include_path=job["include"] or None, include_defaults=job["include_defaults"]
    )
    return {
        "version": version("lm_eval"),
        "tasks": [_one(model, known, job, name) for name in job["tasks"]],
    }


def _one(model: Any, known: Any, job: Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        ran, outputs = _fitting(known, name, has_prompt_logprobs=job["has_prompt_logprobs"])
    except LookupError as error:
        return {"task": name, "refused": str(error.args[0])}
    try:
        found = simple_evaluate(
            model=model,
            tasks=[ran],
            limit=job["samples"],
            task_manager=known,
            bootstrap_iters=0,
            verbosity="ERROR",
        )
        rows = list(_rows(found["samples"], found["higher_is_better"]))
    except Exception as error:  # noqa: BLE001 - whatever a task does, the others go on
        return {"task": name, "refused": f"{type(error).__name__}: {error}"[:400]}
    return {
        "task": name,
        "ran": ran,
        "kind": "generation" if outputs == {_GENERATED} else "log-likelihood",
        "reported": _reported(found["results"]),
        "rows": rows,
    }


def _fitting(known: Any, name: str, *, has_prompt_logprobs: bool) -> tuple[str, set[str]]:
    """The task, or its variant that is answered by writing where likelihoods are not had."""
    if name not in known.all_tasks:
        raise LookupError(f"the harness knows no task {name!r}")
    outputs = _outputs(known, name)
    if has_prompt_logprobs or outputs == {_GENERATED}:
        return name, outputs
    variant = f"{name}{_VARIANT}"
    if variant not in known.all_tasks:
        raise LookupError(
            f"{name} is scored by log-likelihood, which needs log-probabilities of prompts, "
            "and has no variant that is answered by writing"
        )
    return variant, _outputs(known, variant)


def _outputs(known: Any, name: str) -> set[str]:
    return {str(each.OUTPUT_TYPE) for each in _leaves(known.load_task_or_group(name))}


def _leaves(loaded: Mapping[Any, Any]) -> Iterator[Any]:
    for each in loaded.values():
        if isinstance(each, dict):
            yield from _leaves(each)
        else:
            yield each


def _reported(results: Mapping[str, Any]) -> dict[str, Any]:
    return {
        task: {key: value for key, value in found.items() if isinstance(value, int | float)}
        for task, found in results.items()
    }


def _rows(
    samples: Mapping[str, Any], higher_is_better: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Each question once, by the first filter and the first metric of its task."""
    for task, found in sorted(samples.items()):
        first = found[0]["filter"] if found else None
        for each in found:
            if each["filter"] != first:
                continue
            metric = each["metrics"][0]
            if higher_is_better.get(task, {}).get(metric) is False:
                raise ValueError(f"the less {metric} the better: it is no accuracy")
            yield {
                "question": f"{task}/{each['doc_id']}/{each['doc_hash'][:16]}",
                "metric": metric,
                "target": str(each["target"]),
                "score": _score(metric, each[metric]),
                "answer": str(each["filtered_resps"])[:400],
            }


def _score(metric: str, value: Any) -> float:
    """A question's own score; some metrics are made from all questions together alone."""
    if isinstance(value, list | tuple | str) or not 0 <= float(value) <= 1:
        raise ValueError(f"{metric} gives no question a score from 0 to 1")
    return float(value)


def unknown(names: Sequence[str]) -> dict[str, Any]:
    """Which of some names are no task of the harness."""
    known = TaskManager().all_tasks
    return {"unknown": [name for name in names if name not in known]}


def main() -> None:
    """Score the job on standard input, or look its names up."""
    job = json.load(sys.stdin)
    found = unknown(job["names"]) if "names" in job else scored(job)
    Path(job["out"]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
