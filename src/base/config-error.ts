/** A setting that prevents the start, or one of Weir's files that can't be used, in one sentence. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
