"""Both public trace shapes are read; a wrong line is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.load.traces import TraceRow, read_trace

MOONCAKE = """\
{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48]}
{"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": [46, 60]}

{"timestamp": 30535, "input_length": 10, "output_length": 0}
"""
AZURE_2023 = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2224670,879,55
"""
AZURE_2024 = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01+00:00,2399,6
"""


def written(folder: Path, text: str, name: str = "trace") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_mooncake_trace_starts_at_its_first_request_and_keeps_its_blocks(tmp_path):
    rows = read_trace(written(tmp_path, MOONCAKE))

    assert rows == (
        TraceRow(at_ns=0, prompt_tokens=6955, output_tokens=52, blocks=(46, 47, 48)),
        TraceRow(at_ns=3_053_000_000, prompt_tokens=6472, output_tokens=26, blocks=(46, 60)),
        TraceRow(at_ns=3_053_000_000, prompt_tokens=10, output_tokens=1),
    )


def test_an_azure_trace_keeps_the_seventh_digit_of_the_second(tmp_path):
    rows = read_trace(written(tmp_path, AZURE_2023))

    assert [row.at_ns for row in rows] == [0, 4_314_579_000, 4_541_877_000]
    assert (rows[1].prompt_tokens, rows[1].output_tokens) == (396, 109)


def test_an_azure_trace_with_time_zones_and_whole_seconds_is_read(tmp_path):
    rows = read_trace(written(tmp_path, AZURE_2024))

    assert [row.at_ns for row in rows] == [0, 990_070_000]


def test_rows_out_of_order_are_put_in_order_of_time(tmp_path):
    rows = read_trace(written(tmp_path, "\n".join(reversed(MOONCAKE.splitlines()))))

    assert [row.at_ns for row in rows] == [0, 3_053_000_000, 3_053_000_000]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"timestamp": 1, "input_length": 5}', "trace:1: no 'output_length'"),
        (MOONCAKE + '{"timestamp": 1, ', "trace:5: "),
        (MOONCAKE.replace("6472", "-1"), "trace:2: a length of -1 tokens"),
        (MOONCAKE.replace("60]", "-60]"), "trace:2: a hash id of -60"),
        ("time,in,out\n1,2,3\n", "trace:1: no 'TIMESTAMP'"),
        (AZURE_2023.replace("396", "many"), "trace:3: invalid literal"),
        (AZURE_2023.replace("18:15:50.9951690", "later"), "trace:3: Invalid isoformat"),
        ("", "no 'TIMESTAMP'"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", "no request in it"),
    ],
)
def test_a_wrong_trace_is_named_by_file_and_line(tmp_path, text, seen):
    with pytest.raises(ValueError, match="trace") as caught:
        read_trace(written(tmp_path, text))

    assert seen in str(caught.value)
