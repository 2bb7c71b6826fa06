"""Build hook of hatchling: put machine code into the wheel, if FASTNDCG_BUILT names its folder: scripts/build-wheel."""

import os
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface):
    """Adds the folder that fastndcg.kernels.native.build wrote, and the tag of the platform that it was built for."""

    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        """Add the files, and say for which Python and platform they are."""
        folder = os.environ.get("FASTNDCG_BUILT")
        if not folder:
            return
        for file in sorted(Path(folder).iterdir()):
            build_data["force_include"][str(file)] = f"fastndcg/kernels/built/{file.name}"
        platform = os.environ.get("FASTNDCG_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["pure_python"] = False
