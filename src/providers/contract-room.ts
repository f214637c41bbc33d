/** Room for a file that is being written. */
export interface FileRoom {
  /** Takes some of it. Throws `quota_exceeded` if there is not enough. */
  take(bytes: number): void;
  /** Frees what was taken, unless the file stays. */
  end(stays: boolean): void;
}
