/** Quota reserved for a file that is being written. */
export interface FileRoom {
  /** Reserves more. Throws `quota_exceeded` if there is not enough. */
  take(bytes: number): void;
  /** Releases the reservation, unless the file is kept. */
  end(stays: boolean): void;
}
