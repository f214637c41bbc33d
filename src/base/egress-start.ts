/**
 * Starts the HTTP client's thread, by a call that leads nowhere. It is started with the first call otherwise, and where
 * no descriptor is left then, the process ends.
 */
export async function startHttpClient(): Promise<void> {
  await fetch("http://nowhere/", { unix: "/dev/null/nowhere" }).catch(() => undefined); // it can't be reached
}
