"""Policies written in Python."""

import pytest

import diskarm

SETTING = {"workload": "closed(clients=12) uniform size=8KiB reads=67%", "requests": 3000}


class First(diskarm.Policy):
    def choose(self, now_us, waiting):
        assert all(one.arrived_us <= now_us for one in waiting)
        return 0


class Shortest(diskarm.Policy):
    def choose(self, now_us, waiting):
        return min(range(len(waiting)), key=lambda i: waiting[i].positioning_us)


class Nearest(diskarm.Policy):
    """SSTF by blocks."""

    def choose(self, now_us, waiting):
        return min(range(len(waiting)), key=lambda i: abs(waiting[i].lbn - self.last_lbn))


class Upward(diskarm.Policy):
    """C-LOOK by blocks, which remembers its position."""

    def __init__(self):
        self.at = 0

    def choose(self, now_us, waiting):
        ahead = [i for i, one in enumerate(waiting) if one.lbn >= self.at]
        chosen = min(ahead or range(len(waiting)), key=lambda i: waiting[i].lbn)
        self.at = waiting[chosen].lbn
        return chosen


@pytest.mark.parametrize(("policy", "known"), [(First(), "fcfs"), (Shortest(), "sptf")])
def test_a_policy_in_python_does_what_that_of_the_table_does(policy, known):
    own = diskarm.simulate("hp-c2247", policy=policy, **SETTING)
    table = diskarm.simulate("hp-c2247", policy=known, **SETTING)
    assert own.policy == type(policy).__name__
    assert own.response_ms == table.response_ms and own.service_ms == table.service_ms


def test_policies_go_by_blocks_and_remember():
    fcfs, sstf, clook, nearest, upward = diskarm.compare(
        "hp-c2247", ["fcfs", "sstf", "clook", Nearest(), Upward()], **SETTING
    )
    assert nearest.response_ms.mean < 0.9 * fcfs.response_ms.mean
    assert nearest.response_ms.mean == pytest.approx(sstf.response_ms.mean, rel=0.05)
    assert upward.response_ms.mean == pytest.approx(clook.response_ms.mean, rel=0.05)


def test_each_run_has_a_copy_of_its_own():
    policy = Upward()
    runs = diskarm.simulate("hp-c2247", policy=policy, replications=3, **SETTING).replications
    again = diskarm.simulate("hp-c2247", policy=policy, seed=runs[2].seed, **SETTING)
    assert policy.at == 0
    assert again.response_ms == runs[2].response_ms


@pytest.mark.parametrize(
    ("choice", "exception"),
    [(lambda: 12 // 0, ZeroDivisionError), (lambda: 99, IndexError), (lambda: "0", TypeError)],
)
def test_an_exception_of_a_policy_ends_the_run(choice, exception):
    class Wrong(diskarm.Policy):
        def choose(self, now_us, waiting):
            return choice() if now_us > 1e6 else 0

    with pytest.raises(exception):
        diskarm.simulate("hp-c2247", policy=Wrong(), **{**SETTING, "requests": 10**9})
