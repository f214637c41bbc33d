import { readFileSync } from "node:fs";
import variant from "@jitl/quickjs-wasmfile-release-sync";
import wasm from "@jitl/quickjs-wasmfile-release-sync/wasm" with { type: "file" };
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSWASMModule } from "quickjs-emscripten-core";

const MIB = 1024 * 1024;
const PAGES_PER_MIB = 16;
/** What the engine itself takes, of all that it may have. */
const ENGINE_MIB = 3;
/** The code asks for 16 to begin with. */
const LEAST_MIB = 18;
const MAX_STACK_BYTES = 256 * 1024;

/** A QuickJS of its own memory, which one organization's scripts use one after the other. */
export interface Instance {
  newRuntime(): ReturnType<QuickJSWASMModule["newRuntime"]>;
  /** Whether a script has come near the end of its memory. */
  isFull(): boolean;
}

/** Opens instances, each with its memory in MiB; the code is compiled once. */
export function openEngine(): (memoryMb: number) => Promise<Instance> {
  const wasmModule = new WebAssembly.Module(readFileSync(wasm));
  return async (memoryMb) => {
    // All of it from the start, though the system lays it out only where it is written to: the library reads results
    // from where memory that has grown meanwhile no longer is.
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
