import { Chip } from "./filters.tsx";
import type { Filters } from "./table.tsx";

interface LinkedProps {
  filters: Filters;
  name: string;
  title: string;
  /** Shown instead of the value, which may be an ID. */
  shown?: string | undefined;
}

/** A filter set by a link. */
export function LinkedChip({ filters, name, title, shown }: LinkedProps) {
  const value = filters.get(name);
  if (value === "") return null;
  return <Chip name={title} value={shown ?? value} onDrop={() => filters.set(name, "")} />;
}
