"""Continuous batching in virtual time: what is conserved, what is never exceeded."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.rehearsal import EngineSettings, StepModel
from flows.rehearsal.pace import Pace
from flows.rehearsal.scheduler import Scheduler, Sequence, State

ENGINES = st.builds(
    lambda seqs, spare, blocks, size, mode, drafts: EngineSettings(
        max_num_seqs=seqs,
        tokens_per_step=drafts,
        token_budget=seqs * drafts + spare,
        kv_blocks=blocks,
        block_tokens=size,
        scheduler=mode,
        acceptance=0.5,
    ),
    seqs=st.integers(1, 6),
    spare=st.integers(0, 40),
    blocks=st.integers(12, 40),
    size=st.sampled_from([1, 4, 16]),
    mode=st.sampled_from(["chunked", "prefill_first"]),
    drafts=st.integers(1, 3),
)
LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 30)), min_size=1, max_size=12)


def queued(engine, lengths, hashes=None):
    """Scheduler with all sequences that the KV cache can hold waiting."""
    scheduler = Scheduler(engine, random.Random(1))
    sequences = []
    for number, (asked, output) in enumerate(lengths):
        prompt = min(asked, engine.context_limit - 1)
        sequences.append(
            Sequence(
                number=number,
                prompt_tokens=prompt,
                output_tokens=min(output, engine.context_limit - prompt),
                block_hashes=hashes(prompt) if hashes else (),
            )
        )
        scheduler.add(sequences[-1])
    return scheduler, sequences


def run(scheduler, check=lambda step: None, limit=20_000):
    """Tokens that each sequence produced, stepping until nothing is left."""
    produced = Counter()
    for _ in range(limit):
        step = scheduler.plan()
        if step is None:
            return produced
        check(step)
        for sequence, tokens in scheduler.commit(step):
            produced[sequence.number] += tokens
    raise AssertionError("the scheduler never came to an end")


@given(engine=ENGINES, lengths=LENGTHS)
@settings(max_examples=300, deadline=None)
def test_every_sequence_gets_exactly_its_tokens_whatever_is_preempted(engine, lengths):
    scheduler, sequences = queued(engine, lengths)

    produced = run(scheduler)

    assert produced == {s.number: s.output_tokens for s in sequences}
    assert all(s.state is State.GONE for s in sequences)
    assert scheduler.pool.used == 0


@given(engine=ENGINES, lengths=LENGTHS)
@settings(max_examples=300, deadline=None)
def test_no_step_exceeds_its_budget_its_batch_or_its_blocks(engine, lengths):
    scheduler, _ = queued(engine, lengths)

    def check(step):
        assert 0 < sum(tokens for _, tokens in step.work) <= engine.token_budget
        assert len(scheduler.running) <= engine.max_num_seqs
        assert scheduler.pool.used <= engine.kv_blocks
        assert len({id(sequence) for sequence, _ in step.work}) == len(step.work)
        held = Counter(block for s in scheduler.running for block in s.blocks)
        assert len(held) == scheduler.pool.used
        for sequence, tokens in step.work:
            room = len(sequence.blocks) * engine.block_tokens
            assert sequence.computed + tokens <= room

    run(scheduler, check)


@given(engine=ENGINES, lengths=LENGTHS)
@settings(max_examples=200, deadline=None)
def test_a_steps_sums_are_those_of_its_work(engine, lengths):
    scheduler, _ = queued(engine, lengths)

    def check(step):
        decoding = [s for s, _ in step.work if s.decodes]
        assert step.decode_sequences == len(decoding)
        assert step.context_tokens == sum(s.computed + 1 for s in decoding)
        assert step.prefill_tokens == sum(n for s, n in step.work if not s.decodes)
        if engine.scheduler == "prefill_first":
            assert step.decode_sequences == 0 or step.prefill_tokens == 0

    run(scheduler, check)


@given(engine=ENGINES, lengths=LENGTHS)
@settings(max_examples=100, deadline=None)
def test_prompts_are_computed_once_unless_preempted(engine, lengths):
    scheduler, sequences = queued(engine, lengths)
    computed = Counter()

    def check(step):
        for sequence, tokens in step.work:
            if not sequence.decodes:
                computed[sequence.number] += tokens

    run(scheduler, check)

    for sequence in sequences:
        if sequence.preemptions == 0:
            assert computed[sequence.number] == sequence.prompt_tokens
        else:
            assert computed[sequence.number] >= sequence.prompt_tokens


@given(engine=ENGINES, lengths=LENGTHS, aborts=st.sets(st.integers(0, 11)))
@settings(max_examples=100, deadline=None)
def test_aborted_sequences_leave_nothing_behind(engine, lengths, aborts):
    scheduler, sequences = queued(engine, lengths)
    doomed = [s for s in sequences if s.number in aborts]

    def check(step):
        if doomed:
            scheduler.abort(doomed.pop())

    produced = run(scheduler, check)

    assert scheduler.pool.used == 0
    for sequence in sequences:
        if sequence.number not in aborts:
            assert produced[sequence.number] == sequence.output_tokens


def test_sequences_start_in_the_order_of_their_arrival():
    scheduler, _ = queued(EngineSettings(max_num_seqs=2), [(8, 3)] * 6)
    order = []
    run(scheduler, lambda step: order.extend(s.number for s in step.admitted))

    assert order == [0, 1, 2, 3, 4, 5]


def test_the_newest_make_room_and_come_back_in_the_order_of_their_arrival():
    engine = EngineSettings(max_num_seqs=3, kv_blocks=12, block_tokens=4)
    scheduler, sequences = queued(engine, [(8, 30), (8, 30), (8, 30)])
    admitted = []

    run(scheduler, lambda step: admitted.extend(s.number for s in step.admitted))

    assert sequences[0].preemptions == 0
    assert sequences[2].preemptions > 0
    assert admitted[:5] == [0, 1, 2, 1, 2]
    assert scheduler.preemptions == sum(s.preemptions for s in sequences)


def test_a_long_prompt_is_chunked_and_decodes_go_on_beside_it():
    engine = EngineSettings(max_num_seqs=2, token_budget=100)
    scheduler, _ = queued(engine, [(10, 50), (350, 5)])
    shapes = []

    run(scheduler, lambda s: shapes.append((s.decode_sequences, s.prefill_tokens)))

    assert shapes[:4] == [(0, 100), (1, 99), (1, 99), (1, 62)]
    assert shapes[4] == (2, 0)


def test_prefill_first_lets_decodes_wait():
    engine = EngineSettings(max_num_seqs=2, token_budget=100, scheduler="prefill_first")
    scheduler, _ = queued(engine, [(10, 50), (350, 5)])
    shapes = []

    run(scheduler, lambda s: shapes.append((s.decode_sequences, s.prefill_tokens)))

    assert shapes[:5] == [(0, 100), (0, 100), (0, 100), (0, 60), (2, 0)]


def test_a_step_of_speculative_decoding_yields_all_drafts_when_all_are_kept():
    engine = EngineSettings(max_num_seqs=1, tokens_per_step=4, acceptance=1.0)
    scheduler, _ = queued(engine, [(5, 9)])
    steps = []

    run(scheduler, lambda step: steps.append(sum(n for _, n in step.work)))

    assert steps == [5, 4, 4]


@given(
    lengths=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 10)), max_size=8),
    prefix=st.integers(0, 5),
)
@settings(max_examples=100, deadline=None)
def test_the_prefix_cache_changes_no_token_count(lengths, prefix):
    engine = EngineSettings(max_num_seqs=3, kv_blocks=30, block_tokens=4, prefix_cache=True)
    kept = iter(range(10_000))

    def hashes(prompt):
        count = prompt // 4
        shared = list(range(-prefix, 0))[:count]
        return tuple(shared + [next(kept) for _ in range(count - len(shared))])

    scheduler, sequences = queued(engine, lengths, hashes)

    produced = run(scheduler)

    assert produced == {s.number: s.output_tokens for s in sequences}
    assert scheduler.pool.used == 0
    assert all(s.cached_tokens < s.prompt_tokens for s in sequences)
    assert scheduler.prefix_hits == sum(s.cached_tokens for s in sequences)


def test_a_repeated_prompt_is_found_in_the_cache_but_for_its_last_token():
    engine = EngineSettings(max_num_seqs=1, block_tokens=4)
    scheduler, sequences = queued(engine, [(16, 2), (16, 2)], lambda _: (1, 2, 3, 4))

    run(scheduler)

    assert [s.cached_tokens for s in sequences] == [0, 12]
    assert (scheduler.prefix_queries, scheduler.prefix_hits) == (32, 12)


def test_the_cache_forgets_what_was_unused_for_longest():
    engine = EngineSettings(max_num_seqs=1, block_tokens=4, kv_blocks=3)
    prompts = iter([(1, 2), (3, 4), (1, 2), (5, 6), (1, 2)])
    scheduler, sequences = queued(engine, [(9, 2)] * 5, lambda _: next(prompts))

    run(scheduler)

    assert [s.cached_tokens for s in sequences] == [0, 0, 0, 0, 0]
    roomy = EngineSettings(max_num_seqs=1, block_tokens=4, kv_blocks=7)
    prompts = iter([(1, 2), (3, 4), (1, 2), (5, 6), (1, 2)])
    scheduler, sequences = queued(roomy, [(9, 2)] * 5, lambda _: next(prompts))
    run(scheduler)
    assert [s.cached_tokens for s in sequences] == [0, 0, 8, 0, 8]


def closed_loop_requests_per_s(model, engine, *, concurrency, prompt, output, requests):
    """Simulated throughput of a batch refilled at once, counted after a quarter of it."""
    scheduler = Scheduler(engine, random.Random(1))
    pace = Pace(model, engine, random.Random(2), 0)
    now_ns, sent, ended, marks = 0, 0, 0, []

    def add():
        nonlocal sent
        sent += 1
        scheduler.add(Sequence(number=sent, prompt_tokens=prompt, output_tokens=output))

    for _ in range(concurrency):
        add()
    while ended < requests:
        step = scheduler.plan()
        now_ns += pace.duration_ns(step, now_ns)
        for sequence, _ in scheduler.commit(step):
            if sequence.is_complete:
                ended += 1
                marks.append(now_ns)
                add()
    start = len(marks) // 4
    return (len(marks) - start - 1) / (marks[-1] - marks[start]) * 1e9


@pytest.mark.parametrize("concurrency", [1, 4, 16])
@pytest.mark.parametrize(("prompt", "output"), [(128, 32), (1024, 128), (16, 200)])
def test_simulated_capacity_is_the_closed_form(concurrency, prompt, output):
    model = StepModel(
        decode_base_ms=8,
        prefill_base_ms=8,
        decode_per_sequence_ms=0.1,
        decode_per_context_token_ms=0.00005,
        prefill_per_token_ms=0.02,
    )
    engine = EngineSettings(max_num_seqs=concurrency, token_budget=65536)

    simulated = closed_loop_requests_per_s(
        model, engine, concurrency=concurrency, prompt=prompt, output=output, requests=400
    )

    expected = model.saturated_requests_per_s(
        concurrency=concurrency, prompt_tokens=prompt, output_tokens=output
    )
    assert simulated == pytest.approx(expected, rel=0.05)


def test_a_small_token_budget_does_not_lower_the_capacity_of_a_staggered_batch():
    model = StepModel(decode_base_ms=8, prefill_base_ms=8, prefill_per_token_ms=0.02)
    engine = EngineSettings(max_num_seqs=8, token_budget=1100)

    simulated = closed_loop_requests_per_s(
        model, engine, concurrency=8, prompt=1024, output=64, requests=800
    )

    expected = model.saturated_requests_per_s(
        concurrency=8, prompt_tokens=1024, output_tokens=64
    )
    assert simulated == pytest.approx(expected, rel=0.05)


def test_an_overloaded_kv_cache_costs_throughput():
    model = StepModel(decode_base_ms=8, prefill_base_ms=8, prefill_per_token_ms=0.02)
    roomy = EngineSettings(max_num_seqs=8)
    tight = EngineSettings(max_num_seqs=8, kv_blocks=40)
    load = {"concurrency": 8, "prompt": 64, "output": 120, "requests": 100}

    assert closed_loop_requests_per_s(model, tight, **load) < 0.8 * (
        closed_loop_requests_per_s(model, roomy, **load)
    )
