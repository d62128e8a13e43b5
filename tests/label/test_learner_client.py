"""The server's end of the learner, with a process that a test plays and a clock of the test's own."""

from __future__ import annotations

import threading
from multiprocessing import Pipe

import pytest

from recoseg.label.actions import NotNowError
from recoseg.label.learner_client import LearnerClient
from recoseg.label.messages import Failed, Predict, Predicted, Started, Status, Update


class Player:
    """Processes that the test plays: `connection` is the learner's end of the latest one."""

    def __init__(self) -> None:
        self.num_started, self.exitcode, self.now = 0, -9, 0.0

    def start(self):
        self.num_started += 1
        ours, self.connection = Pipe()
        self.connection.send(Started())
        return ours, self

    def join(self, timeout: float) -> None:
        pass

    def kill(self) -> None:
        self.connection.close()

    die = kill


@pytest.fixture
def player():
    return Player()


@pytest.fixture
def client(player):
    client = LearnerClient(player.start, clock=lambda: player.now)
    yield client
    client.close()


def test_a_learner_that_dies_is_started_again_and_given_up_where_it_dies_often(player, client):
    messages = client.messages()
    assert next(messages) == Started()
    for _ in range(5):
        player.now += 1000
        player.die()
        failed = next(messages)
        assert isinstance(failed, Failed)
        assert not failed.final
        assert "SIGKILL" in failed.message
        assert next(messages) == Started()
    player.connection.send(Failed("out of luck"))
    player.die()
    assert "out of luck" in next(messages).message
    assert next(messages) == Started()
    player.die()
    failed = next(messages)
    assert failed.final
    assert "out of luck" not in failed.message
    assert list(messages) == []
    with pytest.raises(NotNowError, match="recoseg label"):
        client.predict("a")
    assert player.num_started == 7


def test_a_learner_that_cannot_work_is_not_started_again(player, client):
    player.connection.send(Failed("no encoder", final=True))
    player.die()
    assert list(client.messages()) == [Started(), Failed("no encoder", final=True)]
    assert player.num_started == 1


def answers_of(client, count: int) -> tuple[list[threading.Thread], list[object]]:
    """Threads that wait for a prediction of the same image, and what they got."""
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(client.predict("a"))
        except NotNowError as error:
            answers.append(error)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, answers


def test_all_who_wait_for_one_image_get_it_also_after_a_death(player, client):
    messages = client.messages()
    next(messages)
    client.send_requests()
    threads, answers = answers_of(client, 2)
    assert {player.connection.recv().image for _ in threads} == {"a"}
    player.die()
    assert isinstance(next(messages), Failed)
    assert next(messages) == Started()
    client.send(Update(frozenset()))
    client.send_requests()
    assert player.connection.recv() == Update(frozenset())  # the labels come before the requests
    for _ in threads:
        request = player.connection.recv()
        assert isinstance(request, Predict)
        player.connection.send(Predicted("a", None, request.request))
    player.connection.send(Status({}))
    while not isinstance(next(messages), Status):
        pass
    for thread in threads:
        thread.join()
    assert answers == [None, None]


def test_no_one_waits_longer_than_the_limit_and_a_learner_that_hangs_is_killed(player):
    client = LearnerClient(player.start, seconds_to_answer=0.0)
    messages = client.messages()
    next(messages)
    client.send_requests()
    with pytest.raises(NotNowError, match="within 0 seconds"):
        client.predict("a")
    assert player.connection.closed
    assert isinstance(next(messages), Failed)
    assert next(messages) == Started()
    client.close()


@pytest.mark.parametrize("end", [LearnerClient.end_requests, LearnerClient.close])
def test_no_one_waits_for_a_server_that_ends(player, client, end):
    messages = client.messages()
    next(messages)
    client.send_requests()
    threads, answers = answers_of(client, 1)
    player.connection.recv()
    end(client)
    threads[0].join()
    assert "the server ends" in str(answers[0])
