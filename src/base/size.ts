const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** Returns a size for people, such as "10 MiB". */
export function sizeText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${UNITS[power]}`;
}
