import { readFileSync } from "node:fs";
import variant from "@jitl/quickjs-wasmfile-release-sync";
import wasm from "@jitl/quickjs-wasmfile-release-sync/wasm" with { type: "file" };
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSWASMModule } from "quickjs-emscripten-core";

const MIB = 1024 * 1024;
const PAGES_PER_MIB = 16;
/** Memory of the engine itself, part of the limit. */
const ENGINE_MIB = 3;
/** The compiled code requires an initial memory of at least 16. */
const LEAST_MIB = 18;
const MAX_STACK_BYTES = 256 * 1024;

/** A QuickJS engine with its own memory, for scripts of one organization, one at a time. */
export interface Instance {
  newRuntime(): ReturnType<QuickJSWASMModule["newRuntime"]>;
  /** Whether a script has used nearly all of its memory. */
  isFull(): boolean;
}

/** Opens instances, each with its memory in MiB; the code is compiled once. */
export function openEngine(): (memoryMb: number) => Promise<Instance> {
  const wasmModule = new WebAssembly.Module(readFileSync(wasm));
  return async (memoryMb) => {
    // Allocates everything at the start, which the system backs only when it is written to: the library would read
    // results from the old address of memory that has grown.
    const size = Math.max(memoryMb, LEAST_MIB);
    const pages = size * PAGES_PER_MIB;
    const wasmMemory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmModule, wasmMemory }));
    return {
      newRuntime() {
        const runtime = quickjs.newRuntime();
        runtime.setMemoryLimit((memoryMb - ENGINE_MIB) * MIB);
        runtime.setMaxStackSize(MAX_STACK_BYTES);
        return runtime;
      },
      isFull: () =>
        new Uint8Array(wasmMemory.buffer, (size - 2 * ENGINE_MIB) * MIB).some((byte) => byte !== 0),
    };
  };
}
