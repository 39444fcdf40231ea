"""Automations on a Prefect server: who is told when a deployment's run fails or crashes.

A worker that dies cannot tell anybody; the server can. What it tells is the final state, whose
message begins with the exit code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import httpx
from prefect.automations import Automation
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import BlockDocument
from prefect.events.actions import ActionTypes, CallWebhook, SendNotification
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from flows.errors import InfrastructureError, UsageError

NAME: Final = "runoff: a run failed"
_STATES: Final = ["FAILED", "CRASHED"]
_SUBJECT: Final = "{{ deployment.name }}: {{ flow_run.state.name }}"
_BODY: Final = (
    "{{ flow_run.name }}: {{ flow_run.state.message }}\n{{ (flow_run | ui_url) or '' }}"
)
_PAYLOAD: Final = (
    '{"schema_version": 1, "subject": {{ (deployment.name ~ ": " ~ flow_run.state.name) '
    '| tojson }}, "text": {{ (flow_run.name ~ ": " ~ flow_run.state.message) | tojson }}, '
    '"sentence": {{ flow_run.state.message | tojson }}, '
    '"place": {{ ((flow_run | ui_url) or "") | tojson }}}'
)
_WEBHOOK: Final = "webhook"


def tell_of_failures(api_url: str, block: str, deployments: Sequence[str]) -> str:
    """Have the server tell by a block when a run of these deployments fails; what was made.

    The automation of that block takes the place of an earlier one; deployments are named
    ``flow/deployment``.

    Raises
    ------
    UsageError
        For a block or a deployment that the server does not have.
    InfrastructureError
        If the server does not answer, or refuses.
    """
    with _answering(api_url):
        return asyncio.run(_put(block, tuple(deployments)))


def require_blocks(api_url: str, blocks: Iterable[str]) -> None:
    """Return if the server has these blocks; errors as ``tell_of_failures`` has them."""
    with _answering(api_url):
        asyncio.run(_require(tuple(blocks)))


@contextmanager
def _answering(api_url: str) -> Iterator[None]:
    try:
        yield
    except (httpx.HTTPError, PrefectHTTPStatusError) as error:
        raise InfrastructureError(
            api_url,
            "Prefect's server does not answer as it should: "
            f"{str(error) or type(error).__name__}",
            "See that it runs and that its address ends in /api",
        ) from None


async def _require(blocks: Sequence[str]) -> None:
    if blocks:
        async with get_client() as client:
            for block in blocks:
                await _document(client, block)


async def _document(client: PrefectClient, block: str) -> BlockDocument:
    kind, _, own = block.partition("/")
    try:
        return await client.read_block_document_by_name(own, kind)
    except ObjectNotFound:
        raise UsageError(
            block,
            "the server has no such block",
            "Make it in the server's UI, and write TYPE/NAME, as in webhook/team",
        ) from None


async def _put(block: str, deployments: Sequence[str]) -> str:
    kind = block.partition("/")[0]
    name = f"{NAME} ({block})"
    async with get_client() as client:
        document = await _document(client, block)
        action: ActionTypes = (
            CallWebhook(block_document_id=document.id, payload=_PAYLOAD)
            if kind == _WEBHOOK
            else SendNotification(block_document_id=document.id, subject=_SUBJECT, body=_BODY)
        )
        ids = [f"prefect.deployment.{await _id(client, each)}" for each in deployments]
        for earlier in await client.read_automations_by_name(name):
            await client.delete_automation(earlier.id)
    await Automation(
        name=name,
        description=f"Tells by {block} when a run of runoff fails or crashes.",
        trigger=_trigger(ids),
        actions=[action],
    ).acreate()
    return name


def _trigger(deployments: Sequence[str]) -> EventTrigger:
    return EventTrigger(
        expect={"prefect.flow-run.*"},
        match={"prefect.resource.id": "prefect.flow-run.*", "prefect.state-type": _STATES},
        match_related={
            "prefect.resource.role": "deployment",
            "prefect.resource.id": list(deployments),
        },
        for_each={"prefect.resource.id"},
        posture=Posture.Reactive,
        threshold=1,
    )


async def _id(client: PrefectClient, deployment: str) -> str:
    try:
        return str((await client.read_deployment_by_name(deployment)).id)
    except ObjectNotFound:
        raise UsageError(deployment, "the server has no such deployment", "") from None
