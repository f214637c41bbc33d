import type { ReactNode } from "react";
import type { Fault } from "../../api.ts";
import type { Schema } from "../../calls.ts";
import { Coded } from "../base/coded.tsx";
import { RequiredStar } from "../base/labelled.tsx";
import type { Tables } from "../base/table-name.ts";

export interface FieldProps {
  name: string;
  schema: Schema;
  isRequired: boolean;
  value: unknown;
  /** With locations below this field. */
  faults: readonly Fault[];
  onChange: (value: unknown) => void;
  tables?: Tables | undefined;
}

/** Errors of a field, on one line. */
export const messagesOf = (faults: readonly Fault[]) =>
  faults.length === 0
    ? undefined
    : faults.map(({ loc, msg }) => (loc.length > 0 ? `${loc.join(".")}: ${msg}` : msg)).join("; ");

export const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

/** A field with nested fields. */
export function Frame({
  title,
  isRequired = false,
  about,
  fault,
  aside,
  children,
}: {
  title: string;
  isRequired?: boolean;
  about?: string | null;
  fault?: string | undefined;
  aside?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <fieldset
      className="min-w-0 rounded-md border border-line"
      aria-invalid={fault ? true : undefined}
      tabIndex={-1}
    >
      <legend className="sr-only">{title}</legend>
      <div className="flex min-h-9 flex-wrap items-center justify-between gap-x-2 px-3 py-1 text-sm">
        <span className="grow basis-44">
          <span className="font-medium">{title}</span>
          {isRequired && <RequiredStar />}
          {about && (
            <span className="ml-2 text-xs text-soft">
              <Coded text={about} />
            </span>
          )}
        </span>
        {aside}
      </div>
      {fault && (
        <p className="px-3 pb-2 text-xs text-bad">
          <Coded text={fault} />
        </p>
      )}
      {children && <div className="border-t border-line p-3">{children}</div>}
    </fieldset>
  );
}
