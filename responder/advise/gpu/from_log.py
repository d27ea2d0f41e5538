"""What a log itself states about its GPUs.

Cautious on purpose.  A log also talks about GPUs it does not run on (`requires compute capability 9.0 or higher`, the
architectures a wheel was built for, a user's prompt), so only forms count that a program prints about its own device.
Where two statements disagree about the compute capability, none is believed.
"""

import re
from collections.abc import Iterable

import msgspec

from responder.advise.gpu.products import find_product
from responder.nouns import Device, GpuFacts

_NAME = r"(?:NVIDIA|Tesla|Quadro|AMD)[ _][\w ()+./-]*?\w"

_ON_ONE_LINE = (
    # nvidia-smi's table, and `nvidia-smi -L`
    re.compile(rf"\|\s+(?P<index>\d+)\s+(?P<name>{_NAME})\s+(?:On|Off)\s*\|"),
    re.compile(rf"\bGPU (?P<index>\d+): (?P<name>{_NAME}) \(UUID: "),
    # torch's and sglang's environment reports: GPU 0,1,2,3: NVIDIA H200
    re.compile(rf"^GPU (?P<indices>\d+(?:,\d+)*): (?P<name>{_NAME})\s*$"),
    re.compile(r"^GPU (?P<indices>\d+(?:,\d+)*) Compute Capability: (?P<sm>\d+\.\d)\s*$"),
    # nvidia-smi --query-gpu=name,memory.total --format=csv
    re.compile(rf"^(?P<name>{_NAME}), (?P<mib>\d+) MiB\s*$"),
    # the tuned kernel configuration that sglang looks for on this device
    re.compile(r"\bdevice_name='?(?P<name>(?:NVIDIA|AMD|Tesla)[_ ][\w. -]+?)(?:_down)?(?:'|,|\.json|\[|\)|$)"),
    # torch, when it was not built for the card; triton and ptxas, when they compile for it
    re.compile(rf"(?P<name>{_NAME}) with CUDA capability sm_(?P<sm>\d+) is not compatible"),
    re.compile(rf"Found GPU\d+ (?P<name>{_NAME}) which is of (?:cuda|compute) capability (?P<sm>\d+\.\d)"),
    re.compile(
        r"(?i)\b(?:current|your|this) (?:gpu|device)(?:'s)? (?:has|with|is of)?\s*compute capability:? (?P<sm>\d+\.\d)"
    ),
    re.compile(r"(?i)\b(?:gpu|device) (?:has|with) compute capability (?P<sm>\d+\.\d)\b(?! (?:or|and) )"),
    re.compile(r"Value 'sm_(?P<sm>\d+)[af]?' is not defined for option 'gpu-name'"),
    re.compile(r"\bptxas\b.*--gpu-name[= ]sm_(?P<sm>\d+)"),
    # torch's out-of-memory text
    re.compile(r"\bGPU (?P<index>\d+) has a total capacity of (?P<gib>\d+\.\d+) GiB"),
)
_MEMORY_ROW = re.compile(r"\|\s*\d+MiB / +(?P<mib>\d+)MiB\s*\|")
_MEMORY_LIST = re.compile(r"total GPU memory per device \(MiB\): \[(?P<list>[\d., ]+)\]")
_DRIVER = re.compile(r"NVIDIA-SMI.* Driver Version: (?P<driver>[\d.]+)\s.*CUDA Version: (?P<cuda>\d+\.\d+)")
_TORCH_CUDA = re.compile(r"(?:CUDA used to build PyTorch: |^torch\.version\.cuda: )(?P<cuda>\d+\.\d+)\s*$")
_TORCH_WHEEL = re.compile(r"(?:^PyTorch(?: version)?: |\btorch==)\d[\w.]*\+cu(?P<packed>1[1-9]\d)\b")

_LONGEST = 4096
"""Characters of a line that are looked at.  No statement is longer, and a hostile line could be."""

_HINTS = ("gpu", "nvidia", "device_name", "capability", "MiB", "sm_", "GPU", "NVIDIA", "orch", "AMD")
_QUOTED_REQUEST = ("GenerateReqInput(", "EmbeddingReqInput(", "Receive: ", "Finish: ")
_SGLANG_PREFIX = re.compile(r"^\[\d{4}-\d\d-\d\d [^\]]*\] ")


class _Statements:
    """The statements gathered so far: by device index where the log gives one, else about the server as a whole."""

    def __init__(self) -> None:
        self.devices: dict[int, Device] = {}
        self.common = Device()
        self.names: set[str] = set()
        self.sms: set[int] = set()
        self.torch_cuda: str | None = None
        self.last_index: int | None = None

    def add(self, line: str) -> None:
        """Take in what `line` states."""
        for pattern in _ON_ONE_LINE:
            if match := pattern.search(line):
                self._add_device(match.groupdict())
                return
        if match := _MEMORY_LIST.search(line):
            for index, mib in enumerate(match["list"].split(",")):
                self._update(index, memory_mib=int(float(mib)))
        elif (match := _MEMORY_ROW.search(line)) and self.last_index is not None:
            self._update(self.last_index, memory_mib=int(match["mib"]))
            self.last_index = None
        elif match := _DRIVER.search(line):
            self.common = msgspec.structs.replace(self.common, driver=match["driver"], cuda=match["cuda"])
        elif match := _TORCH_CUDA.search(line):
            self.torch_cuda = match["cuda"]
        elif match := _TORCH_WHEEL.search(line):
            self.torch_cuda = f"{match['packed'][:2]}.{match['packed'][2:]}"

    def _add_device(self, said: dict[str, str | None]) -> None:
        stated: dict[str, str | int] = {}
        if name := said.get("name"):
            stated["name"] = name = name.replace("_", " ")
            self.names.add(name)
        if sm := said.get("sm"):
            stated["sm"] = int(sm.replace(".", ""))
        elif name and (product := find_product(name)) and product.sm is not None:
            stated["sm"] = product.sm
        if "sm" in stated:
            self.sms.add(int(stated["sm"]))
        if mib := said.get("mib"):
            stated["memory_mib"] = int(mib)
        elif gib := said.get("gib"):
            stated["memory_mib"] = round(float(gib) * 1024)
        indices = said.get("indices") or said.get("index")
        if indices is None:
            self.common = msgspec.structs.replace(self.common, **stated)
        else:
            for each in indices.split(","):
                self._update(int(each), **stated)
        index = said.get("index")
        self.last_index = int(index) if index else None

    def _update(self, index: int, **stated: str | int) -> None:
        if index < 1024:
            self.devices[index] = msgspec.structs.replace(self.devices.get(index, Device()), **stated)

    def facts(self) -> GpuFacts | None:
        """The facts that follow, or None where the log states nothing usable."""
        devices = [self.devices[i] for i in sorted(self.devices)] or [Device()]
        believed = self.common if len(self.sms) <= 1 else msgspec.structs.replace(self.common, name=None, sm=None)
        devices = [_complete(d, believed) for d in devices]
        # Devices that the log lists one by one may differ; other statements about the same box must not.
        if len(self.sms) > 1 and self.sms != {d.sm for d in devices}:
            devices = [msgspec.structs.replace(d, sm=None, name=None) for d in devices]
        if devices == [Device()] and not self.torch_cuda:
            return None
        known = any(d.sm is not None or d.name for d in devices)
        return GpuFacts(
            status="ok" if known else "unknown", source="log", torch_cuda=self.torch_cuda, devices=tuple(devices)
        )


def facts_from_text(lines: Iterable[str]) -> GpuFacts | None:
    """The GPUs that these lines of one server's log state, or None where they state nothing.

    One device in the result does not mean that the host has one: most statements are about the device of one rank.
    """
    statements = _Statements()
    for line in lines:
        line = line[:_LONGEST]
        if any(hint in line for hint in _HINTS) and not any(quoted in line for quoted in _QUOTED_REQUEST):
            statements.add(_SGLANG_PREFIX.sub("", line))
    return statements.facts()


def _complete(device: Device, common: Device) -> Device:
    """`device` with what is stated of all devices where it says nothing itself."""
    missing = {
        field: value
        for field, value in msgspec.structs.asdict(common).items()
        if value is not None and getattr(device, field) is None
    }
    return msgspec.structs.replace(device, **missing)
