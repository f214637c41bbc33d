/** A setting that stops the start, or a file of ours that can't be used, in one sentence. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
