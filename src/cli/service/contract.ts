/** What to run, and as which user. */
export interface ServiceRequest {
  /** `user`: while this user is signed in. `system`: from the start of the machine. */
  scope: "user" | "system";
  /** The program and its arguments, with absolute paths. */
  command: readonly string[];
  /** User ID of a system service. Null for the system's own. */
  uid: number | null;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** How to install the service on a platform. */
export interface ServicePlan {
  /** Name of the definition, such as `systemd user unit`. */
  noun: string;
  file: string;
  text: string;
  encoding: "utf8" | "utf16le";
  /** Commands that load the definition and start the service, in order. */
  start: readonly (readonly string[])[];
  /** Commands that stop the service and unload the definition, before its file is deleted. */
  stop: readonly (readonly string[])[];
  /** Commands after the file is deleted. */
  after: readonly (readonly string[])[];
  /** Succeeds while the service runs. */
  check: readonly string[];
  /** A note for the user, as a sentence. Null for none. */
  note: string | null;
}
