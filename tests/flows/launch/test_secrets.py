from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy_templates.plan import LaunchPlan
from flows.errors import UsageError
from flows.launch.seal import masked_parts
from flows.launch.secrets import Secrets, secrets_of

TOKEN = 'hf_"quoted"/and spaced'


def test_every_spelling_of_a_value_is_masked() -> None:
    secrets = Secrets({"HF_TOKEN": TOKEN})
    text = f'{TOKEN} {{"a": "hf_\\"quoted\\"/and spaced"}} ?t=hf_%22quoted%22%2Fand%20spaced'

    assert secrets.mask(text) == '*** {"a": "***"} ?t=***'
    assert repr(secrets) == "Secrets(HF_TOKEN)"


def test_an_environment_is_shown_without_secrets_and_a_proxys_password() -> None:
    seen = {"HF_TOKEN": TOKEN, "PATH": "/bin", "https_proxy": "http://me:secret@proxy:3128"}

    assert Secrets({"HF_TOKEN": TOKEN}).shown(seen) == {
        "HF_TOKEN": "***",
        "PATH": "/bin",
        "https_proxy": "http://***@proxy:3128",
    }


def test_a_value_too_short_to_be_told_from_words_is_refused() -> None:
    with pytest.raises(UsageError, match="HF_TOKEN: its value has fewer than 6 characters"):
        Secrets({"HF_TOKEN": "token"})


def test_a_plan_takes_its_secrets_from_the_environment_by_name(
    rehearsal_plan: Callable[..., LaunchPlan],
) -> None:
    plan = replace(rehearsal_plan(), secret_env=("HF_TOKEN", "EMPTY", "ABSENT"))
    environment = {"HF_TOKEN": TOKEN, "EMPTY": "", "OTHER": "another-secret"}

    assert secrets_of(plan, environment).values == {"HF_TOKEN": TOKEN}


@pytest.mark.parametrize("place", ["argv", "env", "files"])
def test_a_plan_that_holds_a_value_is_refused_wherever_it_holds_it(
    place: str, rehearsal_plan: Callable[..., LaunchPlan]
) -> None:
    plan = rehearsal_plan()
    changed = {
        "argv": (*plan.argv, TOKEN),
        "env": {**plan.env, "A": TOKEN},
        "files": {**plan.files, "a": f"key={TOKEN}"},
    }

    with pytest.raises(UsageError, match="it holds the value of HF_TOKEN"):
        Secrets({"HF_TOKEN": TOKEN}).refuse_in(replace(plan, **{place: changed[place]}))
    Secrets({"HF_TOKEN": TOKEN}).refuse_in(plan)


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
def test_a_mask_holds_wherever_a_reading_cuts_the_file(
    between: list[bytes], step_bytes: int
) -> None:
    class Slow(io.BytesIO):
        def read(self, _size: int | None = None) -> bytes:
            return super().read(step_bytes)

    value = b"hf_planted_value"
    text = value.join(between)
    masked = b"".join(masked_parts(Slow(text), Secrets({"HF_TOKEN": value.decode()})))

    assert masked == text.replace(value, b"***")
