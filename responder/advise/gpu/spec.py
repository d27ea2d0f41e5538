"""`--gpu SPEC`: the operator's word on which GPUs a server runs on."""

import re
from pathlib import Path

import msgspec

from responder.advise.gpu.products import find_product, known_sms, similar_names
from responder.nouns import Device, GpuFacts

_ITEM = re.compile(r"(?:(\d+)\s*[x×*]\s*)?(\S.*)", re.IGNORECASE)
_SM = re.compile(r"sm[_ ]?(\d+)[af]?|(\d+)\.(\d)", re.IGNORECASE)
_MOST_DEVICES = 1024


class GpuSpecError(ValueError):
    """A `--gpu` value that says nothing usable.  The text is one line for a person."""


def parse_gpu_spec(spec: str) -> GpuFacts:
    """The GPUs that `spec` names: `sm90`, `8xsm90`, `H100`, `1xsm86,1xsm89`, or a file of `responder gpu --json`.

    `none` is a machine without one, where sglang serves with --device cpu.

    Raises GpuSpecError.
    """
    text = spec.strip()
    if not text:
        raise GpuSpecError(
            "--gpu is empty: give sm90, 8xsm90, a product such as H100, or a file of `responder gpu --json`"
        )
    if text.lower() in ("none", "cpu"):
        return GpuFacts(status="ok", source="option")
    path = Path(text).expanduser()
    if _is_file(path):
        return _from_file(path)
    if path.suffix == ".json" or "/" in text:
        raise GpuSpecError(f"--gpu {text}: no such file")
    devices = tuple(device for item in text.split(",") for device in _devices(item.strip(), text))
    if len(devices) > _MOST_DEVICES:
        raise GpuSpecError(f"--gpu {text}: more than {_MOST_DEVICES} devices")
    return GpuFacts(status="ok", source="option", devices=devices)


def _devices(item: str, spec: str) -> tuple[Device, ...]:
    match = _ITEM.fullmatch(item)
    if not match:
        raise GpuSpecError(f"--gpu {spec}: nothing stands between the commas")
    count = int(match[1] or 1)
    if not 1 <= count <= _MOST_DEVICES:
        raise GpuSpecError(f"--gpu {spec}: the number of devices must be 1 to {_MOST_DEVICES}")
    return (_device(match[2], spec),) * count


def _device(name: str, spec: str) -> Device:
    if match := _SM.fullmatch(name):
        sm = int(match[1]) if match[1] else int(match[2]) * 10 + int(match[3])
        if sm not in known_sms():
            nearest = min(known_sms(), key=lambda known: (abs(known - sm), known))
            raise GpuSpecError(f"--gpu {spec}: no GPU has compute capability sm{sm}, did you mean sm{nearest}?")
        return Device(sm=sm)
    product = find_product(name)
    if product is None:
        similar = " or ".join(similar_names(name))
        hint = f", did you mean {similar}?" if similar else "; its compute capability does as well, as in sm90"
        raise GpuSpecError(f"--gpu {spec}: unknown GPU {name!r}{hint}")
    return Device(name=product.name, sm=product.sm, memory_mib=product.memory_for(name))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # Too long for a name, or with a NUL: no file, whatever else it is.
        return False


def _from_file(path: Path) -> GpuFacts:
    try:
        facts = msgspec.json.decode(path.read_bytes(), type=GpuFacts)
    except OSError as error:
        raise GpuSpecError(f"--gpu {path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise GpuSpecError(f"--gpu {path}: not a file of `responder gpu --json`: {error}") from None
    if not facts.devices:
        raise GpuSpecError(f"--gpu {path}: the file holds no GPU ({facts.detail or facts.status})")
    return msgspec.structs.replace(facts, source="option")
