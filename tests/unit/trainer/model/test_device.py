"""Whether bfloat16 is arithmetic of a processor, beside what torch says of this one."""

from pathlib import Path

import pytest
import torch

from graphkin.trainer.model.device import computes_bf16

SKYLAKE = "flags\t\t: fpu vme de pse tsc avx2 avx512f avx512dq avx512cd avx512bw avx512vl pku ospke"


@pytest.mark.parametrize(
    ("described", "arithmetic"),
    [
        (SKYLAKE, False),
        (f"{SKYLAKE} avx512_bf16 wbnoinvd", True),
        (f"{SKYLAKE} amx_bf16 avx512_fp16 amx_tile amx_int8", True),
        ("Features\t: fp asimd evtstrm aes sha3 asimddp sve bf16 i8mm", True),
        ("Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp", False),
    ],
)
def test_bf16_support_is_read_from_cpuinfo(tmp_path: Path, described: str, arithmetic: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nmodel name\t: bf16less\n{described}\n\n")
    assert computes_bf16(torch.device("cpu"), tmp_path / "cpuinfo") == arithmetic


def test_missing_cpuinfo_counts_as_bf16_support(tmp_path: Path) -> None:
    assert computes_bf16(torch.device("cpu"), tmp_path / "none")


@pytest.mark.skipif(not hasattr(torch.cpu, "get_capabilities"), reason="this torch does not tell")
def test_this_processor_is_told_as_torch_tells_it() -> None:
    told = torch.cpu.get_capabilities()
    arithmetic = any(told.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    assert computes_bf16(torch.device("cpu")) == (arithmetic or not Path("/proc/cpuinfo").exists())
