/** What is to run, and for whom. */
export interface ServiceRequest {
  /** `user`: while this account is signed in; `system`: from the start of the machine. */
  scope: "user" | "system";
  /** The program and its arguments; paths are absolute. */
  command: readonly string[];
  /** User ID that a system service runs as; null for the one of the system. */
  uid: number | null;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** How the system of a platform is told of the service. */
export interface ServicePlan {
  /** What the definition is called, such as `systemd user unit`. */
  noun: string;
  file: string;
  text: string;
  encoding: "utf8" | "utf16le";
  /** Commands that take the definition up and start the service, in order. */
  start: readonly (readonly string[])[];
  /** Commands that stop the service and forget the definition, before its file goes. */
  stop: readonly (readonly string[])[];
  /** Commands after the file has gone. */
  after: readonly (readonly string[])[];
  /** Succeeds while the service runs. */
  check: readonly string[];
  /** What a person should know, as a sentence; null for nothing. */
  note: string | null;
}
