import { useAll } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Labelled } from "../base/labelled.tsx";
import { ChosenConnection } from "../connections/chosen.tsx";

interface ChoiceProps {
  value: string;
  onChange: (id: string) => void;
  fault?: string | undefined;
}

/** The connection whose credentials are sent with each call, if any. */
export function ApiConnection({ value, onChange, fault }: ChoiceProps) {
  const connections = useAll("GET /api/v1/connections", {}, ({ connections: items }) => items).data ?? [];
  return (
    <Labelled label={t("Connection")} about={t("Its credentials are sent with each call.")} fault={fault}>
      {(wiring) => (
        <select
          {...wiring}
          className="field"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        >
          <option value="">{t("None")}</option>
          {connections.map(({ id, name, provider }) => (
            <option key={id} value={id}>
              {name} ({provider})
            </option>
          ))}
          <ChosenConnection value={value} known={connections} />
        </select>
      )}
    </Labelled>
  );
}
