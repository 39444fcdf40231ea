"""Registration on a Prefect server: the work pool, and each deployment with its form."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from prefect import Flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.server.schemas import schedules as scheduling
from prefect.utilities.callables import parameter_schema
from prefect.workers.utilities import (
    get_available_work_pool_types,
    get_default_base_job_template_for_infrastructure_type,
)

from flows import deployed
from flows.deployments import Deployment, Schedule, Verb
from flows.errors import InfrastructureError, UsageError
from flows.work_folder import PULL_STEP

PROCESS: Final = "process"
_FLOWS: Final[Mapping[Verb, Flow[..., Any]]] = {
    "compare": deployed.compare,
    "reevaluate": deployed.reevaluate,
    "signoff": deployed.signoff,
    "sweep": deployed.sweep,
}
_OURS: Final = (409, 422)  # statuses that blame what was sent
_ANCHOR: Final = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)  # intervals count from a full hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The work pool that runs it, and the folder in which it runs; ``store`` counts from there.

    ``job_variables`` are what the pool's type starts a job with, such as an image.
    """

    name: str
    type: str = PROCESS
    folder: str
    job_variables: Mapping[str, str] = field(default_factory=dict)


def register(
    api_url: str, deployments: Sequence[Deployment], pool: Pool, campaigns: Iterable[str]
) -> tuple[str, ...]:
    """Register all; their names on the server, ``flow/deployment``, in order.

    ``campaigns`` are those that a form offers, beside those that it offered before.

    Raises
    ------
    UsageError
        For a pool of another type, a type that is unknown, or a cron line that is none.
    InfrastructureError
        If the server does not answer, or refuses.
    """
    try:
        return asyncio.run(_register(deployments, pool, tuple(campaigns)))
    except PrefectHTTPStatusError as error:
        if error.response.status_code in _OURS:
            raise UsageError(
                api_url, f"it refuses the entry: {error.response.text}", "Give other parameters"
            ) from None
        raise _unanswered(api_url, error) from None
    except httpx.HTTPError as error:
        raise _unanswered(api_url, error) from None


def _unanswered(api_url: str, error: Exception) -> InfrastructureError:
    return InfrastructureError(
        api_url,
        f"Prefect's server does not answer as it should: {str(error) or type(error).__name__}",
        "See that it runs and that its address ends in /api",
    )


async def _register(
    deployments: Sequence[Deployment], pool: Pool, campaigns: Sequence[str]
) -> tuple[str, ...]:
    schedules = [await _schedules(each.schedule) for each in deployments]
    async with get_client() as client:
        await _make_pool(client, pool)
        return tuple(
            [
                await _put(client, each, times, pool, campaigns)
                for each, times in zip(deployments, schedules, strict=True)
            ]
        )


async def _make_pool(client: PrefectClient, pool: Pool) -> None:
    try:
        found = await client.read_work_pool(pool.name)
    except ObjectNotFound:
        template = await get_default_base_job_template_for_infrastructure_type(pool.type)
        if template is None:
            known = ", ".join(await get_available_work_pool_types())
            raise UsageError(
                f"--pool-type {pool.type}",
                "there is no such type of work pool",
                f"Known here: {known}",
            ) from None
        await client.create_work_pool(
            WorkPoolCreate(name=pool.name, type=pool.type, base_job_template=template)
        )
        return
    if found.type != pool.type:
        raise UsageError(
            f"--pool {pool.name}",
            f"it is of type {found.type}, not {pool.type}",
            f"Name another pool, or give --pool-type {found.type}",
        )


async def _put(
    client: PrefectClient,
    deployment: Deployment,
    schedules: list[DeploymentScheduleCreate],
    pool: Pool,
    campaigns: Sequence[str],
) -> str:
    flow = _FLOWS[deployment.verb]
    name = f"{flow.name}/{deployment.name}"
    schema = parameter_schema(flow.fn).model_dump_for_openapi()
    before = await _before(client, name)
    campaign = schema["properties"].get("campaign")
    if campaign is not None:
        campaign["enum"] = _offered(before, campaigns)
    kept: dict[str, Any] = {}
    if deployment.keeps and before is not None:
        kept = {k: v for k, v in before.parameters.items() if k in schema["properties"]}
        schedules = schedules or _kept(before)
    await client.create_deployment(
        flow_id=await client.create_flow_from_name(flow.name),
        name=deployment.name,
        description=(flow.fn.__doc__ or "").partition("\n")[0],
        entrypoint=f"{flow.fn.__module__}.{flow.fn.__name__}",
        parameters={**kept, **deployment.parameters},
        parameter_openapi_schema=schema,
        enforce_parameter_schema=True,
        schedules=schedules,
        tags=list(deployment.tags),
        work_pool_name=pool.name,
        job_variables=dict(pool.job_variables),
        # without a step Prefect copies the folder, with all runs in it, before each run
        pull_steps=[{PULL_STEP: {"directory": pool.folder}}],
    )
    return name


async def _before(client: PrefectClient, name: str) -> DeploymentResponse | None:
    """The entry as the server has it now, if it does."""
    try:
        return await client.read_deployment_by_name(name)
    except ObjectNotFound:
        return None


def _kept(before: DeploymentResponse) -> list[DeploymentScheduleCreate]:
    """An entry's schedules; registering it again would take them away."""
    return [
        DeploymentScheduleCreate(
            schedule=each.schedule,
            active=each.active,
            parameters=each.parameters,
            slug=each.slug,
        )
        for each in before.schedules
    ]


def _offered(before: DeploymentResponse | None, campaigns: Sequence[str]) -> list[str]:
    """Names first, files after them; files of this machine that are gone are left out."""
    schema: Mapping[str, Any] = (before and before.parameter_openapi_schema) or {}
    known: Sequence[str] = schema.get("properties", {}).get("campaign", {}).get("enum", ())
    there = [each for each in known if "/" not in each or Path(each).is_file()]
    return sorted({*there, *campaigns}, key=lambda each: ("/" in each, each))


async def _schedules(schedule: Schedule | None) -> list[DeploymentScheduleCreate]:
    if schedule is None:
        return []
    if schedule.cron is None:
        interval = dt.timedelta(seconds=schedule.every_s or 0.0)
        times: CronSchedule | IntervalSchedule = IntervalSchedule(
            interval=interval, anchor_date=_ANCHOR
        )
    else:
        try:
            times = CronSchedule(cron=schedule.cron, timezone=schedule.timezone)
            await scheduling.CronSchedule(**times.model_dump()).get_dates(1)
        except ValueError:  # such as the 31st of February, which never comes
            raise UsageError(
                f"--cron {schedule.cron!r}",
                "it is no cron line, or names no day that comes",
                "Write minute, hour, day, month and weekday, as in '0 6 * * 1'",
            ) from None
    return [DeploymentScheduleCreate(schedule=times, active=True)]
