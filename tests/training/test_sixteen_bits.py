"""Whether 16-bit numbers can be used on this CPU: tried in a child process that may die, and remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from recoseg.errors import UserError
from recoseg.training import precision as sixteen_bits
from recoseg.training.precision import require_sixteen_bits

COMPUTES = "pass"
DIES = "import os, signal; os.kill(os.getpid(), signal.{})"
CPU_INFO = "processor\t: 0\nmodel name\t: A CPU\ncpu MHz\t\t: {}\nflags\t\t: fpu {}\n\nprocessor\t: 1\n"


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """`tried(program)`: what is said of bfloat16 where the child runs this, and whether it was started."""
    (tmp_path / "cpuinfo").write_text(CPU_INFO.format(2500, "amx_bf16"))
    monkeypatch.setattr(sixteen_bits, "_CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)

    def attempt(program: str, *, dtype: torch.dtype = torch.bfloat16, cache: Path = tmp_path / "cache"):
        started = tmp_path / "started"
        started.unlink(missing_ok=True)
        monkeypatch.setattr(sixteen_bits, "_PROGRAM", f"open({str(started)!r}, 'w')\n{program}")
        said = ""
        try:
            require_sixteen_bits(dtype, cache=cache)
        except UserError as error:
            said = str(error)
        return said, started.is_file()

    return attempt


def test_the_program_itself_is_right_and_takes_no_file_beside_the_user_for_torch(
    monkeypatch, tmp_path
) -> None:
    """In float32, which every machine computes in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torch.py").write_text("raise SystemExit('not the real one')\n")
    require_sixteen_bits(torch.float32, cache=tmp_path / "cache")


def test_a_child_that_dies_is_one_line_with_both_remedies(tried) -> None:
    said, _ = tried(DIES.format("SIGILL"))
    assert said == (
        "train.precision bfloat16 does not work on this CPU: a process that tried a small convolution ended "
        "with SIGILL; take --train.precision float32; or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the "
        "environment, which computes, but slower"
    )


def test_a_remedy_that_does_not_help_is_not_named(tried, monkeypatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    said, _ = tried(DIES.format("SIGILL"))
    assert said.endswith("ended with SIGILL; take --train.precision float32")


@pytest.mark.parametrize("program", [COMPUTES, DIES.format("SIGILL"), DIES.format("SIGSEGV")])
def test_the_answer_is_remembered(tried, program) -> None:
    said, started = tried(program)
    assert (bool(said), started) == (program != COMPUTES, True)
    assert tried("raise AssertionError('tried again')") == (said, False)


def test_each_dtype_has_its_own_answer(tried) -> None:
    assert "bfloat16" in tried(DIES.format("SIGILL"))[0]
    assert tried(COMPUTES, dtype=torch.float16) == ("", True)


def test_another_machine_torch_or_limit_is_tried_anew(tried, monkeypatch, tmp_path) -> None:
    assert tried(DIES.format("SIGILL"))[1]
    (tmp_path / "cpuinfo").write_text(CPU_INFO.format(3500, "amx_bf16"))  # only its clock goes faster
    assert not tried(COMPUTES)[1]
    (tmp_path / "cpuinfo").write_text(CPU_INFO.format(2500, "avx2"))
    assert tried(COMPUTES) == ("", True)
    (tmp_path / "cpuinfo").unlink()  # as on macOS
    assert tried(COMPUTES) == ("", True)
    assert tried(COMPUTES) == ("", False)
    monkeypatch.setattr(torch, "__version__", "9.0")
    assert tried(COMPUTES) == ("", True)
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        monkeypatch.setenv(name, "AVX2")
        assert tried(COMPUTES) == ("", True), name


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("raise RuntimeError('no such\\nprimitive')", "ended with primitive;"),
        ("import sys; sys.exit(3)", "ended with exit 3;"),
        (DIES.format("SIGKILL"), "ended with SIGKILL;"),  # as the system does where memory ends
        ("import time; time.sleep(60)", "ended with nothing in 0.2 seconds;"),
    ],
)
def test_what_may_go_otherwise_the_next_time_is_told_but_not_remembered(
    tried, monkeypatch, program, told
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sixteen_bits, "_SECONDS", 0.2 if "sleep" in program else 60)
        assert told in tried(program)[0]
    assert tried(COMPUTES) == ("", True)


def test_a_python_that_cannot_be_started_is_told(tried, monkeypatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/python")
    assert "No such file or directory: '/no/python'" in tried(COMPUTES)[0]


def test_a_damaged_record_is_not_believed(tried, tmp_path) -> None:
    tried(COMPUTES)
    [record] = (tmp_path / "cache").iterdir()
    for content in (b"", b"perhaps", b"\xff\xfe"):
        record.write_bytes(content)
        assert tried(COMPUTES) == ("", True)
    assert record.read_text() == "computes"


def test_without_a_place_to_remember_it_is_tried_each_time(tried, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    for _ in range(2):
        assert tried(COMPUTES, cache=tmp_path / "file" / "cache") == ("", True)
