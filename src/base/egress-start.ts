/**
 * Starts the HTTP client's thread with a call that fails.
 * Otherwise the first real call starts it, and the process crashes if no file descriptor is left then.
 */
export async function startHttpClient(): Promise<void> {
  await fetch("http://nowhere/", { unix: "/dev/null/nowhere" }).catch(() => undefined); // can't be reached
}
