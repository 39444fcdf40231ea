"""``runoff init``: a commented campaign from a use case, or from a sample prompt and answer."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from catalog.use_cases import (
    BYTES_PER_TOKEN,
    SampleLengths,
    campaign_text,
    read_use_case,
    tokens_by_rule_of_thumb,
)
from catalog.yaml_nodes import read_text
from flows.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MAXIMUM_SAMPLE_BYTES = 8 * 1024 * 1024


def command(
    name: Annotated[str, typer.Argument(help="Campaign name; the file is NAME.yaml.")] = "",
    use_case: Annotated[
        str, typer.Option(metavar="chat|agent|rag|batch", help="What the model is used for.")
    ] = "chat",
    prompt_file: Annotated[
        Path | None, typer.Option(help="A sample prompt: its length replaces the use case's.")
    ] = None,
    answer_file: Annotated[
        Path | None, typer.Option(help="The sample's answer, wanted with --prompt-file.")
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            help="A tokenizer.json to count the sample with; "
            f"without one a token is {BYTES_PER_TOKEN} bytes of UTF-8."
        ),
    ] = None,
) -> None:
    """Write a commented campaign file to start from: lengths, limits, arrivals, their reasons.

    Never overwrites a file. The new file passes `runoff screen` as it is.
    """
    workload = read_use_case(use_case)
    chosen = _checked_name(name or use_case)
    sample = _sample(prompt_file, answer_file, tokenizer)
    target = Path(f"{chosen}.yaml")
    _write_new(target, campaign_text(chosen, workload, sample))
    sys.stdout.write(f"wrote {target}\nnext: runoff screen {target}\n")


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            "NAME",
            f"{name!r} is not a campaign name",
            "Use letters, digits, dots, dashes and underscores; the file is written here",
        )
    return name


def _sample(
    prompt: Path | None, answer: Path | None, tokenizer: Path | None
) -> SampleLengths | None:
    if prompt is None and answer is None:
        if tokenizer is not None:
            raise UsageError(
                "--tokenizer", "there is no sample to count", "Give --prompt-file too"
            )
        return None
    if prompt is None or answer is None:
        missing = "--prompt-file" if prompt is None else "--answer-file"
        raise UsageError(missing, "half of the sample is missing", f"Give {missing} too")
    texts = [read_text(path, _MAXIMUM_SAMPLE_BYTES) for path in (prompt, answer)]
    if tokenizer is None:
        counts = [tokens_by_rule_of_thumb(text) for text in texts]
        counted = f"counted as one token per {BYTES_PER_TOKEN} bytes of text (a rule of thumb)"
    else:
        counts, counted = _counted(texts, tokenizer), f"counted with {tokenizer.name}"
    return SampleLengths(prompt_tokens=counts[0], output_tokens=counts[1], counted=counted)


def _counted(texts: list[str], tokenizer: Path) -> list[int]:
    """Tokens of each text by a ``tokenizer.json``, at least one each."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - only this option pays for the import

    definition = read_text(tokenizer, 64 * 1024 * 1024)
    try:
        counter = Tokenizer.from_str(definition)
    except Exception as error:  # noqa: BLE001 - the library raises plain Exception
        raise UsageError(
            str(tokenizer), f"this is not a tokenizer.json ({error})", "Name the model's own"
        ) from None
    return [max(1, len(counter.encode(text).ids)) for text in texts]


def _write_new(target: Path, text: str) -> None:
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            str(target), "this file exists", "Choose another NAME, or move the file away"
        ) from None
    except OSError as error:
        raise UsageError(
            str(target), f"the file cannot be written ({error.strerror})", "Check the folder"
        ) from None
