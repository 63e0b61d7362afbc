"""Sub-kernels are linked into kernels; by themselves they are not machine code.

Numba compiles each function to the end: it adds an entry for Python and one for C, optimises the
function together with all that it calls, emits machine code, and only then can a caller link it. Of
a sub-kernel nobody uses any of that. Here its instructions stay as they were translated; a kernel
links those of all its sub-kernels, optimises the whole once and emits it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering

from crossarc.kernels.sources import dependencies, digest

__all__ = ["KernelCompiler", "SubkernelDispatcher"]


_ENVIRONMENT = "_ZN08NumbaEnv"


class _Part(JITCodeLibrary):  # type: ignore[misc]  # numba has no type information
    """The instructions of one sub-kernel, without those of what it calls."""

    def __init__(self, codegen: Any, name: str, module: str) -> None:
        super().__init__(codegen, name)
        self.module = module

    def finalize(self) -> None:
        """Nothing is optimised or emitted before there is a kernel."""
        self._raise_if_finalized()
        self._finalized = True

    def instructions(self) -> Any:
        """Its own module, to be linked any number of times."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """For callers other than kernels, which link only what they call themselves."""
        whole = self.instructions().clone()
        _link(whole, _reachable(self._linking_libraries))
        return whole


def _reachable(libraries: Iterable[Any]) -> list[Any]:
    """Libraries and what their sub-kernels need, directly or not; each once, callers first.

    LLVM takes such functions over only where something refers to them already, so a library must
    not be linked before all those that call it.
    """
    callees_first: dict[Any, None] = {}
    waiting = [(library, False) for library in libraries]
    while waiting:
        library, is_entered = waiting.pop()
        if is_entered:
            callees_first.setdefault(library)
        elif library not in callees_first:
            waiting.append((library, True))
            if isinstance(library, _Part):
                waiting += [(callee, False) for callee in library._linking_libraries]
    return list(callees_first)[::-1]


def _link(module: Any, libraries: Iterable[Any]) -> None:
    for library in libraries:
        is_part = isinstance(library, _Part)
        source = library.instructions() if is_part else library._get_module_for_linking()
        module.link_in(source, preserve=True)


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """The machine code of a kernel with all its sub-kernels."""

    def __init__(self, codegen: Any, name: str, module: str) -> None:
        super().__init__(codegen, name)
        self.module = module

    def finalize(self) -> None:
        """Link every sub-kernel once, then optimise and emit."""
        needed = _reachable(self._linking_libraries)
        parts = [library for library in needed if isinstance(library, _Part)]
        unseen = {part.module for part in parts} - dependencies(self.module)
        if unseen and digest(self.module) is not None:
            raise ImportError(
                f"{self.name} in {self.module} calls a sub-kernel of {min(unseen)}: import that at "
                "the top level of a module, or the cache cannot notice its changes"
            )
        _link(self._final_module, parts)
        self._linking_libraries: list[Any] = [one for one in needed if one not in parts]
        super().finalize()


@register_pass(mutates_CFG=True, analysis_only=False)
class _SubkernelLowering(NativeLowering):  # type: ignore[misc]
    _name = "crossarc_subkernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate to LLVM's instructions, and no further."""
        name = state.func_id.func_qualname
        state.library = _Part(state.targetctx.codegen(), name, state.func_id.func.__module__)
        state.flags.no_compile = True
        super().run_pass(state)

        def entry(*arguments: Any) -> NoReturn:
            raise _not_from_python(name)

        lowered = state["cr"]
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):  # type: ignore[misc]
    _name = "crossarc_kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate, link, optimise and emit."""
        function = state.func_id.func
        codegen = state.targetctx.codegen()
        state.library = _Whole(codegen, function.__qualname__, function.__module__)
        state.library.enable_object_caching()
        super().run_pass(state)
        # What an exception in a sub-kernel is made from. Numba sets it for machine code only.
        for variable in state.library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    codegen.set_env(variable.name, environment)
        return True


def _pipeline(state: Any, lowering: type) -> list[Any]:
    manager = DefaultPassBuilder.define_nopython_pipeline(state)
    manager.passes = [
        (lowering if step is NativeLowering else step, title) for step, title in manager.passes
    ]
    manager.finalize()
    return [manager]


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's pipeline, with a library that links sub-kernels."""

    def define_pipelines(self) -> list[Any]:
        """Numba asks for this."""
        return _pipeline(self.state, _KernelLowering)


class _SubkernelCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        return _pipeline(self.state, _SubkernelLowering)


class SubkernelDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that only kernels call."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        options = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True} | options
        super().__init__(function, targetoptions=options, pipeline_class=_SubkernelCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Constants among the arguments would each make another version to compile."""
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)

    def compile(self, sig: Any) -> Any:
        """As Numba does it, without timers and events, which add up over nested calls."""
        with global_compiler_lock, self._compiling_counter:
            args, return_type = normalize_signature(sig)
            if args not in self.overloads:
                self.overloads[args] = self._compiler.compile(args, return_type)
            return self.overloads[args].entry_point

    def _compile_for_args(self, *args: Any, **kws: Any) -> NoReturn:
        raise _not_from_python(self.__qualname__)

    def __repr__(self) -> str:
        # Part of the name of a version that takes this function as an argument: no address in it.
        return f"<sub-kernel {self.__module__}.{self.__qualname__}>"


def _not_from_python(name: str) -> TypeError:
    return TypeError(
        f"{name} is a sub-kernel: call it from a kernel or a function under numba.njit"
    )
