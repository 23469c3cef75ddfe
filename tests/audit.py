"""Known weaknesses of what the package depends on: ``python -m tests.audit``.

The versions that are installed here of all that dyntc-spark needs, extras included, are looked up by pip-audit. Ends
with 1 when one of them has a known weakness; where advisories cannot be had, it says so and ends with 0.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

PACKAGE, EXTRAS = "dyntc-spark", ("spark", "connect", "delta", "graphframes", "plot", "java")
SECONDS = 60


def installed(package=PACKAGE, extras=EXTRAS):
    """Return the versions of a package's dependencies, and of theirs, as they are installed."""
    found, pending = {}, [(package, tuple(extras))]
    while pending:
        name, wanted = pending.pop()
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker and not any(needed.marker.evaluate({"extra": extra}) for extra in ("", *wanted)):
                continue
            try:
                version = metadata.version(needed.name)
            except metadata.PackageNotFoundError:
                continue
            if found.setdefault(needed.name.lower().replace("_", "-"), version) is version or needed.extras:
                pending.append((needed.name, tuple(needed.extras)))
    return dict(sorted(found.items()))


def audited(pinned):
    """Ask pip-audit; give what it says about each package, or the reason why it says nothing."""
    if importlib.util.find_spec("pip_audit") is None:
        return "pip-audit is not installed"
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "installed.txt")
        listed.write_text("".join(f"{name}=={version}\n" for name, version in pinned.items()), encoding="utf-8")
        options = ["--no-deps", "--disable-pip", "--format=json", "--progress-spinner=off", "--timeout=5"]
        command = [sys.executable, "-m", "pip_audit", *options, "--requirement", str(listed)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
            return json.loads(ran.stdout)["dependencies"]
        except (subprocess.TimeoutExpired, ValueError, KeyError):
            return "the advisories could not be reached"


def main():
    pinned = installed()
    said = audited(pinned)
    if isinstance(said, str):
        print(f"{said}: none of {len(pinned)} packages was looked up")
        return 0
    known = [each for each in said if "skip_reason" not in each]
    if not known:
        print(f"the advisories could not be reached: none of {len(pinned)} packages was looked up")
        return 0
    for each in known:
        for weakness in each["vulns"]:
            mended = ", ".join(weakness["fix_versions"]) or "none"
            print(f"{each['name']} {each['version']}: {weakness['id']}, mended in {mended}")
    weak = sum(bool(each["vulns"]) for each in known)
    print(f"{len(known)} of {len(pinned)} packages were looked up; {weak} have a known weakness")
    return int(weak > 0)


if __name__ == "__main__":
    sys.exit(main())
