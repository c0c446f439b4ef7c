"""PassContext: the options and instruments of all passes that run inside a `with` block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any

from byoc_lab.errors import ConfigError
from byoc_lab.passes.framework.instrument import PassInfo, PassInstrument, TraceInstrument
from byoc_lab.printing import printable
from byoc_lab.relay.ir.module import IRModule

# The settings that `PassContext(config=...)` accepts, and their types.
_CONFIGS: dict[str, type] = {
    "ir.enable_si_builder": bool, "relay.FuseOps.link_params": bool, "relay.FuseOps.max_depth": int,
    "relay.ToMixedPrecision.keep_orig_output_dtype": bool, "relay.backend.tir_converter": str,
    "relay.backend.use_auto_scheduler": bool, "relay.backend.use_meta_schedule": bool,
    "relay.backend.use_meta_schedule_dispatch": int, "relay.collage.byoc_fusion_style": list,
    "relay.collage.byoc_max_depth": int, "relay.collage.tvm_max_depth": int,
    "relay.fallback_device_type": int, "relay.frontend.fill_span": bool,
    "relay.remove_standalone_reshapes.enable": bool, "testing.immutable_module": bool,
}  # fmt: skip
# Settings of stages after Relay, which scripts set for a whole build. No pass here reads them, so
# they are not checked.
_LATER = ("te.", "tir.", "relax.")

# TVM's names of these types.
_TYPE_NAMES = {
    bool: "IntImm",
    int: "IntImm",
    float: "FloatImm",
    str: "runtime.String",
    list: "Array",
}


def register_config(name: str, kind: type = object) -> None:
    """Allow a setting that a user's pass or back end reads from `ctx.config`."""
    _CONFIGS[name] = kind


def _checked(config: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in config.items():
        if not isinstance(name, str):
            raise ConfigError(f"the names of settings must be str, found {name!r:.80}")
        kind = _CONFIGS.get(name)
        if kind is None and not name.startswith(_LATER):
            raise ConfigError(
                f"no pass has a setting {name!r}; the settings are {', '.join(sorted(_CONFIGS))}. "
                f"PassContext.register_config({name!r}) adds a setting of your own"
            )
        fits = {bool: (bool, int), list: (list, tuple)}.get(kind or object, kind or object)
        if not isinstance(value, fits):
            assert kind is not None
            raise ConfigError(f"{name} must be {kind.__name__}, found {value!r}")
    return dict(config)


def _checked_level(opt_level: int) -> int:
    if not isinstance(opt_level, int):
        raise ConfigError(f"opt_level must be an int, found {opt_level!r}")
    return opt_level


def _check_lists(required: Any, disabled: Any, instruments: Any) -> None:
    """Raises ConfigError unless each option is a list of names, or of instruments."""
    for name, names in (("required_pass", required), ("disabled_pass", disabled)):
        if names is not None and (
            not isinstance(names, Collection)
            or isinstance(names, str)
            or not all(isinstance(n, str) for n in names)
        ):
            raise ConfigError(
                f"{name} must be a list of names of passes, found {type(names).__name__} "
                f"{names!r:.80}"
            )
    if instruments is not None and not (
        isinstance(instruments, Collection)
        and all(hasattr(i, "run_before_pass") for i in instruments)
    ):
        raise ConfigError(
            f"instruments must be a list of PassInstruments, found {type(instruments).__name__} "
            f"{instruments!r:.80}"
        )


def _listed(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


class PassContext:
    """The options and instruments of all passes that run inside a `with` block.

    opt_level: a Sequential skips members of a higher level (2 by default: FoldScaleAxis, of level
        3, is then skipped silently). required_pass, disabled_pass: names of passes that always run,
        or never run, whatever their level. instruments: called before and after each pass
        (`instrument.py`); inside a nested context only the instruments of that context are called.
        config: settings by name. trace: a function `(mod, info, is_before)`, the older alternative
        to instruments.

    Source: src/ir/transform.cc and src/ir/instrument.cc of TVM 0.16 (what runs when, and what
    happens when an instrument raises).
    """

    register_config = staticmethod(register_config)

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """All settings by name: `{"type": ...}`, with TVM's name of the type."""
        return {n: {"type": _TYPE_NAMES.get(k, k.__name__)} for n, k in sorted(_CONFIGS.items())}

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
        trace: Callable[[IRModule, PassInfo, bool], object] | None = None,
    ):
        self.opt_level = _checked_level(opt_level)
        _check_lists(required_pass, disabled_pass, instruments)
        if config is not None and not isinstance(config, Mapping):
            raise ConfigError(
                f"config must be a dict of settings by name, found {type(config).__name__} "
                f"{config!r:.80}"
            )
        self.required_pass = list(required_pass or ())
        self.disabled_pass = list(disabled_pass or ())
        self.instruments: list[PassInstrument] = list(instruments or ())
        self.config = _checked(config or {})
        if trace is not None:
            self.instruments.append(TraceInstrument(trace))

    @printable
    def __str__(self) -> str:
        return (
            f"Pass context information: \n\topt_level: {self.opt_level}\n"
            f"\trequired passes: {_listed(self.required_pass)}\n"
            f"\tdisabled passes: {_listed(self.disabled_pass)}\n"
            f"\tinstruments: [{', '.join(str(i) for i in self.instruments)}]\n"
            f"\tconfig: {self.config}\n"
        )

    def __enter__(self) -> PassContext:
        self._enter_instruments()
        _active.set((*_active.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        _active.set(_active.get()[:-1])
        self._exit_instruments()

    @staticmethod
    def current() -> PassContext:
        """The innermost active context; the default context if none is active."""
        active = _active.get()
        return active[-1] if active else _outermost

    @staticmethod
    def is_active() -> bool:
        """Whether a `with PassContext(...)` is open."""
        return bool(_active.get())

    def enables(self, info: PassInfo) -> bool:
        """Whether a Sequential under this context runs a pass."""
        return not self.why_skipped(info)

    def why_skipped(self, info: PassInfo) -> str:
        """Why a Sequential under this context does not run a pass; empty when it does."""
        if info.name in self.disabled_pass:
            return "it is disabled"
        if self.needed_level(info) is None:
            return ""
        return f"it needs opt_level {info.opt_level}, the context has {self.opt_level}"

    def needed_level(self, info: PassInfo) -> int | None:
        """The opt_level needed for a Sequential to run a skipped pass; None if the level is not the
        reason."""
        named = info.name in self.disabled_pass or info.name in self.required_pass
        return None if named or info.opt_level <= self.opt_level else info.opt_level

    @contextmanager
    def at_opt_level(self, opt_level: int) -> Iterator[PassContext]:
        """A context with a different level and the same instruments; their `enter_pass_ctx` and
        `exit_pass_ctx` are not called."""
        inner = copy(self)
        inner.opt_level = _checked_level(opt_level)
        _active.set((*_active.get(), inner))
        try:
            yield inner
        finally:
            _active.set(_active.get()[:-1])

    # Instruments -------------------------------------------------------------------------------

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Replace the instruments: calls `exit_pass_ctx` of the old and `enter_pass_ctx` of the new
        instruments."""
        self._exit_instruments()
        self.instruments = list(instruments or ())
        self._enter_instruments()

    def _enter_instruments(self) -> None:
        """If one raises, the instruments already entered exit in reverse order, and the context has
        no instruments any more."""
        entered = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = []
            for instrument in reversed(entered):
                instrument.exit_pass_ctx()
            raise

    def _exit_instruments(self) -> None:
        """If one raises, the remaining ones are not called, and the context has no instruments any
        more."""
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise

    def before_pass(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether all instruments allow a pass to run; if so, call their `run_before_pass`.

        Every instrument's `should_run` is called, unless the pass is required.
        """
        asked = () if info.name in self.required_pass else self.instruments
        if not all([i.should_run(mod, info) for i in asked]):
            return False
        for instrument in self.instruments:
            instrument.run_before_pass(mod, info)
        return True

    def after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Call `run_after_pass` of all instruments."""
        for instrument in self.instruments:
            instrument.run_after_pass(mod, info)


_active: ContextVar[tuple[PassContext, ...]] = ContextVar("byoc_lab_contexts", default=())
_outermost = PassContext()
