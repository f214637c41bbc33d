import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Labelled } from "../base/labelled.tsx";

interface ChoiceProps {
  value: string;
  onChange: (id: string) => void;
  fault?: string | undefined;
}

/** The connection whose credentials are sent with each call, if any. */
export function ApiConnection({ value, onChange, fault }: ChoiceProps) {
  const connections = useApi("GET /api/v1/connections", { query: { limit: 100 } });
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
          {connections.data?.connections.map(({ id, name, provider }) => (
            <option key={id} value={id}>
              {name} ({provider})
            </option>
          ))}
          {value !== "" && !connections.data?.connections.some(({ id }) => id === value) && (
            <option value={value}>{value}</option>
          )}
        </select>
      )}
    </Labelled>
  );
}
