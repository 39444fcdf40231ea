import pytest

from flows.checkpoint import hub_checkpoint, resolved_revision
from flows.errors import UsageError

NAME = "meta-llama/Meta-Llama-3-8B-Instruct"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def llama(catalog):
    return catalog.model(NAME)


def test_a_commit_pins_and_nothing_more_has_to_be_said_of_an_open_model(catalog):
    model = catalog.model("Qwen/Qwen2.5-7B-Instruct")
    checkpoint = hub_checkpoint("Qwen/Qwen2.5-7B-Instruct", COMMIT, model)

    assert checkpoint.pinned
    assert checkpoint.statements == ()
    assert checkpoint.precision == "bfloat16"
    assert checkpoint.requested.kind == "hub"


@pytest.mark.parametrize(
    ("revision", "said"),
    [(None, "the newest revision can move"), ("main", "revision 'main' can move")],
)
def test_a_revision_that_can_move_is_stated(llama, revision, said):
    checkpoint = hub_checkpoint(NAME, revision, llama)

    assert not checkpoint.pinned
    assert any(said in statement for statement in checkpoint.statements)


def test_a_gated_model_is_stated_as_the_catalog_has_it(llama):
    checkpoint = hub_checkpoint(NAME, COMMIT, llama)

    assert checkpoint.gated
    assert "gated: its licence must be accepted" in checkpoint.statements[0]


def test_of_a_name_that_the_catalog_lacks_nothing_is_known(llama):
    checkpoint = hub_checkpoint("someone/a-finetune", COMMIT, llama)

    assert (checkpoint.gated, checkpoint.precision) == (None, None)
    assert checkpoint.statements == (
        "whether someone/a-finetune is gated is not in the catalog",
    )


@pytest.mark.parametrize(
    "name", ["", "/models/llama", "./llama", "a/b/c", "~/llama", "a b", "-x", "a/../b"]
)
def test_a_path_is_no_name(llama, name):
    with pytest.raises(UsageError, match="is no name on the hub"):
        hub_checkpoint(name, None, llama)


@pytest.mark.parametrize("revision", ["", "../../etc/passwd", "a b", "/x", "-x"])
def test_a_path_is_no_revision(llama, revision):
    with pytest.raises(UsageError, match="is no revision"):
        hub_checkpoint(NAME, revision, llama)


def test_what_was_pulled_is_read_from_the_hubs_cache(llama, tmp_path):
    refs = tmp_path / "models--meta-llama--Meta-Llama-3-8B-Instruct" / "refs"
    (refs / "refs").mkdir(parents=True)
    (refs / "main").write_text(COMMIT)
    (refs / "v1").write_text("damaged")
    (refs / "v2").write_bytes(b"\xff")
    (refs / "refs" / "pr").write_text(COMMIT[::-1])

    def resolved(revision):
        return resolved_revision(hub_checkpoint(NAME, revision, llama), tmp_path)

    assert resolved(None) == resolved("main") == COMMIT
    assert resolved("refs/pr") == COMMIT[::-1]
    assert resolved("v1") is None
    assert resolved("v2") is None
    assert resolved("v3") is None


def test_a_pinned_revision_needs_no_cache(llama, tmp_path):
    checkpoint = hub_checkpoint(NAME, COMMIT, llama)

    assert resolved_revision(checkpoint, tmp_path) == COMMIT
