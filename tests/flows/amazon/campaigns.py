"""Campaigns that rent from AWS."""

from __future__ import annotations

from typing import Any

from catalog.schema import Campaign

CALLER = "203.0.113.7/32"


def campaign_with(**aws_keys: Any) -> Campaign:
    return Campaign.model_validate(
        {
            "schema_version": 1,
            "name": "a",
            "contract": {
                "model": "m",
                "prompt_tokens": 8,
                "output_tokens": 8,
                "concurrency": 1,
            },
            "aws": {"caller": CALLER, "patience": "1 s", **aws_keys},
        }
    )
