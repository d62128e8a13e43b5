"""How a cluster's machines are shared out, and what its tasks come to; with a Ray that only pretends."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from recoseg.errors import UserError
from recoseg.experiments.running import on_ray
from recoseg.experiments.running.execute import CellError, CellStoppedError
from recoseg.experiments.running.on_ray import ENVIRONMENT, RETRIES, RayWorkers, import_ray, require_answer


class RayTaskError(Exception):
    def __init__(self, cause: BaseException) -> None:
        self.cause = cause


class PretendedRay:
    """`tasks` are called when their result is asked for."""

    exceptions = SimpleNamespace(
        TaskCancelledError=type("TaskCancelledError", (Exception,), {}),
        WorkerCrashedError=type("WorkerCrashedError", (Exception,), {}),
        RayTaskError=RayTaskError,
    )

    def __init__(self, *machines: dict[str, float]) -> None:
        self.machines = machines
        self.asked: dict[str, object] = {}
        self.started: dict[str, object] = {}
        self.cancelled: list[object] = []
        self.down = False

    def init(self, *address: str, **settings: object) -> None:
        self.started = {"address": address, **settings}

    def nodes(self) -> list[dict[str, object]]:
        gone = {"Resources": {}, "Alive": False}
        return [gone, *({"Resources": machine, "Alive": True} for machine in self.machines)]

    def remote(self, **resources: object):
        self.asked = resources
        return lambda function: SimpleNamespace(remote=lambda cell, start, threads: cell)

    def wait(self, tasks, num_returns, timeout):
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task):
        if isinstance(task, BaseException):
            raise task
        return f"result of {task}"

    def cancel(self, task) -> None:
        self.cancelled.append(task)

    def shutdown(self) -> None:
        self.down = True


@pytest.fixture
def workers(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def make(*machines: dict[str, float], count: int | None = None, address: str = "local") -> RayWorkers:
        monkeypatch.setattr(on_ray, "import_ray", lambda: PretendedRay(*machines))
        return RayWorkers(address, count, start=lambda command, log: 0)

    return make


@pytest.mark.parametrize(
    ("machines", "count", "cores_each", "threads", "at_a_time"),
    [
        ([{"CPU": 8}], 2, 4, 4, 2),
        ([{"CPU": 8}], 3, 2, 2, 4),
        ([{"CPU": 2}], 4, 0.5, 1, 4),
        ([{"CPU": 4}, {"CPU": 16}], 2, 2, 2, 10),  # two on the small machine, eight on the large one
        ([{"CPU": 6}, {"CPU": 8}], 2, 3, 3, 4),  # what is left over of a machine is no part of another
        ([{"memory": 9.0}, {"CPU": 0}, {"CPU": 4}], 1, 4, 4, 1),  # heads that lend nothing
    ],
)
def test_workers_share_the_cores_of_the_smallest_machine(
    workers, machines, count, cores_each, threads, at_a_time
) -> None:
    made = workers(*machines, count=count)
    assert (made.ray.asked["num_cpus"], made.ray.asked["num_gpus"]) == (cores_each, 0)
    assert (made.threads, made.count) == (threads, at_a_time)


def test_where_there_are_gpus_every_run_takes_one(workers) -> None:
    made = workers({"CPU": 64}, {"CPU": 16, "GPU": 2}, {"CPU": 16, "GPU": 4})
    assert (made.ray.asked["num_cpus"], made.ray.asked["num_gpus"], made.count) == (0, 1, 6)
    assert made.threads == 4  # as many as the runs of a machine can have
    with pytest.raises(UserError, match="--workers has no effect on this cluster"):
        workers({"CPU": 16, "GPU": 2}, count=2)


def test_without_a_number_of_workers_a_run_takes_a_whole_machine(workers) -> None:
    made = workers({"CPU": 4}, {"CPU": 8})
    assert (made.ray.asked["num_cpus"], made.threads, made.count) == (4, 4, 3)


def test_a_cluster_that_lends_nothing_is_an_error_in_one_line(workers) -> None:
    with pytest.raises(UserError, match="--ray: no machine of the cluster lends a core or a GPU"):
        workers({"memory": 9.0})


def test_a_worker_that_dies_is_replaced_and_every_run_has_a_fresh_process(workers) -> None:
    asked = workers({"CPU": 2}).ray.asked
    assert (asked["max_retries"], asked["max_calls"]) == (RETRIES, 1)


def test_a_local_cluster_is_a_new_one_without_a_dashboard(workers) -> None:
    started = workers({"CPU": 2}).ray.started
    assert started["address"] == ("local",)
    assert started["include_dashboard"] is False
    assert started["log_to_driver"] is False


def test_every_end_of_a_task_is_an_outcome(workers) -> None:
    made = workers({"CPU": 2})
    errors = made.ray.exceptions
    reason = CellError("a reason")
    ends = {
        "a": "a", "cancelled": errors.TaskCancelledError(), "failed": RayTaskError(reason),
        "crashed": errors.WorkerCrashedError(), "other": ZeroDivisionError(),
    }  # fmt: skip
    made.cells = {task: name for name, task in ends.items()}
    outcomes = dict(made.finished(1))
    assert outcomes["a"] == "result of a"
    assert isinstance(outcomes["cancelled"], CellStoppedError)
    assert outcomes["failed"] is reason
    assert f"died {RETRIES + 1} times" in str(outcomes["crashed"])
    assert isinstance(outcomes["other"], ZeroDivisionError)
    assert made.cells == {}


def test_stop_takes_back_all_tasks_and_close_leaves_the_cluster(workers) -> None:
    made = workers({"CPU": 2})
    for cell in ("a", "b"):
        made.submit(cell)
    made.stop()
    assert made.ray.cancelled == ["a", "b"]
    made.close()
    assert made.ray.down


@pytest.mark.parametrize("error", [ConnectionError, RuntimeError, ValueError])
def test_what_ray_says_of_an_address_is_one_sentence(workers, monkeypatch, error) -> None:
    def refuse(self, *address, **settings):
        raise error("Could not find\nany cluster. Please do this and that.")

    monkeypatch.setattr(PretendedRay, "init", refuse)
    with pytest.raises(UserError, match=r"^--ray auto: no cluster to work with: Could not find any cluster$"):
        workers({"CPU": 2}, address="auto")


@pytest.mark.parametrize("address", ["somewhere", ":6379", "host:", "host:port"])
def test_an_address_has_a_host_and_a_port(address) -> None:
    with pytest.raises(ValueError, match="an address is HOST:PORT, auto, or local"):
        require_answer(address)


def test_what_the_user_has_set_for_ray_stays(monkeypatch) -> None:
    pytest.importorskip("ray", reason="needs the package ray")
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "mine")
    import_ray()
    assert {os.environ[name] for name in ENVIRONMENT} == {"mine"}
