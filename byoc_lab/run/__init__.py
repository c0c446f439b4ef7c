"""Running modules: the NumPy reference, builds with TVM, regions on DNNL."""

from byoc_lab.run.backends import CompiledRegion, backend_names, get_backend, register_backend
from byoc_lab.run.build import OffloadWarning, build
from byoc_lab.run.executable import Executable, Timing, compare_times
from byoc_lab.run.library import LoadedLibrary, load_library
from byoc_lab.run.metering.cards import Cards, RegionCard, RegionInfo
from byoc_lab.run.metering.op_cards import OpCard
from byoc_lab.run.metering.peak import Peak, machine_peak
from byoc_lab.run.reference import Result, evaluate

RegionFacts = RegionInfo  # the former name

__all__ = [
    "Cards", "CompiledRegion", "Executable", "LoadedLibrary", "OffloadWarning", "OpCard", "Peak",
    "RegionCard", "RegionFacts", "RegionInfo", "Result", "Timing", "backend_names", "build",
    "compare_times", "evaluate", "get_backend", "load_library", "machine_peak", "register_backend",
]  # fmt: skip
