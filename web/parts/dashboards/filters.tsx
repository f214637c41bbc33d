import { X } from "lucide-react";
import type { DashboardData } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { FilterInput } from "./filter-input.tsx";
import { type Filter, namesOf, type Values } from "./values.ts";

interface Props {
  filters: readonly Filter[];
  values: Values;
  /** Undefined until they are loaded. */
  data: DashboardData | undefined;
}

/** Filters of a dashboard, stored in the URL. */
export function FilterFields({ filters, values, data }: Props) {
  if (filters.length === 0) return null;
  const textOf = (name: string): string => values.given[name] ?? String(data?.filters[name] ?? "");
  return (
    <>
      <search className="mb-3 flex flex-wrap items-end gap-3 print:hidden">
        {filters.map((filter) => (
          <FilterInput
            key={filter.key}
            filter={filter}
            textOf={textOf}
            choices={filter.options ?? data?.choices[filter.key]?.values ?? []}
            fault={data?.choices[filter.key]?.error?.message}
            none={t("All")}
            onChange={(name, value) => values.set({ [name]: value })}
          />
        ))}
      </search>
      {values.isAny && <Chips filters={filters} values={values} />}
    </>
  );
}

/** Active filters, each with a remove button. Also shown when printed. */
function Chips({ filters, values }: Omit<Props, "data">) {
  const set = filters.filter((filter) => namesOf(filter).some((name) => values.given[name] !== undefined));
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <ul aria-label={t("Active filters")} className="flex flex-wrap gap-2">
        {set.map((filter) => {
          const text = `${filter.label}: ${shownOf(filter, values.given)}`;
          return (
            <li key={filter.key}>
              <button
                type="button"
                aria-label={t("Remove filter {text}", { text })}
                title={t("Remove filter")}
                className="inline-flex h-7 items-center gap-1.5 rounded-full bg-accent-soft pr-2 pl-3 text-xs font-medium text-accent-strong hover:bg-sunken"
                onClick={() => values.remove(namesOf(filter))}
              >
                <span dir="auto" className="max-w-72 truncate">
                  {text}
                </span>
                <X size={13} aria-hidden className="shrink-0 print:hidden" />
              </button>
            </li>
          );
        })}
      </ul>
      <Button kind="quiet" className="print:hidden" onClick={() => values.remove(filters.flatMap(namesOf))}>
        {t("Clear filters")}
      </Button>
    </div>
  );
}

function shownOf(filter: Filter, values: Readonly<Record<string, string>>): string {
  const [first = "", last = ""] = namesOf(filter).map((name) => values[name] ?? "");
  if (filter.type === "boolean" && first !== "") return first === "true" ? t("Yes") : t("No");
  if (filter.type !== "date_range") return first === "" ? t("All") : first;
  if (first === last && first !== "") return first;
  if (first !== "" && last !== "") return t("{first} to {last}", { first, last });
  if (first !== "") return t("from {first}", { first });
  return last === "" ? t("All") : t("until {last}", { last });
}
