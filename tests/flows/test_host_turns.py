"""The slot of a host on a Prefect server that others use too."""

from __future__ import annotations

import asyncio
import platform

from flows.host_turns import host_turn, limit_name


def test_this_machine_is_another_one_for_each_controller():
    assert limit_name("local") == f"runoff-host-{platform.node()}"
    assert limit_name("aws-p4de.24xlarge") == "runoff-host-aws-p4de.24xlarge"


def test_without_a_server_of_the_users_nothing_is_asked():
    async def within():
        async with host_turn("local", set(), is_shared=False):
            return "in"

    assert asyncio.run(within()) == "in"


def test_a_slot_that_nobody_gives_back_is_waited_for_once():
    async def within():
        async with host_turn("local", {"local"}, is_shared=True):
            return "in"

    assert asyncio.run(within()) == "in"
