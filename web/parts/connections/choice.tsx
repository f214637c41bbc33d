import { Link } from "wouter";
import type { ActionKindInfo } from "../../calls.ts";
import { useAll } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Labelled } from "../base/labelled.tsx";
import { ChosenConnection } from "./chosen.tsx";

interface Props {
  kind: ActionKindInfo;
  value: string;
  onChange: (id: string) => void;
  fault?: string | undefined;
}

/** One of the connections that an action of this kind can use. */
export function ConnectionChoice({ kind, value, onChange, fault }: Props) {
  const connections = useAll(
    "GET /api/v1/connections",
    { provider: kind.providers },
    ({ connections: items }) => items,
  );
  const fitting = connections.data ?? [];
  return (
    <Labelled label={t("Connection")} fault={fault}>
      {(wiring) => (
        <>
          <select
            {...wiring}
            className="field"
            value={value}
            onChange={(event) => onChange(event.target.value)}
          >
            <option value="">{t("None")}</option>
            {fitting.map(({ id, name, provider }) => (
              <option key={id} value={id}>
                {name} ({provider})
              </option>
            ))}
            <ChosenConnection value={value} known={fitting} />
          </select>
          {connections.data && fitting.length === 0 && (
            <p className="mt-1 text-xs text-soft">
              {rich("No matching connections <link>Create connection</link>", {
                link: (inner) => (
                  <Link href="/connections/new" className="text-accent underline">
                    {inner}
                  </Link>
                ),
              })}
            </p>
          )}
        </>
      )}
    </Labelled>
  );
}
