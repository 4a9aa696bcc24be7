"""Compile the kernels ahead of time into an extension beside this file: python -m loglin.kernels.build.

    kernel modules ─ declare.py ─► types of overloads ─ numba ─► one object file per module, kept by its digest
                                                                          │
    dispatch.c, table of overloads, Numba's runtime ─ C compiler ─────────┴─► compiled-x86-64-v3.so, one per level

Numba compiles here what it would compile when a kernel is first called, with the same flags, so that the numbers are
the same to the last bit. Its compiler for extensions, pycc, is to be replaced some day: only this file knows it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import hashlib
import importlib
import importlib.util
import logging
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from loglin.errors import LoglinError
from loglin.kernels import cache, extension
from loglin.kernels.compile import Declared
from loglin.kernels.declare import Array, Items, Type, overloads, pattern
from loglin.kernels.digests import FOLDER, digest, sources
from loglin.threads import available_cores

_DECLARATION = re.compile(r'^@(kernel|record)\(\s*"', re.MULTILINE)
# Of C++, Numba's runtime takes one type; zig has it only after building a library of its own for minutes.
_ATOMIC = """#include <stddef.h>
namespace std {
struct atomic_size_t {
    size_t value;
    size_t load() const { return __atomic_load_n(&value, __ATOMIC_SEQ_CST); }
    operator size_t() const { return load(); }
    size_t operator=(size_t x) { __atomic_store_n(&value, x, __ATOMIC_SEQ_CST); return x; }
    size_t operator++(int) { return __atomic_fetch_add(&value, 1, __ATOMIC_SEQ_CST); }
    size_t operator--() { return __atomic_sub_fetch(&value, 1, __ATOMIC_SEQ_CST); }
};
}
"""
DISPATCHER = FOLDER / "dispatch.c"
RUNTIME = "loglin"  # Numba's runtime is linked once into a file, under the name of a module that pycc would make


@functools.cache
def kernel_modules() -> list[str]:
    """The modules that declare overloads or records."""
    found = sorted(FOLDER.glob("*.py"))
    return [path.stem for path in found if _DECLARATION.search(path.read_text(encoding="utf-8"))]


def declarations(module: str) -> list[Declared]:
    """The kernels of a module that Python calls."""
    for other in kernel_modules():  # where records are, which a kernel need not import to read
        importlib.import_module(f"loglin.kernels.{other}")
    names = vars(sys.modules[f"loglin.kernels.{module}"]).values()
    found = (value.declared for value in names if hasattr(value, "declared"))
    return [one for one in found if one.types and one.module == module]


# ---- in a process that compiles for one level, with LOGLIN_KERNELS=jit


def numba_type(kind: Type) -> Any:
    """The type as Numba has it."""
    import numpy as np
    from numba import from_dtype, types

    if isinstance(kind, Array):
        return types.Array(from_dtype(np.dtype(kind.number)), kind.dimensions, "C", readonly=kind.constant)
    if isinstance(kind, Items):
        items = [numba_type(item) for item in kind.items]
        same = len(set(items)) == 1
        if kind.fields is None:
            return types.UniTuple(items[0], len(items)) if same else types.Tuple(items)
        return types.NamedUniTuple(items[0], len(items), kind.fields) if same else types.NamedTuple(items, kind.fields)
    return {"int": types.int64, "float": types.float64, "f4": types.float32, "bool": types.boolean}.get(
        kind.kind, types.none
    )


@contextlib.contextmanager
def _pycc() -> Iterator[Any]:
    """Numba's compiler of extensions, made to compile with the flags of kernels instead of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pending deprecation
        compiler: Any = importlib.import_module("numba.pycc.compiler")
    plain = compiler.compile_extra

    def with_own_flags(typing, context, dispatcher, args, returns, flags, locals, library):
        own: Any = compiler.Flags()
        dispatcher.targetdescr.options.parse_as_flags(own, dispatcher.targetoptions)
        own.no_compile = own.no_cfunc_wrapper = True
        own.enable_pyobject = own.force_pyobject = False
        return plain(typing, context, dispatcher.py_func, args, returns, own, locals=locals, library=library)

    compiler.compile_extra = with_own_flags
    try:
        yield compiler
    finally:
        compiler.compile_extra = plain


def compile_module(module: str, level: str, target: Path) -> None:
    """Write the object file of all declared overloads of a module; its Python module has the module's name."""
    from numba.core import typing

    names = vars(importlib.import_module(f"loglin.kernels.{module}"))
    with _pycc() as compiler:
        entries = [
            compiler.ExportEntry(
                symbol(declared, k), typing.signature(None, *map(numba_type, types)), names[declared.name]
            )
            for declared in declarations(module)
            for k, types in enumerate(overloads(declared))
        ]
        made = compiler.ModuleCompiler(entries, part_of(module), use_nrt=True, cpu_name=extension.cpu_of(level))
        made.external_init_function = f"pycc_init_{RUNTIME}"
        made.export_python_wrap = True
        library = made._cull_exports()
    # modules share kernels: each keeps its own copy
    values = (*library._final_module.functions, *library._final_module.global_variables)
    for value in values:
        if not value.is_declaration and value.name != f"PyInit_{part_of(module)}":
            value.visibility = "default"
            value.linkage = "internal"
    partial = target.with_suffix(f".{os.getpid()}")
    partial.write_bytes(library.emit_native_object())
    partial.replace(target)


def part_of(module: str) -> str:
    return f"kernels_{module}"


def symbol(declared: Declared, k: int) -> str:
    return f"{declared.name}_{k}"


def _prepare(level: str, scratch: str) -> None:
    """Make a fresh process compile for a level; kernels that kernels call are compiled by the JIT, so tell it too."""
    os.environ.update(
        LOGLIN_KERNELS="jit", NUMBA_CPU_NAME=extension.cpu_of(level), NUMBA_CPU_FEATURES="", NUMBA_CACHE_DIR=scratch
    )
    os.environ.pop("NUMBA_DISABLE_JIT", None)
    gc.set_threshold(100_000, 50, 50)  # Numba's many small objects: an eighth of the time
    _only_link()


def _only_link() -> None:
    """Kernels that kernels call are linked into these, and never run in this process: two fifths of the time.

    So they need no machine code of their own, no way in from Python, and no place in the cache. To inline one, Numba
    copies it block by block, each time with all names of the function; what is never changed is shared.
    """
    from numba.core import codegen, cpu, dispatcher, ir

    def no_wrappers(compiler, flags):
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    own: Any = dispatcher
    changes: list[tuple[Any, str, Any]] = [
        (own._FunctionCompiler, "_customize_flags", no_wrappers),
        (own.Dispatcher, "enable_caching", lambda kernel: None),
        (codegen.JITCodeLibrary, "_finalize_specific", lambda library: None),
        (cpu.CPUContext, "get_executable", lambda context, *rest: [].append),  # one of its own, which is never called
        (ir.Loc, "__deepcopy__", lambda self, memo: self),
        (ir.Scope, "__deepcopy__", lambda self, memo: self),
    ]
    for place, name, change in changes:
        setattr(place, name, change)


def _timed(module: str, level: str, target: Path) -> tuple[str, float]:
    logging.getLogger("loglin").setLevel(logging.ERROR)  # that it compiles is known
    start = time.process_time()
    compile_module(module, level, target)
    return module, time.process_time() - start


# ---- in the process that was asked to build


def object_path(module: str, level: str) -> Path:
    """Where the object file of a module is kept, so that an edit compiles anew only what depends on it."""
    python = f"{sys.version_info.major}{sys.version_info.minor}"
    kept = cache.root() / "objects"
    kept.mkdir(mode=0o700, exist_ok=True)
    return kept / f"{module}-{digest(module)}-{extension.FORMAT}-{level}-numba{_numba_version()}-python{python}.o"


def _work(module: str) -> int:
    """About how long a module takes to compile, to begin with the longest."""
    return sum(len(overloads(one)) for one in declarations(module)) * sum(map(len, sources(module).values()))


def _numba_version() -> str:
    from importlib.metadata import version

    return version("numba")


def _digest_of(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def table(modules: Iterable[str]) -> str:
    """What extension.py reads: digests of modules, and for each overload where it is and the pattern of its types."""
    lines = [extension.FORMAT, f"{DISPATCHER.name} {_digest_of(DISPATCHER)}"]
    for module in modules:
        lines.append(f"{module} {digest(module)}")
        for declared in declarations(module):
            for k, types in enumerate(overloads(declared)):
                lines.append(
                    f"{module} {declared.name} {part_of(module)} {symbol(declared, k)} {''.join(map(pattern, types))}"
                )
    return "\n".join(lines)


def fresh(path: Path) -> bool:
    """Whether the extension file is there and has all modules as they are."""
    if not path.exists():
        return False
    try:
        there = extension.Extension(path)
    except ImportError:
        return False
    dispatcher = there.digests.get(DISPATCHER.name) == _digest_of(DISPATCHER)
    return dispatcher and all(there.fresh(module) for module in kernel_modules())


def _runtime(scratch: Path) -> Any:
    """Numba's runtime and the C compiler: the machine's or, where there is none, that of the package ziglang."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC")  # none on Windows, where setuptools finds it
    if command and not shutil.which(command.split()[0]):
        if importlib.util.find_spec("ziglang") is None:
            raise LoglinError(f"no C compiler ({command}): install one, or pip install ziglang")
        zig = f"{sys.executable} -m ziglang cc"
        os.environ.update(CC=zig, CXX=zig, LDSHARED=f"{zig} -shared", LDCXXSHARED=f"{zig} -shared")
        (scratch / "atomic").write_text(_ATOMIC)
    if importlib.util.find_spec("setuptools") is None:
        raise LoglinError("linking compiled kernels takes setuptools: pip install setuptools")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba.pycc.cc import CC

        runtime: Any = CC(RUNTIME, source_module=__name__)
    runtime._toolchain._py_include_dirs = [str(scratch), *runtime._toolchain._py_include_dirs]
    return runtime


def link(objects: Sequence[Path], modules: Sequence[str], target: Path, scratch: Path) -> None:
    """One extension file of the object files, the dispatcher and Numba's runtime."""
    runtime = _runtime(scratch)
    toolchain = runtime._toolchain
    lines = table(modules).replace("\\", "\\\\").replace('"', '\\"').split("\n")
    content = "\n".join(f'"{line}\\n"' for line in lines[:-1]) + f'\n"{lines[-1]}"'
    (scratch / "table.h").write_text(f"static const char TABLE[] =\n{content};\n")
    shutil.copy(DISPATCHER, scratch)
    compiled = runtime._compile_mixins(str(scratch))
    compiled += toolchain.compile_objects(
        [str(scratch / DISPATCHER.name)],
        str(scratch),
        include_dirs=toolchain.get_python_include_dirs(),
    )
    partial = scratch / target.name
    toolchain.link_shared(
        str(partial),
        [*map(str, objects), *compiled],
        toolchain.get_python_libraries(),
        toolchain.get_python_library_dirs(),
        export_symbols=["PyInit_dispatch", *(f"PyInit_{part_of(module)}" for module in modules)],
        extra_ldflags=runtime._get_extra_ldflags(),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    waiting = target.with_name(f".{target.name}.{os.getpid()}")
    waiting.write_bytes(partial.read_bytes())
    waiting.replace(target)  # a process that has loaded the old one keeps it


def _say(line: str) -> None:
    print(line, flush=True)


def build(levels: Sequence[str], folder: Path = FOLDER, jobs: int | None = None, say: Any = _say) -> None:
    """Compile the kernels for some levels of the processor into ``folder``; what is fresh is left as it is."""
    modules = kernel_modules()
    for level in levels:
        target = extension.path_of(level, folder)
        if fresh(target):
            say(f"{target.name}: up to date")
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="loglin-build-") as scratch:
            objects = {module: object_path(module, level) for module in modules}
            missing = sorted((module for module in modules if not objects[module].exists()), key=_work, reverse=True)
            with ProcessPoolExecutor(
                jobs or available_cores(), get_context("spawn"), initializer=_prepare, initargs=(level, scratch)
            ) as pool:
                waiting = [pool.submit(_timed, module, level, objects[module]) for module in missing]
                for done in waiting:
                    module, seconds = done.result()
                    say(f"{level} {module}: {seconds:.1f} s")
            link(list(objects.values()), modules, target, Path(scratch))
        size = target.stat().st_size / 2**20
        say(f"{target.name}: {size:.1f} MB in {time.perf_counter() - start:.0f} s")


def _use_jit() -> None:
    os.environ["LOGLIN_KERNELS"] = "jit"


def _kept(module: str) -> str:
    logging.getLogger("loglin").setLevel(logging.ERROR)  # that it compiles is known
    names = vars(importlib.import_module(f"loglin.kernels.{module}"))
    for declared in declarations(module):
        for types in overloads(declared):
            names[declared.name].compile(tuple(map(numba_type, types)))
    return module


def fill_cache(jobs: int | None = None, say: Any = _say) -> None:
    """Have the JIT compile every declared overload for this very processor, and keep it."""
    with ProcessPoolExecutor(jobs or available_cores(), get_context("spawn"), initializer=_use_jit) as pool:
        for module in pool.map(_kept, sorted(kernel_modules(), key=_work, reverse=True)):
            say(module)
    say(f"compiled kernels are kept in {cache.root()}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m loglin.kernels.build", description=(__doc__ or "").split(":")[0])
    parser.add_argument(
        "--levels",
        nargs="+",
        choices=[*extension.levels(), "all"],
        metavar="LEVEL",
        help=f"of the processor: {', '.join(extension.levels())}, or all; that of this machine if not given",
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where the extension goes; beside the kernels if not given"
    )
    parser.add_argument("--jobs", type=int, help="processes at a time; one per core if not given")
    chosen = parser.parse_args(arguments)
    os.environ["LOGLIN_KERNELS"] = "jit"
    from loglin.kernels import jit

    levels = list(extension.levels()) if chosen.levels == ["all"] else chosen.levels or [jit.own_level()]
    try:
        build(levels, chosen.folder, chosen.jobs)
    except LoglinError as error:
        raise SystemExit(f"loglin: {error}") from None


if __name__ == "__main__":
    from loglin.kernels.build import main as packaged_main  # processes that compile find functions by module

    packaged_main()
